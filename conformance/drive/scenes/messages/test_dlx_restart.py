"""DLX: what is told of a death, where the broker was restarted while the message was in its queue."""

from __future__ import annotations

from conformance.drive.around import wait
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.messages.test_dlx import ARRIVED, EXCHANGE, expires, reject, to
from conformance.drive.scenes.messages.test_dur import LATER, Things, offered
from conformance.drive.stage import Stage


@rule("DLX-007", queue_types=("classic",), last=True)
def test_deaths_beside_a_restart(stage: Stage) -> None:
    """Persistent messages, some of which expire in hours. One of each kind dies before the restart, one after."""
    if stage.around.restart is None or not offered(stage, EXCHANGE):
        return
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
