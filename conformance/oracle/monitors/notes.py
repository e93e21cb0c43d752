"""Where monitors write: findings, and how often each rule had something to say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeVar, cast

from conformance.catalogue.profiles import Profile
from conformance.catalogue.rules import CATALOGUE
from conformance.history.events import END, UNEXPECTED, Event
from conformance.oracle.model import Fact, Model
from conformance.oracle.model.circumstances.noting import Circumstances
from conformance.oracle.model.connections.channels import ChannelLife
from conformance.oracle.model.facts import ConnectionFailed, DroppedSilently
from conformance.oracle.model.records import RECOVERED, RETURNED, Copy
from conformance.oracle.monitors.moments import Moment
from conformance.oracle.monitors.standing import doubt
from conformance.oracle.verdicts import Finding, Judgement

ENOUGH = 5
"""One history shows the same rule broken at most so often; what follows from a broken broker is seldom news."""

Suspicion = tuple[str, int, str, str, tuple[int, ...], ChannelLife | None, tuple[str, ...], tuple[str, ...]]
"""A rule, when it was contradicted, and how, if a certain message was in its queue then; the channel that is
believed to have given it back before it ended; the circumstances; and rules that would explain it as well."""
UNSURE = "?"
"""Marks the count of what is not certain."""
SUSPICIONS = 256
"""This many messages are remembered that may be lost, or may show that something else is wrong."""
HARMLESS = frozenset(
    {
        "BLOCK-001",
        "CAN-001",
        "CAN-004",
        "CHAN-006",
        "CNF-015",
        "CONN-002",
        "CONN-003",
        "CONN-004",
        "CONN-008",
        "CONN-022",
        "CONN-023",
        "CONTENT-001",
        "CONTENT-002",
        "CONTENT-003",
        "CONTENT-007",
        "CONTENT-009",
        "CONTENT-010",
        "DLX-006",
        "DLX-007",
        "DLX-008",
        "ERR-002",
        "ERR-013",
        "MODE-007",
        "MODE-008",
        "QUEUE-020",
        "RETURN-002",
        "RETURN-004",
        "RETURN-005",
        "RETURN-006",
        "ROUTE-019",
        "RQ-008",
        "RQ-009",
        "RQ-012",
        "RQ-016",
        "TAG-004",
    }
)
"""Rules about what a frame says, and to whom: a broker that breaks them does nothing else than it should."""
CHANNELS = 256
"""This many channels are remembered that have not answered since something was expected of them."""


Memory = TypeVar("Memory")


class Notes:
    """What has been found and counted so far."""

    __slots__ = (
        "_exercised",
        "_expected",
        "_fact",
        "_first",
        "_memories",
        "_model",
        "_said",
        "_shown",
        "_suspicions",
        "accused",
        "circumstances",
        "fresh",
        "judgement",
        "looks_at",
        "moment",
        "profile",
        "subject",
    )

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.judgement = Judgement()
        self.circumstances = Circumstances(self.judgement.met)
        self.subject: Fact | None = None
        """The fact that is being judged."""
        self._exercised: dict[str, int] = self.judgement.exercised
        self.fresh: list[Finding] = []
        self.moment = Moment()
        self.looks_at = 0
        """From this time on another look tells what is late by now; 0: nothing is."""
        self.accused: list[str] = []
        """The rules that the fact which is being judged breaks for certain."""
        self._expected: dict[int, dict[int, tuple[int, tuple[str, ...]]]] = {}
        self._first: dict[str, tuple[int, tuple[str, ...]]] = {}
        """By rule that this history has certainly broken: when first, and which rules explain that as well."""
        self._memories: dict[str, Any] = {}
        self._said: dict[str, int] = {}
        self._shown: dict[str, dict[str, int]] = {}
        self._suspicions: dict[Copy, list[Suspicion]] = {}
        self._fact: Fact | None = None
        self._model: Model | None = None

    def memory(self, kind: type[Memory]) -> Memory:
        """What a family remembers of this history by itself: its one object of this class, made when it is first asked
        for. The class is a dataclass with slots, and can be made without arguments."""
        found = self._memories.get(kind.__name__)
        if found is None:
            found = self._memories[kind.__name__] = kind()
        return cast(Memory, found)

    def remember_only(self, *kinds: type[Any]) -> None:
        """What families remember in other classes than these is forgotten."""
        kept = {kind.__name__ for kind in kinds}
        for name in self._memories.keys() - kept:
            del self._memories[name]

    def turn_to(self, fact: Fact | None, model: Model | None) -> None:
        """What is said next is said about this fact, by a model that does not know everything; or about nothing."""
        self._fact, self._model = fact, model

    def exercise(self, *rules: str) -> None:
        """These rules had their say, and the consequence could be checked."""
        exercised, sure = self._exercised, self._fact is None
        for rule in rules:
            if sure or not self._doubted(rule, finding=False):
                exercised[rule] = exercised.get(rule, 0) + 1

    def show(self, rule: str, part: str, parts: tuple[str, ...]) -> None:
        """One part of what the rule claims was seen to be right. All of its parts exercise it once, one alone never:
        a broker that gets only this one right would show the same."""
        if self._fact is not None and self._doubted(rule, finding=False):
            return
        shown = self._shown.setdefault(rule, dict.fromkeys(parts, 0))
        least = min(shown.values())
        shown[part] += 1
        if min(shown.values()) > least:
            self._exercised[rule] = self._exercised.get(rule, 0) + 1

    def expect(self, channel: int, owner: int, at: int, rules: Iterable[str]) -> None:
        """These rules are borne out on the channel if their owner does not contradict that before the channel answers
        to something that is sent later, or before the next time."""
        expected = self._expected.setdefault(channel, {})
        if owner in expected:
            self.exercise(*expected[owner][1])
        expected[owner] = (at, tuple(dict.fromkeys(rules)))
        if len(self._expected) > CHANNELS:
            del self._expected[next(iter(self._expected))]

    def disappoint(self, channel: int, owner: int) -> None:
        """It was contradicted."""
        self._expected.get(channel, {}).pop(owner, None)

    def bear_out(self, channel: int, sent: int) -> None:
        """The channel has answered to what was sent then."""
        expected = self._expected.get(channel)
        if expected is None:
            return
        for owner, (at, rules) in [*expected.items()]:
            if at < sent:
                del expected[owner]
                self.exercise(*rules)
        if not expected:
            del self._expected[channel]

    def find(
        self,
        rule: str,
        event: Event,
        allowed: str,
        observed: str,
        *witness: int,
        certain: bool = True,
        at: int = 0,
        where: tuple[str, ...] = (),
        unless: tuple[str, ...] = (),
    ) -> None:
        """The history contradicts the rule at this event, or at an earlier one of which it is certain only now;
        `witness` are further events that show it; `where`: the circumstances then; `unless`: rules that explain it as
        well if the broker breaks them."""
        if self._unpromised(rule) or (self._fact is not None and self._doubted(rule, finding=True)):
            return
        self.judgement.exercised[rule] += 1
        silent = event.kind == END and event.args.get("cause") in UNEXPECTED
        certain = certain and not (silent and self._overheard())
        if certain:
            self.accused.append(rule)
            unless = (*unless, *self._earlier(rule, at or event.seq, unless))
        counter = rule if certain else rule + UNSURE
        said = self._said.get(counter, 0)
        self._said[counter] = said + 1
        if said < ENOUGH:
            seqs = tuple(sorted({seq for seq in witness if seq > 0} | {event.seq}))
            amid = where if at else self._amid()
            finding = Finding(
                rule, event.history, at or event.seq, allowed, observed, seqs, certain, amid, unless, silent
            )
            if certain:
                self.moment.enter(len(self.judgement.findings), event, self.subject)
            self.judgement.findings.append(finding)
            self.fresh.append(finding)

    def _overheard(self) -> bool:
        """Does a connection end in a capture? Nobody can play that again, to see whether it was the broker."""
        subject = self.subject
        return isinstance(subject, ConnectionFailed | DroppedSilently) and subject.connection.overheard

    def doubt_before(self, end: Fact) -> None:
        """A connection or a channel has ended, and others may have met the consequences first."""
        for place in self.moment.take_doubtful(end):
            said = self.judgement.findings[place]
            self.judgement.findings[place] = Finding(
                said.rule, said.history, said.at, said.allowed, said.observed, said.witness, False, said.where
            )
            self._said[said.rule] -= 1
            if self._first.get(said.rule, (0, ()))[0] == said.at:
                del self._first[said.rule]

    def _unpromised(self, rule: str) -> bool:
        """Is it about what this broker has refused, or passed over, when it was asked? Then it cannot break it."""
        refused = self.profile.refused
        return bool(refused) and not refused.keys().isdisjoint(CATALOGUE[rule].needs)

    def _amid(self) -> tuple[str, ...]:
        """The circumstances in which the fact stands that is being judged."""
        return self.circumstances.of(self.subject) if self.subject is not None else ()

    def _earlier(self, rule: str, seq: int, unless: tuple[str, ...]) -> tuple[str, ...]:
        """Rules that this history has certainly broken before. What it shows later may follow from that, but for what
        explains the earlier."""
        if rule not in HARMLESS:
            self._first.setdefault(rule, (seq, unless))
        return tuple(
            other
            for other, (first, explained_by) in self._first.items()
            if first < seq and other != rule and rule not in explained_by
        )

    def suspect(
        self,
        copy: Copy,
        rule: str,
        event: Event,
        allowed: str,
        observed: str,
        *witness: int,
        certain: bool = True,
        unless: tuple[str, ...] = (),
    ) -> None:
        """The history contradicts the rule if this message is in its queue, as it must be. If it is lost, that is the
        fault, and the rest follows from it. So it is a way out until the message is seen."""
        before = self._suspicions.get(copy, [])
        if any(known[0] == rule for known in before):
            return
        self.find(rule, event, allowed, observed, *witness, certain=False)
        if certain:
            suspicion = rule, event.seq, allowed, observed, witness, _given_back_by(copy), self._amid(), unless
            self._suspicions[copy] = [*before, suspicion]
            if len(self._suspicions) > SUSPICIONS:
                del self._suspicions[next(iter(self._suspicions))]

    def seen(self, copy: Copy, event: Event) -> None:
        """The message is there. What it contradicts was contradicted then, unless it may have come back since."""
        for rule, at, allowed, observed, witness, giver, where, unless in self._suspicions.pop(copy, ()):
            if giver is None or (giver.alive() and giver.gave_back <= at):
                self.find(rule, event, allowed, observed, *witness, at=at, where=where, unless=unless)

    def lost(self, copy: Copy) -> None:
        """It is not."""
        self._suspicions.pop(copy, None)

    @property
    def suspicious(self) -> bool:
        return bool(self._suspicions)

    def take(self) -> list[Finding]:
        """What was found since this was last asked."""
        found, self.fresh = self.fresh, []
        return found

    def look_again(self, at_ns: int) -> None:
        """Something is not there that must come, and by then it must have come, however slow the broker is."""
        self.looks_at = max(self.looks_at, at_ns)

    def report(self, rule: str, what: str) -> None:
        """Something a rule lets open was seen one way or the other."""
        if self._fact is not None and self._doubted(rule, finding=False):
            return
        counter = self.judgement.reports.get(rule)
        if counter is None:
            counter = self.judgement.reports[rule] = type(self.judgement.exercised)()
        counter[what] += 1

    def _doubted(self, rule: str, *, finding: bool) -> bool:
        """Does the history lack what this claim takes? Then that is all there is to say."""
        assert self._fact is not None
        assert self._model is not None
        reason = doubt(rule, self._fact, self._model, finding=finding)
        if reason:
            self.judgement.doubts.setdefault(rule, Counter())[reason] = 1
        return bool(reason)


def _given_back_by(copy: Copy) -> ChannelLife | None:
    """The living channel whose settlement is believed to have returned this. If it has not, the channel's end will; the
    failed one on which it was delivered last may not even have ended."""
    if copy.aground is not None:
        return copy.aground
    held = copy.holder
    returned = copy.entry in (RETURNED, RECOVERED) and held is not None and held.channel.alive()
    return held.channel if held is not None and returned else None
