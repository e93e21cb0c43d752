"""One process's part of a run: the broker, what it is held to, where events go.

Everything is opened late and once: merely having the plugin installed opens nothing, a worker opens its own
connections (and, without a URL, its own embedded broker), and the controller of a distributed run opens none. Whatever
is wrong with what the user asks for or with the broker surfaces here, as `Refused`.
"""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from conformance import __version__
from conformance.catalogue import deviations, sets
from conformance.catalogue.profiles import BadProfile, Profile, load
from conformance.catalogue.rules.features import CROWD
from conformance.drive.around import Around
from conformance.drive.budget import ALTOGETHER, PART, TimeBudget
from conformance.drive.drivers.admin import Admin, AdminRefused
from conformance.drive.drivers.errors import ConnectionLost, Unreachable
from conformance.drive.drivers.sweep import hasty
from conformance.drive.drivers.target import BadUrl, Target
from conformance.drive.guard import Guard
from conformance.drive.probing import offers
from conformance.drive.pulse import BadRestart, Pulse, alarm
from conformance.drive.vhosts import Vhosts
from conformance.history.events import Event
from conformance.history.recorder import Recorder, Sink
from conformance.history.recording import RecordingWriter
from conformance.history.stopwatch import Stopwatch
from conformance.outcome.gate import Known
from conformance.outcome.ledger import Broker
from conformance.outcome.reach import Reach
from conformance.session import beforehand, brokers
from conformance.session.exits import UNREACHABLE, WRONG_USE, Refused
from conformance.session.hunting import Hunt
from conformance.session.keeping import Keeping
from conformance.session.options import Options
from conformance.session.ticket import Ticket
from conformance.session.vitals import Vitals

EMBEDDED = "embedded"
MANAGEMENT, KILL, ALARM = "management API", "kill command", "alarm command"
RESTART = "restart command"
TOPICS = "topic permissions"
OF_THE_API = {
    TOPICS: "/api/topic-permissions",
    "policies": "/api/policies",
    "operator policies": "/api/operator-policies",
}
"""What a management API may offer, and where."""
ALONE = "main"
"""The worker of a run that has no others."""
SHARE = 0.9
"""Checks may take so much of the run's time; the rest is for telling what they found: up to 70 s where a hundred rules
are broken and other work goes on beside."""
PATIENCE_MS = "20000"


class EventTally:
    """Counts and times the events that go to the recording, or would go there."""

    def __init__(self, sink: Sink | None) -> None:
        self._sink, self.count = sink, 0
        self.times: Counter[tuple[str, int]] = Counter()
        self._watch, self._history = Stopwatch(self.times), ""
        self.reach = Reach()

    def __call__(self, event: Event) -> None:
        self.count += 1
        if event.history != self._history:
            self._watch, self._history = Stopwatch(self.times), event.history
        if event.method:
            self._watch.step(event)
            self.reach.step(event)
        if self._sink is not None:
            self._sink(event)


