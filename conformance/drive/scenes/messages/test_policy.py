"""POLICY: queues and exchanges for which policies set something, by names that no other history uses.

Each scene waits for a second after it has set or removed a policy: by then the broker has heeded it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from conformance.drive.around import wait
from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import QueueType, rule
from conformance.drive.scenes.props import confirming, patiently
from conformance.drive.stage import NotOffered, Stage

MOST, ARGUMENT, TTL, EXPIRES = "max-length", "x-max-length", "message-ttl", "expires"
OCTETS, LARGE = "max-length-bytes", 20_000
"""So many octets has a message that it makes no difference what a broker counts beside them."""
OVERFLOW, DOES, REJECT, DROP = "overflow", "x-overflow", "reject-publish", "drop-head"
HEEDED, ARRIVED = 1.1, 1.3
"""Seconds after which a policy is heeded, and after which a dead letter has come."""
HIGH = 100
"""A priority above those of policies that the broker may have had before; LavinMQ knows them up to 127."""
SHORT, SOON, HOUR = 200, 0.5, 3_600_000
"""Milliseconds, seconds, and milliseconds again."""
ARGUMENTS: Mapping[str, object] = {
    "x-max-priority": 3,
    "x-single-active-consumer": True,
    "x-message-ttl": HOUR,
    "x-expires": HOUR,
    "x-overflow": DROP,
}
"""What a queue may have beside a limit."""
GONE, LEASE = 2.3 + HEEDED, 3_000
"""Seconds after which what nobody uses for `SHORT` is gone; milliseconds that outlast two changes."""
MANY = 12
"""What a full queue has to refuse, so that it is no accident."""
CLASSIC: tuple[QueueType, ...] = ("classic",)
LOWER: Mapping[str, Mapping[str, object]] = {
    "length": {MOST: 2},
    "all else": {"max-length-bytes": 1, TTL: SHORT},
    "what is of exchanges": {MOST: 2, "alternate-exchange": "amq.fanout"},
}
"""What a policy may set by which a queue keeps next to nothing."""
MATCHES = "{all}[.]le", "{end}[.](left|middle)[.]", "{end}[.]left[.]right$", "{end}[.][a-l]+[.]r?i"
MISSES = "^{end}", "{all}[.]left$", "{all}[.]LEFT"
"""Patterns for the name NAME.left.right: `all` stands for NAME, `end` for all of it but the beginning."""


def plain(name: str) -> str:
    """A pattern that matches this text, and nothing else."""
    return name.replace(".", "[.]")


def only(name: str) -> str:
    return f"^{plain(name)}$"


def fresh(stage: Stage) -> str:
    """A name that nothing has."""
    return stage.recorder.private_name()


def put(
    stage: Stage,
    pattern: str,
    definition: Mapping[str, object],
    name: str = "",
    *,
    apply_to: str = "queues",
    priority: int = HIGH,
    operator: bool = False,
    vhost: str | None = None,
) -> str:
    """Sets a policy, of this name or of a fresh one, which it tells."""
    if stage.around.admin is None:
        raise NotOffered("no management API was given, by which policies could be set")
    name = name or fresh(stage)
    stage.around.rule(
        stage, name, pattern, definition, apply_to=apply_to, priority=priority, operator=operator, vhost=vhost
    )
    return name


def heeded(stage: Stage) -> None:
    wait(stage, HEEDED)


@dataclass
class PolicyTrial:
    """A queue that one channel fills, and another empties."""

    stage: Stage
    queue: str
    publisher: Channel = field(init=False)
    taker: Channel = field(init=False)

    def __post_init__(self) -> None:
        self.publisher, self.taker = confirming(self.stage), self.stage.channel()

    def fill(self, count: int) -> None:
        self.publisher.publish(self.queue, count)
        self.stage.confirmed(self.publisher)

    def empty(self, most: int = 20) -> None:
        for _ in range(most):
            if self.stage.get(self.taker, self.queue, no_ack=True) is None:
                break

    def octets(self, size: int, count: int) -> None:
        """So many of this size come to the empty queue, and are taken again."""
        self.publisher.publish(self.queue, count, body=bytes(size))
        self.stage.confirmed(self.publisher)
        self.empty()

    def keeps(self, *counts: int) -> None:
        """So many come to the empty queue, and are taken again."""
        for count in counts:
            self.fill(count)
            self.empty()


@rule("POLICY-003", queue_types=CLASSIC)
@pytest.mark.parametrize("matches", [True, False], ids=["matches", "misses"])
def test_where_a_pattern_matches(stage: Stage, matches: bool) -> None:
    """Names of several parts, and for each a pattern that matches somewhere, or nearly."""
    names = [fresh(stage) for _ in range(4 if matches else 3)]
    trials = [PolicyTrial(stage, stage.queue(name=f"{name}.left.right")) for name in names]
    for pattern, name in zip(MATCHES if matches else MISSES, names, strict=True):
        put(stage, pattern.format(all=plain(name), end=plain(name[3:])), {MOST: 3})
    heeded(stage)
    for trial in trials:
        trial.keeps(8)


@rule("POLICY-004", queue_types=CLASSIC)
@pytest.mark.parametrize("sets", LOWER)
@pytest.mark.parametrize("first", ["low", "high"])
def test_two_policies(stage: Stage, first: str, sets: str) -> None:
    """The one with the higher priority allows more; then it says nothing of the length; then it is removed. The other
    one may set all else that would lose messages."""
    trial, names = PolicyTrial(stage, stage.queue()), {"low": fresh(stage), "high": fresh(stage)}
    kinds = "all" if "alternate-exchange" in LOWER[sets] else "queues"
    about = {"low": (LOWER[sets], HIGH - 1), "high": ({MOST: 6}, HIGH + 11)}
    for one in sorted(about, key=lambda one: one != first):
        definition, priority = about[one]
        put(stage, only(trial.queue), definition, names[one], priority=priority, apply_to=kinds)
    heeded(stage)
    trial.keeps(8)
    trial.fill(8)
    wait(stage, SOON)
    trial.empty()
    put(stage, only(trial.queue), {TTL: HOUR}, names["high"], priority=HIGH + 11, apply_to=kinds)
    heeded(stage)
    trial.keeps(8)
    if sets == "length":
        stage.around.unrule(stage, names["high"])
        heeded(stage)
        trial.keeps(8)


@rule("POLICY-005", queue_types=CLASSIC)
@pytest.mark.parametrize("kind", ["exchanges", "quorum_queues", "queues", "classic_queues"])
def test_what_a_policy_is_for(stage: Stage, kind: str) -> None:
    """It fits the name of a classic queue, and is for exchanges, or for quorum queues where that can be said; or for
    queues, or classic queues."""
    if kind == "quorum_queues" and "quorum" not in stage.profile.queue_types:
        return
    trial = PolicyTrial(stage, stage.queue())
    try:
        put(stage, only(trial.queue), {MOST: 3}, apply_to=kind)
    except NotOffered:
        return  # RabbitMQ knows types of queues since 3.12
    heeded(stage)
    trial.keeps(8)


@rule("POLICY-006", queue_types=CLASSIC)
def test_another_virtual_host(stage: Stage) -> None:
    """It fits the name of a queue of this virtual host, and is in another. This one has another of the same name."""
    trial, limited = PolicyTrial(stage, stage.queue()), PolicyTrial(stage, stage.queue())
    if stage.around.admin is None:
        raise NotOffered("no management API was given, by which a virtual host could be made")
    name = put(stage, only(limited.queue), {MOST: 3})
    put(stage, only(trial.queue), {MOST: 3}, name, vhost=stage.around.vhost(stage))
    heeded(stage)
    for one in (trial, limited):
        one.keeps(8)


def so_large(count: int) -> int:
    """The octets of so many messages, and of half a one."""
    return count * LARGE + LARGE // 2


def expires(stage: Stage) -> bool:
    return stage.profile.queue(stage.queue_type).messages_expire


@rule("POLICY-008", queue_types=CLASSIC)
@pytest.mark.parametrize(("before", "after"), [(6, 3), (3, 6)], ids=["lowered", "raised"])
def test_messages_wait_when_it_changes(stage: Stage, before: int, after: int) -> None:
    """The queue is full, and may hold less from then on, or more."""
    trial = PolicyTrial(stage, stage.queue())
    name = put(stage, only(trial.queue), {MOST: before})
    heeded(stage)
    trial.fill(8)
    put(stage, only(trial.queue), {MOST: after}, name)
    heeded(stage)
    if after > before:
        trial.fill(2)
    trial.empty()
    trial.keeps(8)


@rule("POLICY-011")
def test_messages_expire(stage: Stage) -> None:
    """After the time that the policy gives them, also if their own is longer, and not after it is removed. Then it is
    set once more. Another queue has a consumer when it gets a policy."""
    if not expires(stage):
        return
    trial, consumed, name = PolicyTrial(stage, stage.queue()), PolicyTrial(stage, stage.queue()), fresh(stage)
    consumer = stage.channel()
    consumer.consume(consumed.queue)
    stage.quiesce()
    put(stage, only(consumed.queue), {TTL: SHORT})
    for turn in "set", "removed", "set again":
        if turn == "removed":
            stage.around.unrule(stage, name)
        else:
            put(stage, only(trial.queue), {TTL: SHORT}, name)
        heeded(stage)
        if turn == "set":
            consumer.close()
            stage.quiesce()
            _older_than_a_policy_allows(stage, trial, consumed)
        trial.fill(3)
        wait(stage, SOON)
        trial.empty()


def _older_than_a_policy_allows(stage: Stage, *trials: PolicyTrial) -> None:
    """Messages that would live for long by themselves, and others."""
    for trial in trials:
        if stage.offers("expiration"):
            trial.publisher.publish(trial.queue, properties={"expiration": str(HOUR)})
        trial.fill(1)
    wait(stage, SOON)
    for trial in trials:
        trial.empty()


def dies(stage: Stage, *queues: str) -> None:
    """A message of each is rejected."""
    for queue in queues:
        trial = PolicyTrial(stage, queue)
        trial.fill(1)
        tag = stage.get(trial.taker, queue)
        if tag is not None:
            trial.taker.reject(tag, requeue=False)
        stage.barrier(trial.taker)
    wait(stage, ARRIVED)


def look(stage: Stage, *queues: str) -> None:
    """Three gets from each."""
    taker = stage.channel()

    def take() -> None:
        for queue in queues:
            for _ in range(3):
                stage.get(taker, queue, no_ack=True)

    patiently(stage, take)


@rule("POLICY-012")
def test_a_policy_says_where_dead_letters_go(stage: Stage) -> None:
    """By the default exchange with another key, and by an exchange of its own. Then by that alone, and then nowhere."""
    grave, queue, other = stage.queue(), stage.queue(), stage.queue()
    exchange = stage.exchange(grave)
    name = put(stage, only(queue), {"dead-letter-exchange": "", "dead-letter-routing-key": grave})
    put(stage, only(other), {"dead-letter-exchange": exchange})
    heeded(stage)
    dies(stage, queue, other)
    look(stage, grave)
    put(stage, only(queue), {"dead-letter-exchange": stage.exchange(other)}, name)
    heeded(stage)
    dies(stage, queue)
    look(stage, other, grave)
    stage.around.unrule(stage, name)
    heeded(stage)
    dies(stage, queue)
    look(stage, other, grave)


def strays(stage: Stage, exchange: str) -> None:
    """Two messages that the exchange cannot route."""
    publisher = confirming(stage)
    publisher.publish("nowhere", 2, exchange=exchange)
    stage.confirmed(publisher)


@rule("POLICY-014", queue_types=CLASSIC)
@pytest.mark.parametrize("what", ["dead letters", "unroutable"])
def test_an_argument_says_otherwise(stage: Stage, what: str) -> None:
    """It names another queue for dead letters, or another alternate exchange, than the policy."""
    declared, ruled = stage.queue(), stage.queue()
    if what == "dead letters":
        queue = stage.queue({"x-dead-letter-exchange": "", "x-dead-letter-routing-key": declared})
        put(stage, only(queue), {"dead-letter-exchange": "", "dead-letter-routing-key": ruled})
        heeded(stage)
        dies(stage, queue)
        look(stage, ruled, declared)
        return
    exchange = stage.exchange(kind="direct", arguments={"alternate-exchange": stage.exchange(declared)})
    put(stage, only(exchange), {"alternate-exchange": stage.exchange(ruled)}, apply_to="exchanges")
    heeded(stage)
    strays(stage, exchange)
    look(stage, ruled, declared)


def asked(stage: Stage, *queues: str) -> None:
    """Are they there? Each question has a channel of its own: it may cost that."""

    def ask() -> None:
        for queue in queues:
            stage.channel().declare(queue, passive=True)
            stage.quiesce()

    patiently(stage, ask)


@rule("POLICY-016", queue_types=CLASSIC)
def test_the_smaller_lease(stage: Stage) -> None:
    """That of the argument is smaller, and that of the policy."""
    times = ((SHORT, HOUR), (HOUR, SHORT))
    queues = [stage.queue({"x-expires": argument}) for argument, _ in times]
    for queue, (_, by_policy) in zip(queues, times, strict=True):
        put(stage, only(queue), {EXPIRES: by_policy})
    wait(stage, GONE)
    asked(stage, *queues)


@rule("POLICY-017", queue_types=CLASSIC)
@pytest.mark.parametrize(
    ("turns", "own"), [((0, HOUR, SHORT), 0), ((0,), 0), ((0,), HOUR)], ids=["several", "removed", "beside"]
)
def test_the_lease_changes(stage: Stage, turns: Sequence[int], own: int) -> None:
    """It is removed, made longer, and made shorter, while nobody uses the queues. And removed, with no other policy;
    and that again, where the queue has a long one of its own."""
    given = {"x-expires": own} if own else None
    before = {stage.queue(given): HOUR if life == SHORT else LEASE for life in turns}
    names = [put(stage, only(queue), {EXPIRES: life}) for queue, life in before.items()]
    heeded(stage)
    for queue, name, life in zip(before, names, turns, strict=True):
        if life:
            put(stage, only(queue), {EXPIRES: life}, name)
        else:
            stage.around.unrule(stage, name)
    wait(stage, GONE)
    asked(stage, *before)


@rule("POLICY-018", queue_types=CLASSIC)
def test_a_policy_refuses(stage: Stage) -> None:
    """The queue is filled, and emptied, again and again."""
    trial = PolicyTrial(stage, stage.queue())
    put(stage, only(trial.queue), {MOST: 3, OVERFLOW: REJECT})
    heeded(stage)
    trial.keeps(5, 2, 4)


@rule("POLICY-019", queue_types=CLASSIC)
@pytest.mark.parametrize(
    "turns", [(REJECT, DROP), (DROP, REJECT), (REJECT, "")], ids=["refuses first", "drops first", "removed"]
)
def test_what_a_full_queue_does_changes(stage: Stage, turns: tuple[str, str]) -> None:
    """While it is full; and back again. A policy that is removed leaves the queue its length, which is declared."""
    trial, name = PolicyTrial(stage, stage.queue({ARGUMENT: 3})), fresh(stage)
    for overflow in (*turns, turns[0]):
        if overflow:
            put(stage, only(trial.queue), {MOST: 3, OVERFLOW: overflow}, name)
        else:
            stage.around.unrule(stage, name)
        heeded(stage)
        trial.fill(MANY)
    trial.empty()


@rule("POLICY-020", queue_types=CLASSIC)
@pytest.mark.parametrize(("argument", "policy"), [(DROP, REJECT), (REJECT, DROP)], ids=["drops", "refuses"])
def test_an_argument_says_what_a_full_queue_does(stage: Stage, argument: str, policy: str) -> None:
    """The policy says otherwise, and sets the length."""
    trial = PolicyTrial(stage, stage.queue({DOES: argument}))
    put(stage, only(trial.queue), {MOST: 3, OVERFLOW: policy})
    heeded(stage)
    trial.keeps(MANY)
