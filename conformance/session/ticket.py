"""What all processes of one run agree upon: the controller draws it up and hands it to its workers."""

from __future__ import annotations

import datetime
import re
import secrets
import time
from collections.abc import Iterable
from dataclasses import astuple, dataclass

_LOGIN = re.compile(r"(?<=://)([^:/@\s]*):[^@\s]*@")


@dataclass(frozen=True, slots=True)
class Ticket:
    """The run's name, when it started, and the command that started it (without passwords)."""

    run: str
    started: str
    command: str

    @classmethod
    def drawn(cls, words: Iterable[str]) -> Ticket:
        now = datetime.datetime.now(datetime.UTC).replace(microsecond=0, tzinfo=None)
        return cls(secrets.token_hex(4), now.isoformat() + "Z", without_passwords(" ".join(words)))

    @property
    def today(self) -> datetime.date:
        return datetime.date.fromisoformat(self.started[:10])

    def age(self) -> float:
        """Seconds since the run started, by the time of day."""
        began = datetime.datetime.fromisoformat(self.started)
        return max(0.0, (datetime.datetime.now(datetime.UTC) - began).total_seconds())

    def packed(self) -> list[str]:
        return list(astuple(self))


@dataclass(frozen=True, slots=True)
class Clocks:
    """The time of day and a clock that nobody can set, both in seconds, at one moment."""

    wall: float
    steady: float

    @classmethod
    def now(cls) -> Clocks:
        return cls(time.time(), time.monotonic())

    def step(self, later: Clocks) -> float:
        """Seconds by which the time of day was set between the two moments."""
        return (later.wall - self.wall) - (later.steady - self.steady)


def without_passwords(text: str) -> str:
    """URLs in a text keep their user and lose their password."""
    return _LOGIN.sub(r"\1@", text)