@dataclass
class Session:
    """Opened when the first check asks for it."""

    options: Options
    ticket: Ticket
    worker: str = ALONE
    _stack: ExitStack = field(default_factory=ExitStack)
    _opened: OpenedBroker | None = None
    _refused: Refused | None = None
    _keeping: Keeping | None = None

    def opened(self) -> OpenedBroker:
        """The broker and all that goes with it; the same refusal again when it was refused before."""
        if self._refused is not None:
            raise self._refused
        if self._opened is None:
            try:
                self._opened = self._open()
            except Refused as refused:
                self._refused = refused
                raise
        return self._opened

    def unwritten(self) -> str:
        """Why the recording of this process is not whole, in a sentence."""
        return self._keeping.unwritten() if self._keeping else ""

    def close(self) -> None:
        self._stack.close()

    def _open(self) -> OpenedBroker:
        options = self.options
        fixed = profile_of(options.profile) if options.profile else None
        known = known_of(options.deviations, self.ticket) if options.deviations else None
        try:
            under_test = self._stack.enter_context(
                brokers.resolve(
                    options.url,
                    fixed,
                    mutants=options.mutants,
                    dialect=dialect_for(options.mutants),
                    restart=options.restart,
                ),
            )
        except BadUrl as bad:
            raise Refused(WRONG_USE, str(bad)) from None
        except Unreachable as unreachable:
            why = f"The broker cannot be used ({unreachable.layer}): {unreachable.message}"
            raise Refused(UNREACHABLE, why) from None
        except BadRestart as bad:
            raise Refused(UNREACHABLE, f"The broker cannot be used: it went down, and {bad}") from None
        except ConnectionLost:
            raise Refused(
                UNREACHABLE,
                "The broker cannot be used: it accepted the login and then ended the connection "
                "while channels were opened. See its log for the reason.",
            ) from None
        profile = under_test.profile
        known = known or known_for(profile, self.ticket)
        broker = described(under_test)
        tally = EventTally(self._sink(broker, profile))
        target = patient(under_test.target)
        beside = around(options.admin, options.consumer_timeout, under_test)
        alone = any(one.feature == CROWD and one.most == 1 for one in under_test.found)
        pulse = Pulse(
            hasty(target, under_test.deadline),
            under_test.deadline,
            options.restart,
            alone=alone,
            refused={*profile.refused, *profile.shunned},
        )
        if options.kill is not None and under_test.embedded is None:
            beside.kill = self._killing(pulse, options.kill)
        unfit = self._restarting(pulse, beside) if under_test.embedded is None else ""
        if options.block is not None and options.unblock is not None and under_test.embedded is None:
            beside.alarm = partial(alarm, options.block, options.unblock)
        profile = replace(profile, refused={**profile.refused, **self._missing(beside, unfit)})
        guard = Guard(
            pulse,
            Vhosts(options.spare_vhosts, beside.admin),
            ends=time.monotonic() + options.minutes * 60 * SHARE - self.ticket.age(),
        )
        self._stack.callback(guard.let_go)
        return OpenedBroker(
            target,
            broker,
            profile,
            known,
            under_test.deadline,
            detected=fixed is None,
            guard=guard,
            vitals=Vitals(guard, f"vhost {target.vhost}"),
            budget=TimeBudget(min(ALTOGETHER, options.minutes * 60 * PART)),
            tally=tally,
            around=beside,
            age=self.ticket.age,
            recorder=Recorder(self.ticket.run, broker.name, tally, worker=self.worker),
        )

    def _killing(self, pulse: Pulse, command: str) -> Callable[[], None]:
        """What kills the broker, once tried: a command that does not do is best known before anything is played."""
        kill = partial(pulse.kill, command)
        if self.worker == ALONE:
            try:
                kill()
            except BadRestart as bad:
                raise Refused(WRONG_USE, f"{bad}. The command must kill the broker and start it again.") from None
        return kill

    def _restarting(self, pulse: Pulse, beside: Around) -> str:
        """Whether the command that brings a broker back also shows what it keeps is tried once, where a rule is played
        that needs it. Why it does not; empty where it does."""
        options = self.options
        if options.restart is None:
            return "none was given (--restart)"
        if self.worker != ALONE:
            return "several processes test the broker (-n), and a restart would disturb all of them"
        played = sets.select(options.set, options.rules, options.level)
        if not any(RESTART in rule.needs for rule in played):
            return "no rule was selected that needs it"
        try:
            pulse.restart_orderly()
        except BadRestart as bad:
            return str(bad)
        beside.restart = pulse.restart_orderly
        return ""

    def _missing(self, beside: Around, unfit: str) -> dict[str, str]:
        """What was not given, or cannot be used in this run, and is therefore asked of nobody; and why."""
        missing: dict[str, str] = {}
        if beside.admin is None:
            missing |= dict.fromkeys([MANAGEMENT, *OF_THE_API], "none was given (--broker-admin)")
        else:
            refusals = {name: beside.admin.refused(path) for name, path in OF_THE_API.items()}
            missing |= {name: refusal for name, refusal in refusals.items() if refusal}
        if beside.kill is None:
            missing[KILL] = "none was given (--kill)"
        elif self.worker != ALONE and self.options.url is not None:
            missing[KILL] = "several processes test the broker (-n), and a kill would disturb all of them"
        if unfit:
            missing[RESTART] = unfit
        if beside.alarm is None:
            missing[ALARM] = "none was given (--block and --unblock)"
        elif self.worker != ALONE and self.options.url is not None:
            missing[ALARM] = "several processes test the broker (-n), and an alarm would disturb all of them"
        return missing

    def _sink(self, broker: Broker, profile: Profile) -> Sink | None:
        if self.options.recording is None:
            return None
        header = {
            "run": self.ticket.run,
            "started": self.ticket.started,
            "suite": __version__,
            "broker": broker.name,
            "profile": profile.name,
            "seed": self.options.seed,
            "depth": self.options.depth,
            "server_properties": broker.server_properties,
            "capabilities": list(broker.capabilities),
            "queue_types": list(profile.queue_types),
            "choices": dict(profile.choices),
            "refused": dict(profile.refused),
            "selection": asdict(self.options.selection),
        }
        writer = self._stack.enter_context(RecordingWriter(self.options.recording, header, self.worker))
        self._keeping = Keeping(writer)
        return self._keeping


