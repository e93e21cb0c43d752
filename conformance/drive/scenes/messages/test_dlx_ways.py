"""DLX: the ways that a dead letter takes."""

from __future__ import annotations

import pytest

from codec import values
from conformance.drive.around import wait
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.messages.test_dlx import ARRIVED, EXCHANGE, KEY, look
from conformance.drive.scenes.props import confirming
from conformance.drive.stage import Stage


@rule("DLX-014", queue_types=("classic",))
@pytest.mark.parametrize("kind", ["fanout", "headers"])
def test_over_more_exchanges(stage: Stage, kind: str) -> None:
    """Two queues are bound to it, and a second exchange: there a key of its own matches, or else that has an alternate.
    Another exchange has nothing but an alternate. And one leads back to the queue where they have died, and beyond."""
    red = {"x-match": "all", "ink": "red"} if kind == "headers" else {}
    graves, (home, beyond) = [stage.queue() for _ in "123456"], _round(stage)
    known, last, spare = graves[0], stage.exchange(graves[1]), stage.exchange(graves[2])
    second = stage.exchange(known, kind="direct", key="known", arguments={"alternate-exchange": last})
    first, bare = stage.exchange(kind=kind), stage.exchange(kind="direct", arguments={"alternate-exchange": spare})
    for grave in graves[3:5]:
        stage.bind(grave, first, "", red)
    channel = stage.channel()
    channel.bind_exchange(second, first, "", red)
    channel.bind_exchange(second, first, "known", red)
    stage.quiesce()
    dying = [stage.queue(one) for one in ({EXCHANGE: first}, {EXCHANGE: first, KEY: "known"}, {EXCHANGE: bare})]
    publisher = confirming(stage)
    for queue in (home, *dying):
        publisher.publish(queue, 2, properties={"headers": values.table({"ink": "red"})})
        stage.confirmed(publisher)
        for tag in stage.fetch(channel, queue, 2):
            channel.reject(tag, requeue=False)
        stage.barrier(channel)
    wait(stage, ARRIVED)
    look(stage, *graves, gets=5)
    look(stage, home, beyond)


def _round(stage: Stage) -> tuple[str, str]:
    """A queue whose dead letters come to it again, and to another queue."""
    beyond = stage.queue()
    exchange = stage.exchange(beyond)
    home = stage.queue({EXCHANGE: exchange})
    stage.bind(home, exchange)
    return home, beyond
