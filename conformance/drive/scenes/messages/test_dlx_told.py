"""DLX: what is told of where a dead letter came from."""

from __future__ import annotations

from codec import values
from conformance.drive.around import wait
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.messages.test_dlx import (
    ARRIVED,
    EXCHANGE,
    KEY,
    LONG,
    TURN,
    expires,
    look,
    reject,
    sent,
    to,
)
from conformance.drive.scenes.messages.test_dur import LATER, Things, offered
from conformance.drive.scenes.props import confirming
from conformance.drive.stage import Stage


@rule("DLX-007", last=True)
def test_where_it_came_from(stage: Stage) -> None:
    """With more keys, and with a time to live. And one death after the other, each behind an exchange and with a key of
    its own. And of messages that were in a classic queue when the broker was restarted."""
    grave, holder = stage.queue(), stage.channel()
    queue = stage.queue(to(grave))
    sent(stage, queue, expiration=str(LONG))
    if stage.offers("sender-selected distribution"):
        headers = {"CC": ["amqpconf.nobody"], "BCC": ["amqpconf.none"]}
        sent(stage, queue, headers=values.table(headers))
        reject(stage, holder, queue)
    reject(stage, holder, queue)
    wait(stage, TURN)
    _behind_exchanges(stage)
    look(stage, grave, gets=3)
    if stage.around.restart is not None and stage.queue_type == "classic" and offered(stage, EXCHANGE):
        _beside_a_restart(stage)


def _behind_exchanges(stage: Stage) -> None:
    """Three queues, each of which hands on to an exchange that leads to the next one."""
    queues, following = [stage.queue()], ""
    for number in range(3):
        following = stage.exchange(queues[0])
        queues.insert(0, stage.queue({EXCHANGE: following, KEY: f"death {number}"}))
    publisher, holder = confirming(stage), stage.channel()
    publisher.publish("life", exchange=stage.exchange(queues[0]))
    stage.confirmed(publisher)
    for queue in queues[:-1]:
        reject(stage, holder, queue)
        wait(stage, TURN)
    look(stage, queues[-1])


def _beside_a_restart(stage: Stage) -> None:
    """Persistent messages, some of which expire in hours. One of each kind dies before the restart, one after."""
    things = Things(stage, stage.channel(connection=stage.living()))
    grave = things.queue("grave")
    queue = things.queue("has dead letters", arguments=to(grave))
    publisher = things.channel
    publisher.confirm()
    stage.quiesce()
    kinds = [{}, {"expiration": LATER}] if expires(stage) and offered(stage, "expiration") else [{}]
    for properties in kinds * 2:
        publisher.publish(queue, persistent=True, properties=properties)
    stage.confirmed(publisher)
    for _ in kinds:
        reject(stage, publisher, queue)
    wait(stage, ARRIVED)
    stage.around.revive(stage)
    channel = stage.channel(connection=stage.living())
    for _ in kinds:
        reject(stage, channel, queue)
    wait(stage, ARRIVED)
    for _ in range(2 * len(kinds)):
        stage.get(channel, grave, no_ack=True)