@dataclass(frozen=True, slots=True)
class OpenedBroker:
    """The broker of this process."""

    target: Target
    broker: Broker
    profile: Profile
    known: Known
    deadline: float
    detected: bool
    recorder: Recorder
    tally: EventTally
    around: Around
    guard: Guard
    vitals: Vitals
    told: dict[tuple[str, str, str], bool] = field(default_factory=dict)
    """Kinds of findings (rule, words, queue type) of which a reproducer was looked for, and whether there is one."""
    sliced: set[tuple[str, str, str]] = field(default_factory=set)
    """Kinds of findings that have been cut down to an exchange."""
    budget: TimeBudget = field(default_factory=TimeBudget)
    hunt: Hunt = field(default_factory=Hunt)
    age: Callable[[], float] = lambda: 0.0
    """Seconds since the run began."""

    def line(self) -> str:
        """What is examined, for the top of the output."""
        how = "detected" if self.detected else "as asked"
        return (
            f"{self.broker.name} at {self.broker.url}, profile {self.profile.name} ({how}), "
            f"queues: {', '.join(self.profile.queue_types)}"
        )

    def lines(self) -> list[str]:
        """The same, and what the broker was found to offer."""
        return [self.line(), *self.broker.offers]


def patient(target: Target) -> Target:
    """Once a broker was there, a slow answer is no reason to call it gone."""
    return replace(target, options={"connection_timeout": PATIENCE_MS, **target.options})


def around(admin_url: str | None, timeout: int | None, under_test: brokers.BrokerUnderTest) -> Around:
    """The broker's management API and clock, where we have them; `timeout` is its own consumer timeout, if known."""
    embedded = under_test.embedded
    if embedded is not None:
        return Around(Admin(embedded.admin_url), embedded.leap, embedded.crash, embedded.restart, embedded.alarm)
    if admin_url is None:
        return Around(general=timeout)
    admin = Admin(admin_url, under_test.target.vhost)
    try:
        admin.check()
    except AdminRefused as refused:
        raise Refused(WRONG_USE, f"--broker-admin cannot be used: {refused}.") from None
    beforehand.check(admin, under_test.target.vhost)
    return Around(admin, general=timeout)


def dialect_for(mutants: Sequence[str]) -> str:
    """The dialect of the embedded broker in which it can be told that it is wrong like this."""
    from conformance.campaigns.hunt import held_to
    from reference_broker.mutants import MUTANTS

    return held_to([rule for name in mutants for rule in MUTANTS[name].rules]) if mutants else "documented"


def profile_of(name: str) -> Profile:
    try:
        return load(name)
    except BadProfile as bad:
        raise Refused(WRONG_USE, f"--profile: {bad}.") from None


def known_of(name: str, ticket: Ticket) -> Known:
    try:
        return Known(deviations.load(name), name, ticket.today)
    except deviations.BadDeviations as bad:
        raise Refused(WRONG_USE, f"--deviations: {bad}.") from None


def known_for(profile: Profile, ticket: Ticket) -> Known:
    """The deviations that a profile brings along."""
    return known_of(profile.deviations, ticket) if profile.deviations else Known(today=ticket.today)


def described(under_test: brokers.BrokerUnderTest) -> Broker:
    """The broker as results show it. The embedded one has no address: it is another one in every process."""
    properties: Mapping[str, Any] = under_test.server_properties
    return Broker(
        name=under_test.name,
        url=EMBEDDED if under_test.embedded is not None else str(under_test.target),
        product=str(properties.get("product", "")),
        version=str(properties.get("version", "")),
        server_properties=dict(properties),
        negotiated=under_test.tuned._asdict(),
        capabilities=tuple(under_test.capabilities),
        offers=(*filter(None, [under_test.how]), *offers.describe_answers(under_test.found)),
    )


def again(options: Options) -> str:
    """The command that examines the same broker in the same way; a password that is no default is not shown."""
    words = ["amqp-conformance", "run"]
    if options.url:
        target = Target.parse(options.url)
        words.append(shlex.quote(options.url) if target.password == "guest" else '"$AMQP_URL"')
    if options.mutants:
        words += ["--mutant", ",".join(options.mutants)]
    if options.profile:
        words += ["--profile", shlex.quote(options.profile)]
    if options.depth != "ci":
        words += ["--depth", options.depth]
    if options.examples:
        words += ["--examples", str(options.examples)]
    return " ".join(words)
