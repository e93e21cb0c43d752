"""What rewritten code asks while a broker runs: is this place wrong now? It counts what came of that.

An *occasion* is an execution of the place at which right and wrong differ; it *fires* where the trigger holds. A broker
whose mutant has not fired has done nothing but what the honest one does.
"""

from __future__ import annotations

import operator
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tools.mutation.past import Past
from tools.mutation.subjects import Subjects, around
from tools.mutation.triggers import Trigger

COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "is": operator.is_, "is not": operator.is_not,
    "in": lambda one, many: one in many, "not in": lambda one, many: one not in many,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}


class Live:
    """One mutant at work."""

    def __init__(self, trigger: Trigger) -> None:
        self.trigger = trigger
        self.past = Past()
        self.occasions = self.fired = 0
        self.silent = False
        self._times: Counter[object] = Counter()

    def fires(self) -> bool:
        """Called by statements and expressions that differ whenever they are executed."""
        if self.silent:
            return False
        self.occasions += 1
        if not self.trigger.holds(self):
            return False
        self.fired += 1
        return True

    def compare(self, left: Any, right: Any, sign: str, wrong: str, off: int) -> Any:
        """The comparison; or with the wrong sign, or the right side so much off."""
        honest = COMPARED[sign](left, right)
        other = COMPARED[wrong](left, right + off if off else right)
        return other if honest != other and self.fires() else honest

    def other(self, condition: object) -> object:
        return not condition if self.fires() else condition

    @contextmanager
    def silenced(self) -> Iterator[None]:
        """While this lasts, it is honest."""
        self.silent = True
        yield
        self.silent = False

    # -- what the trigger asks

    def about(self) -> Subjects:
        return around(sys._getframe())

    def times(self, one: object) -> int:
        self._times[one] += 1
        return self._times[one]
