"""The broker under test: the one a URL names, or the embedded reference broker.

`resolve` connects once, reads how the broker introduces itself, picks the profile for it and measures how long to
wait for it. A broker that we started is stopped again at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conformance.catalogue import profiles
from conformance.catalogue.profiles import Profile
from conformance.drive.drivers import calibrate
from conformance.drive.drivers.errors import ConnectionLost, Unreachable
from conformance.drive.drivers.raw import RawConnection, Target, Tuned
from conformance.drive.drivers.sweep import hasty, unrecorded
from conformance.drive.probing import offers, probes
from conformance.drive.probing.questioned import Answer
from conformance.drive.pulse import Pulse
from conformance.drive.roster import BACKSTAGE
from reference_broker import ReferenceBroker

HEARTBEAT = 60
"""Seconds between heartbeats, where a broker lets nobody in who wants none."""
FEW_CHANNELS, FEWER_CHANNELS = 2047, 255
"""So many channels, where a broker names no limit and lets nobody in who takes as many as a number can count; and where
it fails over channels whose numbers are higher."""


@dataclass
class BrokerUnderTest:
    """A broker that answers: where it is, what it calls itself, what it is held to."""

    target: Target
    name: str
    server_properties: Mapping[str, Any]
    tuned: Tuned
    profile: Profile
    deadline: float
    embedded: ReferenceBroker | None = None
    found: tuple[Answer, ...] = ()
    """What it answered when it was asked what it offers."""
    how: str = ""
    """What is not certain of its profile, in a sentence."""

    def __enter__(self) -> BrokerUnderTest:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stops the broker where it is ours."""
        if self.embedded is not None:
            self.embedded.stop()

    @property
    def capabilities(self) -> list[str]:
        """What the broker announces that it can do."""
        announced = self.server_properties.get("capabilities")
        return sorted(name for name, on in announced.items() if on) if isinstance(announced, Mapping) else []


def resolve(
    url: str | None,
    profile: Profile | None = None,
    name: str | None = None,
    mutants: Sequence[str] = (),
    dialect: str = "documented",
    restart: str | None = None,
) -> BrokerUnderTest:
    """The broker that this URL names, and that this command restarts; without one, the reference broker, started here,
    wrong in these ways.

    Raises BadUrl, Unreachable, or BadRestart.
    """
    if url is not None:
        return _meet(Target.parse(url), profile, name, restart)
    embedded = ReferenceBroker(clock="elastic", http_port=0, mutants=mutants, dialect=dialect).start()
    try:
        broker = _meet(Target.parse(embedded.url), profile, name)
    except BaseException:
        embedded.stop()
        raise
    broker.embedded = embedded
    broker.name = " with ".join([broker.name, *mutants])
    return broker


def _meet(target: Target, profile: Profile | None, name: str | None, restart: str | None = None) -> BrokerUnderTest:
    target, connection = welcome(target, restart)
    try:
        properties = connection.server_properties
        match = profiles.chosen(profile, properties)
        deadline = calibrate.deadline(connection, match.profile.timing_slack)
    finally:
        connection.close()
    known = match.kind != profiles.TEXTS
    revive = Pulse(hasty(target, deadline), deadline, restart).revive if restart else None
    found = tuple(probes.Inquiry(target, deadline, stranger=not known, revive=revive).answers())
    fitting = offers.adapted(match.profile, found, known=known)
    return BrokerUnderTest(
        target,
        name or introduced(properties, target),
        properties,
        connection.tuned,
        fitting,
        deadline,
        found=found,
        how=match.how,
    )


def welcome(target: Target, restart: str | None = None) -> tuple[Target, RawConnection]:
    """A connection that opens a channel, and how it came about: by what a client usually says of itself, else by the
    least, else with heartbeats, else with fewer channels, then once more. One failure is no verdict on a broker; the
    first tells why. A broker that ends over a login is brought back by `restart`, and then met with heartbeats.

    Raises Unreachable, or BadRestart.
    """
    first: Unreachable | None = None
    fewer = (replace(target, channels=count) for count in (FEW_CHANNELS, FEWER_CHANNELS))
    for attempt in (target, replace(target, terse=True), _beating(target), *fewer, target):
        try:
            return attempt, _enter(attempt)
        except Unreachable as unreachable:
            if first is not None and unreachable.layer in ("tcp", "header"):
                return _enter_again(target, restart, unreachable)
            first = first or unreachable
            if unreachable.layer in ("tcp", "tls", "header"):
                break
    assert first is not None
    raise first


def _enter(target: Target) -> RawConnection:
    """Logs in, and opens and closes a channel: a broker may end over what was agreed when all of it was said, or over
    the number of the channel on which histories are prepared."""
    connection = unrecorded(target)
    number = min(BACKSTAGE, connection.tuned.channel_max or BACKSTAGE)
    answered = False
    try:
        answered = calibrate.answers(connection, number)
    except ConnectionLost:
        connection.abort()
    if not connection.alive and not answered:
        raise Unreachable(
            "login",
            f"{target.address} accepts the login and then ends the connection while a channel is opened. See the "
            "broker's log for the reason.",
        )
    return connection


def _beating(target: Target) -> Target:
    return target.beating(target.heartbeat or HEARTBEAT)


def _enter_again(target: Target, restart: str | None, gone: Unreachable) -> tuple[Target, RawConnection]:
    """The broker is gone since somebody logged in."""
    if restart is not None:
        Pulse(hasty(_beating(target), calibrate.FLOOR), calibrate.FLOOR, restart).revive()
        return _beating(target), _enter(_beating(target))
    beats = (
        "" if target.heartbeat else f" If it wants heartbeats of its clients, add ?heartbeat={HEARTBEAT} to the URL."
    )
    raise Unreachable(
        "tcp",
        f"{target.address} answers nobody since a client logged in, whose connection it ended. See the "
        f"broker's log for the reason, and start it again.{beats}",
    ) from gone


def introduced(properties: Mapping[str, Any], target: Target) -> str:
    """What to call a broker that introduces itself like this."""
    product, version = profiles.told(properties, "product"), profiles.told(properties, "version")
    return f"{product} {version}".strip() if product else target.address
