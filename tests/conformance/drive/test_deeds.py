from __future__ import annotations

from collections.abc import Sequence

from codec import methods as m
from conformance.drive.deeds import Deeds
from conformance.history.events import TO_BROKER, Event
from conformance.history.recorder import Recorder

DELETE = m.QueueDelete(1, queue="q")
OTHERS = (m.QueueDeclare(1, queue="q"), m.BasicQos(1, prefetch_count=3))
TAKEN = (*OTHERS, m.BasicConsume(1, queue="q", consumer_tag="a"), DELETE)
"""The queue is taken from its consumer."""
CANCELLED = (*OTHERS, m.BasicConsume(1, queue="q", consumer_tag="a"), m.BasicCancel(1, "a", False), DELETE)


def history(methods: Sequence[m.Method]) -> list[Event]:
    builder = Recorder("run", "broker").begin("scene").builder("c1")
    return [event for method in methods if (event := builder.frame(TO_BROKER, method, method.encode())) is not None]


def seen(*, harmless: int, fatal: int, spared: int = 0, others: Sequence[m.Method] = CANCELLED) -> Deeds:
    """So many histories with none of it, so many that broke the broker down, and so many that might have."""
    deeds = Deeds()
    for _ in range(harmless):
        deeds.survived(history(others))
    for _ in range(spared):
        deeds.survived(history(TAKEN))
    for _ in range(fatal):
        deeds.broke_down(history(TAKEN))
    return deeds


def test_what_breaks_the_broker_down_each_time_is_deadly() -> None:
    deeds = seen(harmless=40, fatal=3)
    assert deeds.deadly == {"queue.delete of a queue with consumers": 3}
    why = deeds.forbids(history(TAKEN[:-1]), [DELETE])
    assert why == "queue.delete of a queue with consumers has hung or crashed the broker 3 times"


def test_only_that_is_forbidden() -> None:
    deeds = seen(harmless=40, fatal=3)
    assert deeds.forbids(history(CANCELLED[:-1]), [DELETE]) == "", "nobody consumes from it any more"
    assert deeds.forbids(history(TAKEN[:-1]), [m.QueueDeclare(1, queue="p"), m.QueueDelete(1, queue="p")]) == ""


def test_what_is_no_more_than_chance_is_not_deadly() -> None:
    assert seen(harmless=40, fatal=2).deadly == {}, "twice is not often"
    assert seen(harmless=3, fatal=3).deadly == {}, "little is known of how the broker does without it"
    assert seen(harmless=40, fatal=4, spared=4).deadly == {}, "it lives through it as often"
    assert seen(harmless=40, fatal=4, spared=1).deadly != {}, "one broker wedges in four of five races"


def test_a_broker_that_breaks_down_whatever_is_done_forbids_nothing() -> None:
    deeds = seen(harmless=10, fatal=0)
    for _ in range(10):
        deeds.broke_down(history(TAKEN))
        deeds.broke_down(history(CANCELLED))
    assert deeds.deadly == {}
