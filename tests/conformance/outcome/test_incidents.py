from __future__ import annotations

from codec import methods as m
from conformance.history.events import TO_BROKER, TO_CLIENT, Event
from conformance.history.recorder import Recorder
from conformance.outcome import incidents


def history(*steps: tuple[str, m.Method]) -> list[Event]:
    """What was sent (>) and came (<) on one connection."""
    builder = Recorder("run", "broker").begin("scene").builder("c1")
    events = [builder.frame(TO_BROKER if way == ">" else TO_CLIENT, method, method.encode()) for way, method in steps]
    return [event for event in events if event is not None]


CONSUMED = (
    (">", m.ChannelOpen(1)),
    ("<", m.ChannelOpenOk(1)),
    (">", m.QueueDeclare(1, queue="q")),
    (">", m.BasicConsume(1, queue="q", consumer_tag="a")),
    (">", m.BasicConsume(1, queue="q", consumer_tag="b")),
)
DELETE = (">", m.QueueDelete(1, queue="q"))


def test_a_deletion_says_what_it_took_the_queue_from() -> None:
    assert incidents.last_methods(history(*CONSUMED, DELETE))[-1] == "queue.delete of a queue with 2 consumers"
    cancelled = (*CONSUMED, (">", m.BasicCancel(1, "a", False)), DELETE)
    assert incidents.last_methods(history(*cancelled))[-1] == "queue.delete of a queue with a consumer"
    closed = (*CONSUMED, (">", m.ChannelClose(1, 200, "done", 0, 0)), DELETE)
    assert incidents.last_methods(history(*closed))[-1] == "queue.delete"


def test_the_same_in_a_row_is_said_once_and_opening_a_channel_not_at_all() -> None:
    acks = tuple((">", m.BasicAck(1, tag, False)) for tag in (1, 2, 3))
    assert incidents.last_methods(history(*CONSUMED, *acks)) == ("queue.declare", "basic.consume", "basic.ack")


def test_a_broker_that_is_short_of_something_says_so() -> None:
    short = history(*CONSUMED, ("<", m.ConnectionBlocked(0, "low on memory")))
    (found,) = incidents.blocked(short, "scene", "classic")
    assert (found.kind, found.what) == ("blocked", "the broker blocks publishers: 'low on memory'")
    ours = Recorder("run", "broker").begin("scene").builder("").local("alarm", state="raising")
    assert not [*incidents.blocked([ours, *short], "scene", "classic")]


def test_a_breakdown_names_what_came_before_it() -> None:
    wedged = incidents.breakdown("answers no queue.declare", "vhost /", "scene", "classic", history(*CONSUMED, DELETE))
    assert wedged.kind == incidents.WEDGED
    assert wedged.what == "since queue.delete of a queue with 2 consumers, vhost / answers no queue.declare"
    gone = incidents.breakdown("accepts no connection", "vhost /", "", "", [])
    assert (gone.kind, gone.what) == (incidents.GONE, "from the start, the broker accepts no connection")


def test_only_closes_that_are_the_brokers_own_are_incidents() -> None:
    own = m.ConnectionClose(0, 541, "INTERNAL_ERROR", 0, 0)
    over_a_mistake = m.ChannelClose(1, 406, "PRECONDITION_FAILED", 60, 80)
    found = list(incidents.closes(history(*CONSUMED, ("<", over_a_mistake), ("<", own)), "scene", "classic"))
    assert [one.what for one in found] == ["connection.close 541 'INTERNAL_ERROR' after basic.consume"]


def test_a_login_that_is_refused_by_320_is_no_incident() -> None:
    forced, login = ("<", m.ConnectionClose(0, 320, "no such mechanism", 10, 11)), (">", m.ConnectionStartOk(0))
    assert not list(incidents.closes(history(login, forced), "scene", "classic"))
    opened = (login, ("<", m.ConnectionTune(0)), (">", m.ConnectionTuneOk(0)), (">", m.ConnectionOpen(0)))
    assert len(list(incidents.closes(history(*opened, forced), "scene", "classic"))) == 1


def test_like_incidents_are_one_and_the_gravest_comes_first() -> None:
    closed = [incidents.Incident(incidents.CLOSED, "x", scene, "classic") for scene in ("b", "a")]
    wedged = incidents.Incident(incidents.WEDGED, "y", "c", "classic")
    moved = incidents.moved("vhost spare", "c", "classic")
    first, second, third = incidents.merged([*closed, moved, wedged])
    assert (first.kind, second.kind) == ("wedged", "moved")
    assert (third.kind, third.times, third.scene) == ("closed", 2, "a")


def test_what_came_late_is_told_without_names_and_numbers() -> None:
    builder = Recorder("run", "broker").begin("scene").builder("")
    events = [builder.local("late", what=f"a delivery to c{n}", waited_ms=7000 + n) for n in (1, 2)]
    told = incidents.merged(incidents.late(events, "scene", "classic"))
    assert [(one.kind, one.what, one.times) for one in told] == [("late", "a delivery to # came late, after 7 s", 2)]


def test_a_client_that_fell_silent_may_be_told_so() -> None:
    """By 320, before the end: it had agreed to heartbeats, and this is what they are for."""
    opened = ((">", m.ConnectionTuneOk(0, 9, 8192, 1)), (">", m.ChannelOpen(1)))
    told = history(*opened, ("<", m.ConnectionClose(0, 320, "heartbeat timeout", 0, 0)))
    late = [*told[:-1], told[-1]._replace(time_ns=told[-2].time_ns + 3 * 10**9)]
    soon = [*told[:-1], told[-1]._replace(time_ns=told[-2].time_ns + 10**8)]
    assert [len(list(incidents.closes(one, "scene", "classic"))) for one in (late, soon)] == [0, 1]
