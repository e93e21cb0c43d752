"""What rewritten code asks while a broker runs: is this place wrong now? It counts what came of that.

An *occasion* is an execution of the place at which right and wrong differ; it *fires* where the trigger holds. A broker
whose mutant has not fired has done nothing but what the honest one does.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from typing import Any

from tools.mutation.past import Past
from tools.mutation.subjects import Subjects, around
from tools.mutation.triggers import Trigger


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
        try:
            holds = self.trigger.holds(self)
        except AttributeError:  # a queue or channel in the making has no size and no past
            return False
        self.fired += holds
        return holds

    def fires_among(self, things: Sized, least: int) -> bool:
        """Called where there is another end only if there are more things than that."""
        return len(things) > least and self.fires()

    def differ(self, right: Callable[[], Any], wrong: Callable[[], Any]) -> Any:
        """Called by expressions that may be looked at from both sides."""
        honest = right()
        try:
            other = wrong()
        except Exception:
            if self.fires():
                raise
            return honest
        return honest if same(honest, other) or not self.fires() else other

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


def same(right: Any, wrong: Any) -> bool:
    """Of conditions only the truth counts."""
    return bool(right) is wrong if isinstance(wrong, bool) else right is wrong or bool(right == wrong)
