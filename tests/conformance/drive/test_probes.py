"""What a broker offers: what it announces to lack it lacks, unless its answer shows the contrary, and what it announces
to have it does not refuse lawfully. Who does not even do what every history needs is told what is wrong: rights only
where access is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from threading import Thread

import pytest

from codec import methods as m
from codec import values
from codec.errors import ReplyCode
from conformance.catalogue.profiles import load
from conformance.catalogue.rules.features import (
    AUTO_DELETE,
    CROWD,
    DEFAULT,
    DURABLE,
    EXCLUSIVE,
    GETS,
    LARGE,
    RESERVED,
    SERVER_NAMED,
    TRANSIENT,
)
from conformance.cli.doctor import examine
from conformance.drive.drivers import effects
from conformance.drive.drivers.errors import Unreachable
from conformance.drive.drivers.target import Target
from conformance.drive.probing.offers import adapted
from conformance.drive.probing.probes import IN_ONE_WRITE, IN_ORDER, Inquiry
from conformance.drive.probing.questioned import LOST, OFFERED, REFUSED, SILENT, WRONG, Answer
from reference_broker import ReferenceBroker
from reference_broker.core.broker import CAPABILITIES
from reference_broker.core.channels import topology
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections.limits import Limits
from reference_broker.core.errors import raised
from reference_broker.core.parts import HANDLERS

PATIENCE = 0.3


def asked(
    monkeypatch: pytest.MonkeyPatch,
    capabilities: Mapping[str, bool | None],
    bind: Callable[[Channel, m.ExchangeBind], None] = lambda channel, method: None,
) -> dict[str, Answer]:
    """The answers of a broker that announces these capabilities, and does this about exchange.bind: nothing."""
    monkeypatch.setitem(HANDLERS, m.ExchangeBind, bind)
    said = {name: on for name, on in {**CAPABILITIES, **capabilities}.items() if on is not None}
    monkeypatch.setattr("reference_broker.core.broker.CAPABILITIES", said)
    with ReferenceBroker() as broker:
        return {one.feature: one for one in Inquiry(Target.parse(broker.url), PATIENCE).answers()}


def test_what_a_broker_announces_to_lack_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = {"consumer_priorities": False, "exchange_exchange_bindings": False, "basic.nack": False}
    found = asked(monkeypatch, lacking)
    for feature, capability in (("x-priority", "consumer_priorities"), ("basic.nack", "basic.nack")):
        assert found[feature] == Answer(feature, REFUSED, f"the broker announces no {capability}")
    assert found["exchange.bind"].state == REFUSED


def test_an_argument_that_nobody_announces_promises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked(monkeypatch, {"consumer_priorities": None, "basic.nack": None})
    assert (found["x-priority"].state, found["basic.nack"].state) == (REFUSED, OFFERED)


def test_what_is_answered_is_offered_whatever_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked(monkeypatch, {"publisher_confirms": False, "direct_reply_to": False})
    assert (found["confirm.select"].state, found["direct reply-to"].state) == (OFFERED, OFFERED)


@pytest.mark.parametrize(("announced", "state"), [(None, REFUSED), (True, LOST)])
def test_who_drops_the_connection_may_never_have_heard_of_the_method(
    monkeypatch: pytest.MonkeyPatch, announced: bool | None, state: str
) -> None:
    """As Qpid Broker-J does, which knows the text alone; who announces the method has heard of it."""
    found = asked(
        monkeypatch, {"exchange_exchange_bindings": announced}, lambda channel, _: channel.connection.finish()
    )
    assert found["exchange.bind"].state == state


@pytest.mark.parametrize(("announced", "state"), [(None, REFUSED), (True, SILENT)])
def test_who_is_silent_may_never_have_heard_of_the_method(
    monkeypatch: pytest.MonkeyPatch, announced: bool | None, state: str
) -> None:
    """As OtterMQ does, which answers no mistake at all."""
    assert asked(monkeypatch, {"exchange_exchange_bindings": announced})["exchange.bind"].state == state


@pytest.mark.parametrize(("announced", "state"), [(None, REFUSED), (True, LOST)])
def test_who_drops_who_asks_for_replies_may_know_no_such_queue(
    monkeypatch: pytest.MonkeyPatch, announced: bool | None, state: str
) -> None:
    monkeypatch.setitem(HANDLERS, m.BasicConsume, lambda channel, _: channel.connection.finish())
    assert asked(monkeypatch, {"direct_reply_to": announced})["direct reply-to"].state == state


def test_what_is_announced_and_not_answered_is_no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked(monkeypatch, {})
    assert (found["exchange.bind"].state, found["x-priority"].state) == (SILENT, OFFERED)


def refuses(code: ReplyCode) -> Callable[..., None]:
    def handler(channel: object, method: object) -> None:
        raise raised(code, "not here")

    return handler


def test_what_is_announced_and_refused_is_left_to_the_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HANDLERS, m.BasicNack, refuses(ReplyCode.PRECONDITION_FAILED))
    monkeypatch.setitem(HANDLERS, m.TxSelect, refuses(ReplyCode.NOT_IMPLEMENTED))
    found = asked(monkeypatch, {"basic.nack": True})
    assert (found["basic.nack"].state, found["tx.select"].state) == (WRONG, REFUSED)
    assert found["basic.nack"].words.endswith(", although the broker announces basic.nack")
    assert asked(monkeypatch, {"basic.nack": None})["basic.nack"].state == REFUSED
    monkeypatch.setitem(HANDLERS, m.BasicNack, refuses(ReplyCode.NOT_IMPLEMENTED))
    assert asked(monkeypatch, {"basic.nack": True})["basic.nack"].state == REFUSED


@pytest.mark.parametrize(
    ("limit", "state", "most"), [(2000, REFUSED, 1000), (262_144, REFUSED, 100_000), (270_000, OFFERED, 270_000)]
)
def test_the_largest_body_that_is_taken_is_looked_for(limit: int, state: str, most: int) -> None:
    with ReferenceBroker(limits=Limits(max_message=limit)) as broker:
        found = {one.feature: one for one in Inquiry(Target.parse(broker.url), PATIENCE).answers()}[LARGE]
    assert (found.state, found.most) == (state, most)


@pytest.mark.parametrize(
    ("code", "beyond", "state"),
    [
        (ReplyCode.ACCESS_REFUSED, "", REFUSED),
        (ReplyCode.ACCESS_REFUSED, "amq.", WRONG),
        (ReplyCode.NOT_FOUND, "amq.", WRONG),
    ],
)
def test_whose_rights_end_with_the_suites_own_names_uses_no_others(
    monkeypatch: pytest.MonkeyPatch, code: ReplyCode, beyond: str, state: str
) -> None:
    """403 speaks of rights, where it meets all other names. Who forbids amq.* alone, even to look for (MetalMQ),
    or has nothing there, is asked for it by the rules about that."""
    declare = HANDLERS[m.ExchangeDeclare]

    def narrow(channel: Channel, method: m.ExchangeDeclare) -> None:
        if method.exchange.startswith(beyond) and not method.exchange.startswith("amqpconf"):
            raise raised(code, "not for you")
        declare(channel, method)

    monkeypatch.setitem(HANDLERS, m.ExchangeDeclare, narrow)
    found = asked(monkeypatch, {})
    assert (found[RESERVED].state, found["alternate-exchange"].state) == (state, OFFERED)


@pytest.mark.parametrize(("late", "state"), [(2, OFFERED), (1000, SILENT)])
def test_a_message_that_is_to_be_refused_may_come_late(monkeypatch: pytest.MonkeyPatch, late: int, state: str) -> None:
    """A broker whose gets find nothing at first: its queues are replicated, and nobody has waited for a confirm."""
    get, asked_before = HANDLERS[m.BasicGet], Counter[str]()

    def get_late(channel: Channel, method: m.BasicGet) -> None:
        asked_before[method.queue] += 1
        if not method.no_ack and asked_before[method.queue] <= late:
            channel.connection.send(m.BasicGetEmpty(channel.number))
        else:
            get(channel, method)

    monkeypatch.setitem(HANDLERS, m.BasicGet, get_late)
    assert asked(monkeypatch, {"basic.nack": True})["basic.nack"].state == state


@pytest.mark.parametrize(
    ("code", "layer", "advice"),
    [
        (ReplyCode.ACCESS_REFUSED, "rights", "needs the rights"),
        (ReplyCode.NOT_IMPLEMENTED, "queues", "See the broker's log"),
        (None, "queues", "Check whether the broker hangs"),
    ],
)
def test_only_who_refuses_access_is_asked_for_rights(
    code: ReplyCode | None, layer: str, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(HANDLERS, m.QueueDeclare, refuses(code) if code else lambda channel, method: None)
    monkeypatch.setattr("conformance.cli.doctor._PATIENCE", PATIENCE)
    with ReferenceBroker() as broker:
        target = Target.parse(broker.url)
        with pytest.raises(Unreachable, match=advice) as ended:
            Inquiry(target, PATIENCE).answers()
        assert (ended.value.layer, examine(target).failed) == (layer, layer)


def test_who_is_gone_after_the_first_queue_is_said_to_be_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = ReferenceBroker()
    monkeypatch.setitem(HANDLERS, m.BasicGet, lambda channel, method: Thread(target=broker.stop).start())
    with broker:
        with pytest.raises(Unreachable, match="stopped accepting connections") as ended:
            Inquiry(Target.parse(broker.url), PATIENCE).answers()
        assert ended.value.layer == "tcp"


def offered(monkeypatch: pytest.MonkeyPatch, *mutants: str, heeded: bool) -> dict[str, Answer]:
    """What a stranger offers who heeds arguments, or takes them and passes over all."""
    for kind in () if heeded else (m.QueueDeclare, m.ExchangeDeclare, m.QueueBind):
        monkeypatch.setitem(HANDLERS, kind, passing_over(HANDLERS[kind]))
    with ReferenceBroker(mutants=mutants) as broker:
        return {one.feature: one for one in Inquiry(Target.parse(broker.url), 2.0, stranger=True).answers()}


def passing_over(handler: Callable[..., None]) -> Callable[..., None]:
    def passed(channel: object, method: m.QueueDeclare | m.ExchangeDeclare | m.QueueBind) -> None:
        method.arguments = b""
        handler(channel, method)

    return passed


def test_a_stranger_offers_the_arguments_that_have_an_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    found = offered(monkeypatch, heeded=True)
    assert {name: found[name].state for name in effects.QUESTIONS} == dict.fromkeys(effects.QUESTIONS, OFFERED)


def test_a_stranger_does_not_offer_what_it_passes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    found = offered(monkeypatch, heeded=False)
    for name in effects.QUESTIONS.keys() - {"direct reply-to"}:
        assert found[name] == Answer(name, REFUSED, "it is passed over")
    assert found["topic exchange"].state == OFFERED


@pytest.mark.parametrize(("kind", "flag"), [(m.QueueDelete, "if_empty"), (m.QueueDeclare, "passive")])
def test_what_has_an_effect_shows_where_a_flag_has_none(
    monkeypatch: pytest.MonkeyPatch, kind: type[m.QueueDelete | m.QueueDeclare], flag: str
) -> None:
    """As on StrangeQ, which makes a queue that it is only to look for, and deletes what is not empty."""
    handler = HANDLERS[kind]

    def careless(channel: Channel, method: m.QueueDelete | m.QueueDeclare) -> None:
        setattr(method, flag, False)
        handler(channel, method)

    monkeypatch.setitem(HANDLERS, kind, careless)
    found = offered(monkeypatch, heeded=True)
    names = (*effects.QUESTIONS, "sender-selected distribution")
    assert {name: found[name].state for name in names} == dict.fromkeys(names, OFFERED)


def test_a_stranger_that_takes_any_form_of_x_match_knows_none_of_those_with_x(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on OpenAMQ and JORAM, where all headers of a binding count, and a form that they do not know is all."""
    bind = HANDLERS[m.QueueBind]

    def all_of_them(channel: Channel, method: m.QueueBind) -> None:
        table = values.plain(method.arguments)
        if "x-probe" in table:
            method.arguments = values.table({"x-match": "all-with-x", "x-probe": table["x-probe"]})
        bind(channel, method)

    monkeypatch.setitem(HANDLERS, m.QueueBind, all_of_them)
    found = offered(monkeypatch, heeded=True)
    assert found["x-match all-with-x"] == Answer("x-match all-with-x", REFUSED, "it is passed over")


