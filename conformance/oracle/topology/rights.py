"""What users may do, as far as the history tells: the one place where rights are kept.

An event of the kind `rights` says all that a user may do in one virtual host from then on. It is written when that is
in force, and when the broker owes no answer to what was sent before. A connection is held to what was in force when it
entered its virtual host. What came later may count for it or not: a broker may keep the results of its checks for as
long as a connection or a channel lives. So a question has three answers, of which None is that both are possible.

Of users of whom no event tells nothing is known here, and nobody is held to anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

Right = Literal["configure", "write", "read"]
RIGHTS: tuple[Right, ...] = ("configure", "write", "read")
IMPERSONATOR = "impersonator"
SIMPLE = re.compile(r"(?:[\w.^$|()*/-]|\\\.|\[\.\])*")
"""Patterns that mean the same in every dialect of regular expressions."""
PLAIN = re.compile(r"[A-Za-z0-9_/-]+")
"""Names that mean themselves in each."""
PRINTED = re.compile(r"[ -~]*")
EVERYTHING = (".*", "^.*$", "^.*", ".*$")


@lru_cache(maxsize=512)
def fits(pattern: str, name: str) -> bool | None:
    """Is the pattern found in the name? An empty one is not, wherever; None: it is not for us to say."""
    if pattern in ("", "^$"):
        return False if name else None
    if not SIMPLE.fullmatch(pattern) or not PRINTED.fullmatch(name):
        return None
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return None


def meant(pattern: str, user: str, vhost: str) -> str:
    """A pattern for topics, in which the variables are names, where these are plain."""
    for variable, name in (("{username}", user), ("{vhost}", vhost)):
        if PLAIN.fullmatch(name):
            pattern = pattern.replace(variable, name)
    return pattern


@dataclass(frozen=True, slots=True)
class Granted:
    """What one user may do in one virtual host, from this event on."""

    since: int
    patterns: tuple[str, str, str] | None = None
    """For each of the rights; None: the user may not enter."""
    topics: tuple[tuple[str, str, str], ...] = ()
    """Topic exchanges, with the patterns for the routing keys that the user may write and read."""

    @property
    def everything(self) -> bool:
        return not self.topics and self.patterns is not None and all(one in EVERYTHING for one in self.patterns)

    def pattern(self, right: Right) -> str | None:
        return None if self.patterns is None else self.patterns[RIGHTS.index(right)]

    def may(self, right: Right, name: str) -> bool | None:
        pattern = self.pattern(right)
        return False if pattern is None else fits(pattern, name)

    def narrows(self, exchange: str) -> bool:
        """Has the user rights of its own for the topics of this exchange?"""
        return any(name == exchange for name, _, _ in self.topics)

    def may_use(self, right: Right, exchange: str, key: str) -> bool | None:
        """May a routing key be used with this topic exchange?"""
        return agreed(
            [fits(write if right == "write" else read, key) for _, write, read in self._of(exchange)] or [True]
        )

    def _of(self, exchange: str) -> list[tuple[str, str, str]]:
        return [one for one in self.topics if one[0] == exchange]


def agreed(answers: Iterable[bool | None]) -> bool | None:
    """The answer where all are the same."""
    found = set(answers)
    return found.pop() if len(found) == 1 else None


def every(answers: Iterable[bool | None]) -> bool | None:
    """Are all of these so?"""
    found = list(answers)
    return False if False in found else None if None in found else True


User = str
Place = tuple[User, str]
"""A user, and a virtual host."""


class Rights:
    """Of all users of one history."""

    __slots__ = ("_tags", "states")

    def __init__(self) -> None:
        self.states: dict[Place, list[Granted]] = {}
        self._tags: dict[User, set[frozenset[str]]] = {}

    def told(self, seq: int, about: Mapping[str, Any]) -> None:
        """From now on this holds."""
        user, vhost = str(about.get("user")), str(about.get("vhost"))
        configure, write, read = (about.get(right) for right in RIGHTS)
        patterns = None if None in (configure, write, read) else (str(configure), str(write), str(read))
        topics = (about.get("topics") or {}).items()
        keys = tuple((name, *(meant(str(one.get(right)), user, vhost) for right in RIGHTS[1:])) for name, one in topics)
        self.states.setdefault((user, vhost), []).append(Granted(seq, patterns, keys))
        if "tags" in about:
            self._tags.setdefault(user, set()).add(frozenset(about["tags"]))

    def held(self, user: str, vhost: str, entered: int) -> Sequence[Granted]:
        """What a connection that entered then may be held to by now; empty: that is not known."""
        told = self.states.get((user, vhost), ()) if user and entered else ()
        last = max((at for at, one in enumerate(told) if one.since < entered), default=-1)
        return told[last:] if last >= 0 else ()

    def before(self, user: str, vhost: str, entered: int) -> Granted | None:
        """What held for this user before what held when the connection entered."""
        told = [one for one in self.states.get((user, vhost), ()) if one.since < entered]
        return told[-2] if len(told) > 1 else None

    def elsewhere(self, user: str, vhost: str) -> list[Granted]:
        """What holds now for the same user in other virtual hosts."""
        return [told[-1] for (whose, where), told in self.states.items() if whose == user and where != vhost]

    def of_others(self, user: str, vhost: str, since: int) -> list[Granted]:
        """What was said later of other users in the same virtual host."""
        others = [told[-1] for (whose, where), told in self.states.items() if whose != user and where == vhost]
        return [one for one in others if one.since > since]

    def impersonates(self, user: str) -> bool | None:
        """May it publish in the name of somebody else? Without a word about it, a user is taken for an ordinary one."""
        told = self._tags.get(user)
        return agreed(IMPERSONATOR in tags for tags in told) if told else False
