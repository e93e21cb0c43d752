"""AUTH: several vhosts and users, rights that change, users that are deleted, and what a refusal leaves as it was."""

from __future__ import annotations

import contextlib

from codec import methods as m
from conformance.drive.clerks import EVERYTHING, NOTHING, enter, patterns, user
from conformance.drive.drivers.raw import Unreachable
from conformance.drive.scenes.connections.test_auth import CLASSIC, attempt, clerk, declare, deleted, publish
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import reopen
from conformance.drive.stage import Stage


@rule("AUTH-024", queue_types=CLASSIC)
def test_rights_in_two_virtual_hosts(stage: Stage) -> None:
    """A user may read in one and write in the other. Another one may do anything in one, and nothing in the other. One
    more has rights for the topics of an exchange in the other one alone."""
    queue, login = stage.queue(), user(stage, patterns((), ["amq.direct"]))
    vhost = stage.around.vhost(stage)
    stage.around.permit(stage, login[0], {**EVERYTHING, "write": NOTHING}, vhost=vhost)
    here, away = enter(stage, login), enter(stage, login, vhost)
    attempt(stage, here, m.BasicGet(here.number, queue=queue))
    for channel in (here, away):
        publish(stage, channel, "amq.direct", "k")
    other = user(stage, EVERYTHING)
    stage.around.permit(stage, other[0], dict.fromkeys(EVERYTHING, NOTHING), vhost=vhost)
    for channel in (enter(stage, other, vhost), enter(stage, other)):
        look = m.ExchangeDeclare(channel.number, exchange="amq.direct", type="direct", passive=True, durable=True)
        attempt(stage, channel, look)
    if stage.offers("topic exchange") and stage.offers("topic permissions"):
        _topics_elsewhere(stage, vhost)


def _topics_elsewhere(stage: Stage, vhost: str) -> None:
    """It may use some keys there, and all keys here, with an exchange of the same name."""
    exchange, keys = stage.exchange(kind="topic"), {"write": r"^w\.", "read": r"^r\."}
    login = user(stage, patterns((), [exchange]))
    stage.around.permit(stage, login[0], EVERYTHING, vhost=vhost)
    enter(stage, login, vhost).declare_exchange(exchange, "topic")
    stage.around.permit(stage, login[0], EVERYTHING, vhost=vhost, topics={exchange: keys})
    for channel in (enter(stage, login, vhost), enter(stage, login)):
        publish(stage, channel, exchange, "k", "w.k")


@rule("AUTH-025", queue_types=CLASSIC)
def test_entering_a_virtual_host(stage: Stage) -> None:
    """Without permissions, with empty ones, and when they are taken away again. And a user who had some, was deleted,
    and is made anew without any."""
    login = user(stage, None)
    for may in (None, {"configure": "", "write": "", "read": ""}, None):
        stage.around.permit(stage, login[0], may)
        with contextlib.suppress(Unreachable):
            enter(stage, login)
    former = user(stage, EVERYTHING)
    enter(stage, former)
    stage.around.delete_user(stage, former[0])
    stage.around.user(stage, None, name=former[0])
    stage.around.permit(stage, former[0], None)
    with contextlib.suppress(Unreachable):
        enter(stage, former)


@rule("AUTH-026", queue_types=CLASSIC)
def test_rights_of_now(stage: Stage) -> None:
    """The right to read is taken away, and given back; each time the user connects anew."""
    queue, without = stage.queue(), {**EVERYTHING, "read": NOTHING}
    login = user(stage, EVERYTHING)
    for may in (EVERYTHING, without, {**EVERYTHING, "write": NOTHING}):
        stage.around.permit(stage, login[0], may)
        channel = enter(stage, login)
        attempt(stage, channel, m.BasicGet(channel.number, queue=queue))


@rule("AUTH-027", queue_types=CLASSIC)
def test_rights_of_another_user(stage: Stage) -> None:
    """A second user may do nothing, and loses even that; the first may publish, and does so before the second tries."""
    queue, exchange = stage.queue(), stage.exchange()
    first, second = user(stage, patterns((), [exchange], [queue])), user(stage, patterns())
    for login in (first, second):
        publish(stage, enter(stage, login), exchange, "k")
    channel = enter(stage, first)
    attempt(stage, channel, m.BasicGet(channel.number, queue=queue))
    stage.around.permit(stage, second[0], {"configure": "", "write": "", "read": ""})
    for one in (channel, enter(stage, first)):
        attempt(stage, one, m.BasicGet(one.number, queue=queue))


@rule("AUTH-028", queue_types=CLASSIC)
def test_users_are_deleted(stage: Stage) -> None:
    """A user with two connections, one of which has a consumer."""
    queue, login = stage.queue(), user(stage, EVERYTHING)
    idle, busy = enter(stage, login), enter(stage, login)
    busy.consume(queue)
    stage.quiesce()
    stage.around.delete_user(stage, login[0])
    for channel in (idle, busy):
        stage.waiter.ends(channel.connection, stage.deadline)


@rule("AUTH-029", queue_types=CLASSIC)
def test_impersonators(stage: Stage) -> None:
    """In the name of the user of the run."""
    queue = stage.queue()
    channel = enter(stage, user(stage, {**EVERYTHING, "configure": NOTHING}, tags="impersonator"))
    publish(stage, channel, "", queue, user_id=stage.target.user)


@rule("AUTH-030", queue_types=CLASSIC)
def test_refusals_change_nothing(stage: Stage) -> None:
    """A user is refused to declare a queue and to delete another; the user of the run then looks for both."""
    new, there = deleted(stage), stage.queue()
    channel, other = clerk(stage, {**EVERYTHING, "configure": NOTHING}), stage.channel()
    attempt(stage, channel, declare(stage, channel, new), m.QueueDelete(channel.number, queue=there))
    for queue in (new, there):
        other.declare(queue, passive=True)
        reopen(stage, other)
