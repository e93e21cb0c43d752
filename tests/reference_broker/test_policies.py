"""What policies set for queues beside their arguments: of two numbers the smaller, of two texts the argument."""

import pytest

from codec import methods as m
from reference_broker.settings import Policy


def set_policy(core, priority=0, **definition):
    named = {key.replace("_", "-"): value for key, value in definition.items()}
    core.vhost.set_policy(Policy(f"p{priority}", "^q", named, priority=priority))


def test_a_limit_holds_at_once_and_no_longer_than_its_policy(core, client):
    client.publish(*"12345")
    set_policy(core, max_length=2)
    assert client.gets(5, no_ack=True) == ["4", "5"]
    core.vhost.clear_policy("p0")
    client.publish(*"12345")
    assert client.depth() == 5


@pytest.mark.parametrize(("argument", "policy", "left"), [(1, 3, 1), (3, 1, 1), (None, 2, 2)])
def test_the_smaller_of_two_limits_holds(core, client, argument, policy, left):
    set_policy(core, max_length=policy)
    client.queue("q2", arguments={} if argument is None else {"x-max-length": argument})
    client.publish(*"12345", queue="q2")
    assert client.depth("q2") == left


def test_dead_letters_go_where_the_policy_says_unless_an_argument_does(core, client):
    client.queue("r")
    client.queue("s")
    set_policy(core, dead_letter_exchange="", dead_letter_routing_key="r")
    client.queue("q2", arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "s"})
    for queue in ("q", "q2"):
        client.publish("1", queue=queue)
        client.send(m.BasicReject(1, client.get(queue)[0]))
    assert (client.depth("r"), client.depth("s")) == (1, 1)


def test_messages_and_queues_expire(core, client):
    set_policy(core, message_ttl=1000)
    client.publish("1")
    core.move_to(1.5)
    assert client.depth() == 0
    set_policy(core, priority=1, expires=1000)
    core.move_to(10.0)
    assert "q" not in core.vhost.queues


def test_the_highest_priority_holds_alone(core, client):
    set_policy(core, priority=1, max_length=5)
    set_policy(core, priority=2, message_ttl=1000)
    client.publish(*"1234567")
    assert client.depth() == 7


def test_a_full_queue_refuses(core, client):
    set_policy(core, max_length=1, overflow="reject-publish")
    client.send(m.ConfirmSelect(1))
    assert client.publish("1") == [m.BasicAck(1, 1)]
    assert isinstance(client.publish("2")[0], m.BasicNack)


def test_a_delivery_limit(core, client):
    client.quorum("qq")
    set_policy(core, delivery_limit=1)
    client.publish("1", queue="qq")
    for _ in range(2):
        client.send(m.BasicReject(1, client.get("qq")[0], True))
    assert client.depth("qq") == 0