def test_a_channel_that_is_full_does_not_serve_one_consumer_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    found = offered(monkeypatch, "prefetch.one-for-all-consumers", heeded=False)
    assert found["x-single-active-consumer"] == Answer("x-single-active-consumer", REFUSED, "it is passed over")


@pytest.mark.parametrize("method", [m.BasicQos, m.ChannelFlow])
def test_what_is_passed_over_shows_without_flow_and_limits(
    monkeypatch: pytest.MonkeyPatch, method: type[m.BasicQos | m.ChannelFlow]
) -> None:
    """As on MetalMQ, which has neither."""
    monkeypatch.setitem(HANDLERS, method, lambda channel, asked: channel.connection.finish())
    found = offered(monkeypatch, heeded=False)
    for name in ("alternate-exchange", "x-dead-letter-exchange", "x-single-active-consumer"):
        assert found[name] == Answer(name, REFUSED, "it is passed over")


@pytest.mark.parametrize(("mutants", "state"), [(("aging.own-unread",), REFUSED), ((), LOST)])
def test_what_comes_in_no_form_that_can_be_read_is_counted(
    monkeypatch: pytest.MonkeyPatch, mutants: tuple[str, ...], state: str
) -> None:
    """As on MetalMQ, which keeps the flag of the expiration and forgets its value."""
    get = HANDLERS[m.BasicGet]

    def unreadable(channel: Channel, asked: m.BasicGet) -> None:
        """The question about expirations is the one with two publishes."""
        queue = channel.vhost.queues.get(asked.queue)
        if queue is not None and queue.published == 2:
            channel.connection.finish()
        else:
            get(channel, asked)

    monkeypatch.setitem(HANDLERS, m.BasicGet, unreadable)
    with ReferenceBroker(mutants=mutants) as broker:
        found = {one.feature: one for one in Inquiry(Target.parse(broker.url), 2.0, stranger=True).answers()}
    assert found["expiration"].state == state


