"""The four levels of consumer timeouts, in every combination that can differ in outcome.

A level is set or not, and the order of those that are set is all that can matter: so one row for each way to order the
levels of each subset. All rows of a call are staged side by side, each on a queue of its own, and run out together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations

from conformance.around import expire
from conformance.model.timeouts import ARGUMENT, Levels
from conformance.stage import Stage

NAMES = ("consumer", "argument", "policy", "general")
TIMES = (500, 2000, 3500, 5000)
"""Milliseconds, far enough apart to tell which one fired, early or late."""


def combinations_of(names: Sequence[str] = NAMES) -> Iterator[Levels]:
    """Every subset of these levels, in every order of their values."""
    for size in range(1, len(names) + 1):
        for subset in combinations(names, size):
            for values in permutations(TIMES[:size]):
                row = dict(zip(subset, values, strict=True))
                consumer, argument, policy, general = (row.get(name) for name in NAMES)
                yield Levels(consumer, argument, policy, general)


def possible(stage: Stage, rows: Iterable[Levels]) -> list[Levels]:
    """Those that can be set at this broker."""
    adjustable = stage.around.adjustable
    return [
        row for row in rows
        if (row.policy is None or stage.around.admin is not None) and (row.general is None or adjustable)
    ]


def stage_rows(stage: Stage, rows: Iterable[Levels]) -> dict[str, Levels]:
    """Each row's consumer on a queue of its own with one message; all run out. Tells the consumers' tags."""
    offered = possible(stage, rows)
    queues = [stage.queue({} if row.argument is None else {ARGUMENT: row.argument}) for row in offered]
    publisher, channel = stage.channel(), stage.channel()
    publisher.confirm()
    for row, queue in zip(offered, queues, strict=True):
        publisher.publish(queue)
        if row.policy is not None:
            stage.around.policy(stage, queue, row.policy)
    stage.quiesce()
    general, tags = None, {}
    for row, queue in zip(offered, queues, strict=True):
        if row.general != general:
            stage.quiesce()
            stage.around.setting(stage, row.general)
            general = row.general
        arguments = {} if row.consumer is None else {ARGUMENT: row.consumer}
        tags[channel.consume(queue, arguments=arguments)] = row
    stage.quiesce()
    expire(stage)
    return tags
