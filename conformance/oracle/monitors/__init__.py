"""The monitors: pure functions over facts. Each judges one or a few rules: what is allowed, what was observed.

`table` knows which function judges which rule; the families are files. `Judge` folds one history, `judge` many.
"""

from conformance.oracle.monitors.judge import Judge, judge

__all__ = ["Judge", "judge"]
