"""Where the choices of a machine come from: its seed, and nothing else.

By itself, Hypothesis also draws constants that it reads from the loaded source files. Then a seed would mean other
histories after any edit anywhere. After some examples it also varies old ones more than it makes new ones, which suits
the search for one bad value, but not the search through histories. So generation is a backend of its own, by plain
chance; Hypothesis still shrinks.
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
