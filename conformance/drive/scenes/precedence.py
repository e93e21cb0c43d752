"""The four levels of consumer timeouts, in every combination that can differ in outcome.

A level is set or not, and the order of those that are set is all that can matter: so one row for each way to order the
levels of each subset. The broker's own has one value, which on a real broker is in its configuration; the others are
set below and above it. All rows of a call are staged side by side, each on a queue of its own, and run out together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations

from conformance.drive.around import Around, expire
from conformance.drive.stage import Stage
from conformance.oracle.model.consumers.clocks import ARGUMENT, Levels

NAMES = ("consumer", "argument", "policy", "general")
SHORTEST, APART = 500, 1500
"""Milliseconds, far enough apart to tell which one fired, early or late."""
GENERAL = SHORTEST + 3 * APART
"""The broker's own, with room below it for all others."""


def combinations_of(names: Sequence[str] = NAMES, general: int = GENERAL) -> Iterator[Levels]:
    """Every subset of these levels, in every order of their values, as far as there is room for them."""
    for size in range(1, len(names) + 1):
        for subset in combinations(names, size):
            for order in permutations(subset):
                least = general - APART * order.index("general") if "general" in order else SHORTEST
                row = {name: least + APART * place for place, name in enumerate(order)}
                if least > 0:
                    yield Levels(row.get("consumer"), row.get("argument"), row.get("policy"), row.get("general"))


def possible(around: Around, names: Sequence[str] = NAMES) -> list[Levels]:
    """Those that can be set at this broker. Where its own timeout is fixed, that is always set."""
    rows = combinations_of(names, around.general or GENERAL)
    if around.general is not None:
        rows = (row for row in rows if row.general is not None)
    elif not around.adjustable:
        rows = (row for row in rows if row.general is None)
    return [row for row in rows if row.policy is None or around.admin is not None]


def stage_rows(stage: Stage, rows: Iterable[Levels]) -> dict[str, Levels]:
    """Each row's consumer on a queue of its own with one message; all run out. Tells the consumers' tags."""
    rows = list(rows)
    queues = [stage.queue({} if row.argument is None else {ARGUMENT: row.argument}) for row in rows]
    publisher, channel = stage.channel(), stage.channel()
    publisher.confirm()
    for row, queue in zip(rows, queues, strict=True):
        publisher.publish(queue)
        if row.policy is not None:
            stage.around.policy(stage, queue, row.policy)
    stage.quiesce()
    general, tags = stage.around.general, {}
    for row, queue in zip(rows, queues, strict=True):
        if row.general != general:
            stage.quiesce()
            stage.around.setting(stage, row.general)
            general = row.general
        arguments = {} if row.consumer is None else {ARGUMENT: row.consumer}
        tags[channel.consume(queue, arguments=arguments)] = row
    stage.quiesce()
    expire(stage)
    return tags
