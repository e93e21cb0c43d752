"""Between two histories: is the broker still there, and is there time to go on?

Before a history the pulse is taken, so that a breakdown is told of the history before it, whoever notices. A broker
that has broken down is brought back by the user's command, or else left a moment to recover; what did not recover once
is not waited for again. Where only its vhost is wedged, another one is tried. What cannot be brought back ends the run
early, in order: the checks that are left are not played, and say why.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from conformance.drive.guard import Guard
from conformance.drive.pulse import PAUSE, BadRestart
from conformance.history.events import TO_BROKER, Event
from conformance.outcome import incidents
from conformance.outcome.gate import OUT_OF_TIME
from conformance.outcome.ledger import Incident

RESTART = "--restart COMMAND"
RECOVERS = 10.0
"""Seconds in which a broker may come back by itself."""
TIRED = 3
"""A check that broke the broker down so often is left."""
COSTLY = 0.1
"""Where a beat takes this many seconds it is not taken before each history, but where one gave reason."""


@dataclass
class Vitals:
    """Of one process."""

    guard: Guard
    where: str
    """The vhost in words."""
    ended: str = ""
    """Why no further check is played; empty while they are."""
    _told: set[str] = field(default_factory=set)
    _last: tuple[str, str, Sequence[Event]] = ("", "", ())
    _deaths: int = 0
    _check: str = ""
    _hopeless: bool = False
    _counted: bool = True

    def begin_check(self, name: str) -> str:
        """Why this check cannot be played; empty if it can."""
        if name != self._check:
            self._check, self._deaths = name, 0
        if not self.ended and self.guard.left <= 0:
            self.ended = OUT_OF_TIME
        return self.ended

    def fit(self) -> list[Incident]:
        """A history is about to begin. What has happened to the broker since the last one; `ended` says whether there
        is still one to go on with."""
        pulse = self.guard.pulse
        if pulse is None or self.ended or (pulse.last > COSTLY and not pulse.down):
            return []
        if not pulse.beats():
            return self._broken_down()
        if not self._counted:
            self._counted = True
            self.guard.deeds.survived(self._last[2])
        return []

    def after(
        self,
        scene: str,
        queue_type: str,
        history: Sequence[Event],
        down: str,
        spared: str = "",
    ) -> list[Incident]:
        """A history is over. `down`: what the broker did instead of answering in it; `spared`: what was not sent."""
        if any(event.direction == TO_BROKER and event.channel for event in history):
            self._last, self._counted = (scene, queue_type, history), False
        pulse = self.guard.pulse
        kinds = incidents.closes, incidents.late, incidents.blocked
        found = [one for kind in kinds for one in kind(history, scene, queue_type)]
        if spared:
            found.append(incidents.spared(spared, scene, queue_type))
        if pulse is None or self.ended:
            return found
        if down:
            pulse.down = down
            found += self._broken_down()
        elif pulse.slow and incidents.SLOW not in self._told:
            self._told.add(incidents.SLOW)
            found.append(incidents.slowness(pulse.last, scene, queue_type))
        return found

    def tired(self) -> bool:
        """Has this check broken the broker down often enough?"""
        return bool(self.ended) or self._deaths >= TIRED

    def _broken_down(self) -> list[Incident]:
        pulse = self.guard.pulse
        assert pulse is not None
        self._deaths += 1
        if not self._counted:
            self._counted = True
            self.guard.deeds.broke_down(self._last[2])
        incident = incidents.breakdown(pulse.down, self.where, *self._last)
        return [incident, *self._bring_back(incident)]

    def _bring_back(self, broken: Incident) -> Iterator[Incident]:
        pulse = self.guard.pulse
        assert pulse is not None
        why = f"the broker {pulse.down}"
        try:
            if pulse.restart:
                pulse.revive()
            elif not self._recovers():
                yield from self._move(broken, why)
        except BadRestart as bad:
            self.ended = f"{why}, and {bad}"
        if not self.ended:
            self.guard.sweep_up()

    def _recovers(self) -> bool:
        pulse = self.guard.pulse
        assert pulse is not None
        until = min(time.monotonic() + RECOVERS, self.guard.ends)
        while not self._hopeless and time.monotonic() < until:
            if pulse.beats():
                return True
            time.sleep(PAUSE)
        self._hopeless = True
        return False

    def _move(self, broken: Incident, why: str) -> Iterator[Incident]:
        """Another vhost, where no more than the vhost is wedged."""
        pulse, vhosts = self.guard.pulse, self.guard.vhosts
        assert pulse is not None
        found = vhosts.move(pulse) if broken.kind == incidents.WEDGED else ""
        if found:
            self.where = found
            yield incidents.moved(found, broken.scene, broken.queue_type)
        else:
            self.ended = f"{why}; {vhosts.why or f'give {RESTART} to continue after that'}"
