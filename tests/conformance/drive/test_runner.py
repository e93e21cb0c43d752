"""The runner plays what pytest collects, and ends every history, however its scene ended."""

from __future__ import annotations

import itertools
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from conformance.catalogue import profiles
from conformance.drive.around import Around
from conformance.drive.drivers.errors import ConnectionLost, Unreachable
from conformance.drive.drivers.raw import RawConnection
from conformance.drive.drivers.target import Target
from conformance.drive.guard import Guard
from conformance.drive.run import runner
from conformance.drive.run.audience import Listener
from conformance.drive.run.bench import Bench
from conformance.drive.run.plays import Play, cases, plays
from conformance.drive.run.runner import Machines, attempted, revisited, run
from conformance.drive.run.size import PARTS
from conformance.drive.stage import SceneOver, Stage
from conformance.history.recorder import Recorder
from conformance.session.door import SUITE, queue_type_of
from reference_broker import ReferenceBroker


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with ReferenceBroker() as broker:
        yield Bench(Target.parse(broker.url), profiles.load("documented"), deadline=10.0)


class Collected:
    """What pytest makes of the suite: checks with the names of their arguments and a queue type."""

    def __init__(self) -> None:
        self.checks: Counter[tuple[str, frozenset[tuple[str, str]], str]] = Counter()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            assert isinstance(item, pytest.Function)
            given = item.callspec.params.items()
            arguments = frozenset((name, str(value)) for name, value in given if name not in ("stage", "campaign"))
            self.checks[item.originalname, arguments, queue_type_of(item)] += 1


def test_there_is_a_play_for_each_item_that_pytest_collects(capsys: pytest.CaptureFixture[str]) -> None:
    collected = Collected()
    quiet = ["--collect-only", "-q", "-c", os.devnull, "--import-mode", "importlib", "-p", "no:cacheprovider"]
    assert pytest.main([*quiet, str(SUITE)], plugins=[collected]) == 0
    capsys.readouterr()
    ours = Counter(
        (play.function.__name__, frozenset((name, str(value)) for name, value in play.arguments), play.queue_type)
        for play in plays()
    )
    assert ours == collected.checks


def test_decorators_multiply_and_name_what_they_give() -> None:
    @pytest.mark.parametrize("a", [1, 2])
    @pytest.mark.parametrize(("b", "c"), [(3, 4), pytest.param(5, 6, id="x")])
    def scene(stage: Stage, a: int, b: int, c: int) -> None: ...

    made = [dict(case) for case in cases(scene)]
    assert sorted((case["a"], case["b"], case["c"]) for case in made) == [(1, 3, 4), (1, 5, 6), (2, 3, 4), (2, 5, 6)]


def raising(failure: Exception, stage: Stage) -> Callable[[], None]:
    def scene() -> None:
        channel = stage.channel()
        channel.publish(stage.queue())
        raise failure

    return scene


def declared(stage: Stage) -> list[str]:
    return [event.queue or "" for event in stage.events if event.method == "queue.declare"]


def gone(bench: Bench, queue: str) -> bool:
    with bench.staged(Stage, "looking") as stage:
        connection: RawConnection = stage.connection
        channel = stage.channel(connection=connection)
        channel.declare(queue, passive=True)
        stage.quiesce()
        return channel.state != "open"


def test_a_scene_that_cannot_go_on_ends_in_good_order(bench: Bench) -> None:
    with bench.staged(Stage, "over") as stage:
        assert run(stage, raising(SceneOver("no more"), stage)) is None
        assert "connection.close-ok" in [event.method for event in stage.events]
    (queue,) = declared(stage)
    assert gone(bench, queue)


def test_a_scene_that_failed_is_cut_off_and_leaves_nothing(bench: Bench) -> None:
    failure = ValueError("ours")
    with bench.staged(Stage, "failed") as stage:
        assert run(stage, raising(failure, stage)) is failure
        assert "connection.close" not in [event.method for event in stage.events]
    (queue,) = declared(stage)
    assert gone(bench, queue)


def test_what_ends_the_process_ends_the_scene_and_leaves_nothing(bench: Bench) -> None:
    with pytest.raises(KeyboardInterrupt), bench.staged(Stage, "interrupted") as stage:
        queue = stage.queue()
        run(stage, interrupt)
    assert gone(bench, queue)


def interrupt() -> None:
    raise KeyboardInterrupt


def test_who_hangs_up_in_one_scene_plays_the_others_once_more(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = iter([ConnectionLost("first"), None, ValueError("third"), ValueError("fourth")])
    heard: list[Play] = []

    def once_more(play: Play, bench: Bench) -> tuple[Stage, BaseException | None]:
        heard.append(play)
        with bench.staged(Stage, play.name) as stage:
            return stage, next(ended)

    listed = list(itertools.islice(runner.revisited(0, bench.profile, "classic", "ci", bench.around), 4))
    monkeypatch.setattr(runner, "revisited", lambda *_: iter(listed))
    monkeypatch.setattr(runner, "once_more", once_more)
    with pytest.raises(ValueError, match="third"):
        Machines(bench, "classic", Listener()).revisit(0)
    assert sorted(play.key for play in heard) == sorted(play.key for play in listed)
    assert [play.again for play in listed] == [0, 0, 0, 0]


def test_the_parts_share_the_scenes_that_are_played_once_more(bench: Bench) -> None:
    """Each scene is in one part, and no part has much more to do than another."""
    shares = [list(runner.revisited(part, bench.profile, "classic", "ci", bench.around)) for part in range(PARTS)]
    scenes = [play for play in plays() if not play.machine and play.queue_type == "classic" and not play.timed]
    assert {play.first for share in shares for play in share} >= {
        play.first for play in scenes if play.suits(bench.profile, "ci")
    }
    assert len({play.key for share in shares for play in share}) == sum(map(len, shares))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_the_parts_of_a_machine_share_its_time() -> None:
    assert {play.check.parts for play in plays() if play.name.startswith("revisits")} == {PARTS}
    guard = Guard(ends=time.monotonic() + 600)
    whole, part = guard.begin_check(machine=True), guard.begin_check(machine=True, parts=PARTS)
    assert part * PARTS == pytest.approx(whole, rel=0.01)
    assert guard.check_ends == pytest.approx(time.monotonic() + part, abs=1)


def test_other_kinds_are_caught_where_they_are_named() -> None:
    assert isinstance(attempted(interrupt, (KeyboardInterrupt,)), KeyboardInterrupt)
    with pytest.raises(Unreachable):
        attempted(unreachable, (ValueError,))
    assert attempted(lambda: None) is None


def unreachable() -> None:
    raise Unreachable("tcp", "nobody is there")


def test_a_bench_names_each_history_anew_unless_it_has_a_recorder(bench: Bench) -> None:
    kept = Bench(bench.target, bench.profile, recorder=Recorder("run", "broker"))
    assert [one.stage(Stage, "scene").recorder.history for one in (bench, bench, kept, kept)] == [
        "scene",
        "scene",
        "scene",
        "scene#2",
    ]


def test_scenes_of_what_a_broker_is_known_to_break_are_not_played_once_more() -> None:
    """QUEUE-015 on LavinMQ: in other forms its scene shows what follows from the fault, and no end of it."""
    for name, there in (("documented", True), ("lavinmq-2.9", False)):
        profile = profiles.load(name)
        again = [play for part in range(PARTS) for play in revisited(part, profile, "classic", "ci", Around())]
        assert any("QUEUE-015" in play.check.rules for play in again) is there
        assert any("QUEUE-001" in play.check.rules for play in again)
