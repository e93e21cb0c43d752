"""What policies set for queues beside their arguments: of two numbers the smaller, of two texts the argument."""

import pytest

from codec import methods as m
from codec import values
from reference_broker.core.policies import InvalidPolicy, check
from reference_broker.core.settings import Policy


def set_policy(core, priority=0, operator=False, pattern="^q", **definition):
    named = {key.replace("_", "-"): value for key, value in definition.items()}
    core.vhost.set_policy(Policy(f"p{priority}", pattern, named, priority=priority), operator)


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


# -- beside users' policies there are operators'


@pytest.mark.parametrize(("users", "operators", "left"), [(1, 3, 1), (3, 1, 1), (None, 2, 2), (2, None, 2)])
def test_of_a_users_and_an_operators_limit_the_smaller_holds(core, client, users, operators, left):
    if users is not None:
        set_policy(core, max_length=users)
    if operators is not None:
        set_policy(core, max_length=operators, operator=True)
    client.publish(*"12345")
    assert client.depth() == left


def test_both_hold_each_for_what_it_sets_and_an_operators_overflow_comes_first(core, client):
    set_policy(core, max_length=1, overflow="drop-head")
    set_policy(core, priority=5, message_ttl=1000, overflow="reject-publish", operator=True)
    client.send(m.ConfirmSelect(1))
    assert isinstance(client.publish(*"12")[-1], m.BasicNack)
    core.move_to(1.5)
    assert client.depth() == 0
    core.vhost.clear_policy("p5", operator=True)
    client.publish(*"12")
    core.move_to(9.0)
    assert client.drain() == [("2", False)]


@pytest.mark.parametrize(("users", "operators", "both"), [(-1, 3, 3), (3, -1, 3), (5, 3, 3), (3, 5, 3)])
def test_a_limit_of_deliveries_comes_before_none(core, client, users, operators, both):
    set_policy(core, delivery_limit=users)
    set_policy(core, delivery_limit=operators, operator=True)
    assert core.vhost.settings.by_policy(core.vhost.queue("q"), "delivery-limit") == both


def test_a_policy_gives_an_exchange_an_alternate_unless_its_argument_does(core, client):
    for name in ("policy", "argument"):
        client.send(m.ExchangeDeclare(1, 0, name, "fanout"))
        client.queue(f"of-{name}")
        client.send(m.QueueBind(1, 0, f"of-{name}", name))
    client.send(m.ExchangeDeclare(1, 0, "x1", "direct"))
    set_policy(core, pattern="^x", alternate_exchange="policy")
    client.send(m.ExchangeDeclare(1, 0, "x2", "direct"))
    client.send(m.ExchangeDeclare(1, 0, "x3", "direct", arguments=values.table({"alternate-exchange": "argument"})))
    for name in ("x1", "x2", "x3"):
        client.publish("1", exchange=name, queue="nowhere")
    assert (client.depth("of-policy"), client.depth("of-argument")) == (2, 1)
    core.vhost.clear_policy("p0")
    client.publish("1", exchange="x1", queue="nowhere")
    assert client.depth("of-policy") == 2


# -- what a policy may say: measured on the management API of RabbitMQ 3.8, 3.10, 4.0 and 4.3

OLD, ALL = ("3.8", "3.10"), ("3.8", "3.10", "4.0", "4.3")
REFUSED = [
    (ALL, {"nonsense": 1}, '[{<<"nonsense">>,1}] are not recognised policy settings'),
    (
        ALL,
        {"delivery-limit": 5, "nonsense": 2, "more": 3},
        '[{<<"more">>,3},{<<"nonsense">>,2}] are not recognised policy settings',
    ),
    (ALL, {"nonsense": 1, "max-length": "x"}, '<<"x">> is not a valid maximum length'),
    (ALL, {"max-length": -1}, "-1 is not a valid maximum length"),
    (ALL, {"max-length": 1.5}, "1.5 is not a valid maximum length"),
    (ALL, {"max-length": True}, "true is not a valid maximum length"),
    (ALL, {"max-length": {"a": 1}}, '#{<<"a">> => 1} is not a valid maximum length'),
    (ALL, {"max-length": [1]}, "[1] is not a valid maximum length"),
    (ALL, {"max-length-bytes": "x"}, '<<"x">> is not a valid maximum length in bytes'),
    (ALL, {"message-ttl": None}, "null is not a valid message TTL"),
    (ALL, {"expires": 0}, "0 is not a valid queue expiry"),
    (ALL, {"dead-letter-exchange": 1}, "1 is not a valid dead letter exchange name"),
    (ALL, {"overflow": "x"}, '<<"x">> is not a valid overflow value'),
    (OLD, {"delivery-limit": -1}, "-1 is not a valid delivery limit"),
    (OLD, {"consumer-timeout": 5000}, '[{<<"consumer-timeout">>,5000}] are not recognised policy settings'),
    (("4.0", "4.3"), {"consumer-timeout": -1}, "-1 is not a valid consumer timeout"),
    (("4.0", "4.3"), {"ha-mode": "all"}, '[{<<"ha-mode">>,<<"all">>}] are not recognised policy settings'),
    (("3.8",), {"max-age": "1h"}, '[{<<"max-age">>,<<"1h">>}] are not recognised policy settings'),
    (("4.3",), {"max-age": "x"}, '<<"x">> is not a valid max age'),
    (ALL, {}, "no policy provided"),
]
OPERATORS_REFUSED = [
    (ALL, {"dead-letter-exchange": "a"}, '[{<<"dead-letter-exchange">>,<<"a">>}] are not recognised policy settings'),
    (OLD, {"overflow": "drop-head"}, '[{<<"overflow">>,<<"drop-head">>}] are not recognised policy settings'),
    (("4.0", "4.3"), {"overflow": 1}, "1 is not a valid overflow value"),
    (ALL, {"max-length": "x"}, '<<"x">> is not a valid maximum length'),
]
TAKEN = {
    "max-length": 0,
    "message-ttl": 10**15,
    "expires": 1,
    "delivery-limit": 0,
    "overflow": "reject-publish-dlx",
    "queue-mode": "lazy",
    "alternate-exchange": "a",
    "dead-letter-routing-key": "",
    "max-in-memory-length": 1,
}


@pytest.mark.parametrize(
    ("series", "operator", "definition", "why"),
    [(one, False, definition, why) for known, definition, why in REFUSED for one in known]
    + [(one, True, definition, why) for known, definition, why in OPERATORS_REFUSED for one in known],
)
def test_what_is_no_policy_is_refused_in_rabbitmqs_words(series, operator, definition, why):
    with pytest.raises(InvalidPolicy) as refused:
        check("^q", definition, series, operator)
    assert str(refused.value) == why


@pytest.mark.parametrize("series", ALL)
def test_what_is_one_is_taken(series):
    check("^q", TAKEN, series)
    check("^q", {"max-length": 5, "expires": 5, "delivery-limit": 5}, series, operator=True)
    if series in ("4.0", "4.3"):
        check("^q", {"delivery-limit": -1, "consumer-timeout": 0, "stream-filter-size-bytes": 16}, series)
