from __future__ import annotations

from conformance.history.events import SCENE, Event
from conformance.history.recorder import Recorder


def scene(recorder: Recorder) -> Event:
    event = recorder.builder("c1").local(SCENE)
    recorder.emit(event)
    return event


def test_each_history_counts_from_one_over_all_its_connections() -> None:
    seen: list[Event] = []
    root = Recorder("run", "broker", seen.append)
    first, second = root.begin("a"), root.begin("b")
    one, other = first.builder("c1"), first.builder("c2")
    for builder in (one, other, one):
        first.emit(builder.local(SCENE))
    scene(second)
    assert [(event.history, event.connection, event.seq) for event in seen] == [
        ("a", "c1", 1),
        ("a", "c2", 2),
        ("a", "c1", 3),
        ("b", "c1", 1),
    ]
    assert {(event.run, event.broker) for event in seen} == {("run", "broker")}


def test_histories_of_one_name_are_told_apart() -> None:
    root = Recorder("run", "broker")
    assert [root.begin("a").history, root.begin("b").history, root.begin("a").history] == ["a", "b", "a#2"]
    assert root.silent().begin("a").history == "a#3", "silent ones share the names"


def test_subscribers_belong_to_one_history() -> None:
    root = Recorder("run", "broker")
    first, second = root.begin("a"), root.begin("b")
    heard: list[Event] = []
    first.subscribe(heard.append)
    event = scene(first)
    scene(second)
    assert heard == [event]


def test_a_silent_history_can_be_told_later() -> None:
    seen: list[Event] = []
    root = Recorder("run", "broker", seen.append)
    event = scene(root.silent().begin("a"))
    assert seen == []
    root.publish([event])
    assert seen == [event]


def test_private_names_are_never_given_twice() -> None:
    root = Recorder("run", "broker", worker="gw3")
    names = [root.begin("a").private_name(), root.begin("b").private_name(), root.silent().private_name()]
    assert names == ["amqpconf.run.gw3.1", "amqpconf.run.gw3.2", "amqpconf.run.gw3.3"]
