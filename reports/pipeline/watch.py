"""How far Spark has come with a stage of the pipeline: its tasks, done and known so far.

A session in this process is asked ten times a second; a session behind Spark Connect reports by itself. The caller gets
(stage, done, known); 0 of 0 if nothing has begun.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Tell = Callable[[str, int, int], None]
_EVERY = 0.1


def remote(spark: SparkSession) -> bool:
    """Does this session speak to a Spark Connect server?"""
    return "connect" in type(spark).__module__


@contextlib.contextmanager
def watched(spark: SparkSession, stage: str, tell: Tell) -> Iterator[None]:
    """What Spark does in here counts as the progress of this stage."""
    tell(stage, 0, 0)
    with _connected(spark, stage, tell) if remote(spark) else _polled(spark, stage, tell):
        yield


@contextlib.contextmanager
def _polled(spark: SparkSession, stage: str, tell: Tell) -> Iterator[None]:
    tracker = spark.sparkContext.statusTracker()
    over = threading.Event()
    before = set(tracker.getActiveStageIds())
    seen: dict[int, tuple[int, int]] = {}

    def look() -> None:
        while not over.wait(_EVERY):
            active = [number for number in tracker.getActiveStageIds() if number not in before]
            seen.update({number: (tasks, tasks) for number, (_, tasks) in seen.items() if number not in active})
            for number in active:
                if (known := tracker.getStageInfo(number)) is not None:
                    seen[number] = known.numCompletedTasks, known.numTasks
            if seen:
                tell(stage, sum(done for done, _ in seen.values()), sum(tasks for _, tasks in seen.values()))

    looking = threading.Thread(target=look, name="progress", daemon=True)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()


@contextlib.contextmanager
def _connected(spark: SparkSession, stage: str, tell: Tell) -> Iterator[None]:
    def tell_progress(stages: Any, **_: object) -> None:
        if stages:
            tell(stage, sum(one.num_completed_tasks for one in stages), sum(one.num_tasks for one in stages))

    spark.registerProgressHandler(tell_progress)
    try:
        yield
    finally:
        spark.removeProgressHandler(tell_progress)
