"""Where a run continues when its vhost answers nobody any more: in another vhost of the same broker.

First it tries those that the user named, then those that a management API makes. A vhost is used only if a beat
succeeds in it, so this does not help if the whole broker is down. Vhosts that were made here are removed at the end,
if the broker still can.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from conformance.drive.drivers.admin import Admin, AdminRefused
from conformance.drive.pulse import Pulse

PREFIX = "amqpconf."
SPARE = "--restart COMMAND, or another vhost by --spare-vhosts or --broker-admin,"
"""What a user may give so that the run continues."""


@dataclass
class Vhosts:
    """`named`: those that the user may enter, each used once; `admin`: where others are made."""

    named: Sequence[str] = ()
    admin: Admin | None = None
    why: str = ""
    """Why there is no further vhost, if one was asked for."""
    _made: list[str] = field(default_factory=list)
    _used: int = 0

    def move(self, pulse: Pulse) -> str:
        """Takes the exam into the next vhost in which the broker answers, and tells which; empty without one."""
        self.why = "" if self.named or self.admin else f"give {SPARE} to continue after that"
        for vhost, words in self._further(pulse.target.user):
            if pulse.move(vhost):
                return words
            self.why = f"it does not answer in {words} either: it {pulse.elsewhere}"
        self.why = self.why or "no further vhost was named by --spare-vhosts"
        return ""

    def let_go(self) -> None:
        """The run is over: what was made is removed, until the broker does not do that either."""
        made, self._made = self._made, []
        with contextlib.suppress(AdminRefused):
            for vhost in made:
                assert self.admin is not None
                self.admin.remove_vhost(vhost)

    def _further(self, user: str) -> Iterator[tuple[str, str]]:
        while self._used < len(self.named):
            self._used += 1
            yield self.named[self._used - 1], f"vhost {self.named[self._used - 1]}"
        if self.admin is not None:
            made = self._make(self.admin, user)
            if made:
                yield made, "a vhost made for it"

    def _make(self, admin: Admin, user: str) -> str:
        name = PREFIX + secrets.token_hex(4)
        try:
            admin.make_vhost(name, user)
        except AdminRefused as refused:
            self.why = f"no other vhost can be made: {refused}"
            return ""
        self._made.append(name)
        return name
