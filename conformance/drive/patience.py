"""How long to wait for something that did not come in earlier cases.

The first times that a broker owes something and does not send it, the suite waits for a whole deadline: late is not
never. After `SURE` such waits for the same kind of thing, another long wait proves nothing more, so waits become
short. But they are never shorter than `SLACK` times the longest successful wait of this process, so a slow broker or
machine is not called silent. The kinds are those of obligations: an answer to one method, a confirm, a delivery, a
close.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

SURE, SURER = 3, 10
SHORT, LEAST = 1.0, 0.3
"""Seconds of a wait after this many in vain."""
SLACK = 10.0


@dataclass
class Patience:
    """Of one process, over all histories."""

    longest: float = 0.0
    """Seconds of the longest wait after which something came."""
    _vain: Counter[str] = field(default_factory=Counter)

    def allow(self, kinds: Iterable[str], deadline: float) -> float:
        """Seconds to wait for these; `deadline` where nothing is known of one of them."""
        seen = min((self._vain[kind] for kind in kinds), default=0)
        if seen < SURE:
            return deadline
        return min(deadline, max(SHORT if seen < SURER else LEAST, SLACK * self.longest))

    def came(self, seconds: float) -> None:
        """Something came after so long a wait."""
        self.longest = max(self.longest, seconds)

    def in_vain(self, kinds: Iterable[str]) -> None:
        """These were waited for, and did not come."""
        self._vain.update(set(kinds))


def kind_of(what: str) -> str:
    """The kind of an obligation: its words without names and numbers."""
    return re.sub(r"\S*\d\S*", "#", what)
