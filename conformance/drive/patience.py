"""How long to wait for something that did not come in earlier cases.

The first times that a broker owes something and does not send it, the suite waits for a whole deadline: late is not
never. After `SURE` such waits for the same kind of thing, another long wait proves nothing more, so waits become short.
A slow broker or machine is not called silent all the same. A wait is never shorter than `SLACK` times the longest one
after which a thing of this kind came. Nor is it shorter than the longest one after which anything came; until `SURER`
waits have been in vain, `TWICE` that. What has never come in `NEVER` waits is hardly waited for. Only waits for what
was owed count: what comes by itself after a second, as a message expires, says nothing about haste. The kinds are those
of obligations: an answer to one method, a confirm, a delivery, a close.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

SURE, SURER, NEVER = 3, 10, 40
SHORT, LEAST, HARDLY = 1.0, 0.3, 0.1
"""Seconds of a wait after this many in vain."""
SLACK, TWICE = 10.0, 2.0


@dataclass
class Patience:
    """Of one process, over all histories."""

    _longest: dict[str, float] = field(default_factory=dict)
    """Seconds of the longest wait after which a thing of this kind came."""
    _vain: Counter[str] = field(default_factory=Counter)

    def allow(self, kinds: Iterable[str], deadline: float) -> float:
        """Seconds to wait for these; `deadline` where nothing is known of one of them."""
        asked = {*kinds}
        seen = min((self._vain[kind] for kind in asked), default=0)
        if seen < SURE:
            return deadline
        slowest = max(self._longest.get(kind, 0.0) for kind in asked)
        anything = max(self._longest.values(), default=0.0)
        never = seen >= NEVER and not slowest
        sure = max(SHORT, TWICE * anything) if seen < SURER else max(HARDLY if never else LEAST, anything)
        return min(deadline, max(sure, SLACK * slowest))

    def silence(self, deadline: float) -> float:
        """Seconds after which nothing more comes, where it is not known what is owed: much more than anything took."""
        return max(SHORT, min(deadline, SLACK * max(self._longest.values(), default=deadline)))

    def came(self, kinds: Iterable[str], seconds: float) -> None:
        """These were owed, and one of them came after so long a wait."""
        for kind in kinds:
            self._longest[kind] = max(self._longest.get(kind, 0.0), seconds)

    def in_vain(self, kinds: Iterable[str]) -> None:
        """These were waited for, and did not come."""
        self._vain.update(set(kinds))


def kind_of(what: str) -> str:
    """The kind of an obligation: its words without names and numbers."""
    return re.sub(r"\S*\d\S*", "#", what)