def test_who_dies_of_a_question_is_brought_back_and_asked_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """The question before the silence is to blame; without a command to bring it back, the message says so."""
    brokers = [ReferenceBroker().start()]
    target = Target.parse(brokers[0].url)
    honest = HANDLERS[m.TxSelect]

    def fatal(channel: object, method: object) -> None:
        Thread(target=brokers[-1].stop).start()

    def again(handler: Callable[..., None]) -> None:
        monkeypatch.setitem(HANDLERS, m.TxSelect, handler)
        brokers.append(ReferenceBroker(port=target.port).start())

    brokers[0].stop()
    again(fatal)
    with pytest.raises(Unreachable, match=r"had been asked for tx\.select"):
        Inquiry(target, PATIENCE).answers()
    again(fatal)
    found = {one.feature: one for one in Inquiry(target, PATIENCE, revive=lambda: again(honest)).answers()}
    brokers[-1].stop()
    assert (found["tx.select"].state, found["basic.nack"].state) == (LOST, OFFERED)


def offers(*traits: str) -> dict[str, Answer]:
    """The answers of a poor broker."""
    with ReferenceBroker(personality="+".join(traits)) as broker:
        return {one.feature: one for one in Inquiry(Target.parse(broker.url), 2.0).answers()}


@pytest.mark.parametrize(
    ("trait", "feature", "state", "words"),
    [
        ("poor.durable-softly", DURABLE, REFUSED, "channel.close 406"),
        ("poor.durable-hard", DURABLE, WRONG, "connection.close 541"),
        ("poor.exclusive-hard", EXCLUSIVE, REFUSED, "connection.close 540"),
        ("poor.no-default-exchange", DEFAULT, REFUSED, "channel.close 404"),
        ("poor.gets-of-one-queue", GETS, SILENT, "a message does not come within"),
        ("poor.unnamed-softly", SERVER_NAMED, REFUSED, "channel.close 406"),
        ("poor.types-hard", "fanout exchange", REFUSED, "connection.close 503"),
        ("poor.three-connections", CROWD, REFUSED, "not more than 3, then: "),
        ("poor.five-connections", CROWD, REFUSED, "not more than 5, then: "),
    ],
)
def test_what_is_not_declared_is_told_and_the_rest_is_asked_for_without_it(
    trait: str, feature: str, state: str, words: str
) -> None:
    found = offers(trait)
    assert (found[feature].state, found[feature].words[: len(words)]) == (state, words)
    for other in ("confirm.select", "basic.nack", "x-max-length", AUTO_DELETE, TRANSIENT, "direct exchange"):
        assert found[other].state == OFFERED, other


