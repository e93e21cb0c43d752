"""Where the choices of a machine come from: its seed, and nothing else.

Hypothesis by itself also draws constants that it reads out of whatever source files are loaded, so that a seed would
mean other histories after any edit anywhere; and after some examples it varies old ones more than it makes new ones,
which suits the search for one bad value and not the search through histories. As a backend of its own, generation is
plain chance; shrinking stays with Hypothesis.
"""

from __future__ import annotations

from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider

BACKEND = "amqp-conformance"
"""The name under which Hypothesis' settings ask for it."""


class Chance(HypothesisProvider):
    """Every number of a range is as likely as any other."""

    def draw_integer(
        self,
        min_value: int | None = None,
        max_value: int | None = None,
        *,
        weights: dict[int, float] | None = None,
        shrink_towards: int = 0,
    ) -> int:
        if min_value is None or max_value is None or weights is not None:
            raise ValueError("integers of a machine have two bounds and no weights")
        assert self._random is not None
        return self._random.randint(min_value, max_value)


AVAILABLE_PROVIDERS[BACKEND] = Chance