@pytest.mark.parametrize(("trait", "most"), [("poor.three-connections", 2), ("poor.durable-softly", None)])
def test_one_connection_is_kept_for_the_pulse(trait: str, most: int | None) -> None:
    fitting = adapted(load("documented"), list(offers(trait).values()), known=True)
    assert fitting.crowd == most


def test_the_doctor_says_that_there_is_no_default_exchange() -> None:
    with ReferenceBroker(personality="poor.no-default-exchange") as broker:
        diagnosis = examine(Target.parse(broker.url))
    assert diagnosis.failed is None
    assert [line.partition(":")[0] for line in diagnosis.offers[1:]] == [DEFAULT]


def test_the_doctor_declares_in_a_way_that_is_not_refused() -> None:
    with ReferenceBroker(personality="poor.exclusive-hard+poor.durable-softly") as broker:
        diagnosis = examine(Target.parse(broker.url))
    assert diagnosis.failed is None
    assert [line.partition(":")[0] for line in diagnosis.offers[1:]] == [DURABLE, EXCLUSIVE]


def test_a_broker_that_does_not_answer_who_declares_durable_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on SwiftMQ, whose refusals do not arrive."""
    declare = HANDLERS[m.QueueDeclare]

    def transient(channel: Channel, method: m.QueueDeclare) -> None:
        if not method.durable:
            declare(channel, method)

    monkeypatch.setitem(HANDLERS, m.QueueDeclare, transient)
    with ReferenceBroker() as broker:
        found = {one.feature: one for one in Inquiry(Target.parse(broker.url), 0.5).answers()}
    assert (found[DURABLE].state, found["basic.nack"].state, found[TRANSIENT].state) == (SILENT, OFFERED, OFFERED)


@pytest.mark.parametrize("late", [True, False])
def test_gets_may_overtake_publishes(monkeypatch: pytest.MonkeyPatch, late: bool) -> None:
    """As on OpenAMQ, which hands messages on by another thread than gets; unless they are lost."""
    get, left = HANDLERS[m.BasicGet], [IN_ONE_WRITE if late else 1 << 30]

    def early(channel: Channel, method: m.BasicGet) -> None:
        if left[0] and len(topology.named_queue(channel, method.queue).ready) == IN_ONE_WRITE:
            left[0] -= 1
            channel.connection.send(m.BasicGetEmpty(channel.number))
        else:
            get(channel, method)

    monkeypatch.setitem(HANDLERS, m.BasicGet, early)
    with ReferenceBroker() as broker:
        inquiry = Inquiry(Target.parse(broker.url), 1.0, stranger=True)
        answers = inquiry.answers()
    found = {one.feature: one for one in answers}[IN_ORDER]
    assert found.state == (REFUSED if late else OFFERED)
    fitting = adapted(load("documented"), answers, known=False)
    assert fitting.queues["classic"].same_channel_order is not late
