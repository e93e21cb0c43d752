"""Routes: each kind of exchange, what leads onward, and everything that makes a route uncertain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from conformance.oracle.topology import (
    MISSING,
    UNKNOWN,
    Binding,
    Exchange,
    Message,
    NamedQueue,
    Terms,
    Topology,
    TopologyChange,
)
from conformance.oracle.topology import explain as explain_route
from conformance.oracle.topology import route as find_route
from conformance.oracle.topology.explaining import (
    ALTERNATE,
    CYCLE,
    DIRECT,
    FANOUT,
    HASH,
    ONWARD,
    SPARED,
    TWICE,
    UNBOUND,
)


@dataclass
class Link:
    vhost: str = "/"
    closing: int = 0
    left: int = 0
    ended: int = 0


@dataclass(eq=False)
class Line:
    """A channel."""

    connection: Link = field(default_factory=Link)
    rolled_back: int = 0


HERE, ELSEWHERE = Line(), Line()


class World:
    """Names for a few words of test."""

    def __init__(self) -> None:
        self.topology = Topology()

    def queue(self, name: str, known: int = 1, by: Line = HERE, **more: Any) -> NamedQueue:
        found = self.topology.queues["/", name] = NamedQueue(name, TopologyChange(by, 1, known), **more)
        return found

    def exchange(self, name: str, kind: str = "fanout", known: int = 1, by: Line = HERE, **more: Any) -> Exchange:
        found = self.topology.exchanges["/", name] = Exchange(name, TopologyChange(by, 1, known), kind=kind, **more)
        return found

    def bind(
        self, source: Exchange, to: NamedQueue | Exchange, key: str = "", known: int = 1, by: Line = HERE
    ) -> Binding:
        binding = Binding(to, Terms(key, {}, {}), TopologyChange(by, 1, known))
        source.bindings.append(binding)
        return binding

    def route(self, exchange: str, key: str = "a", by: Line = HERE) -> Any:
        found = find_route(self.topology, by, exchange, Message(key, ""))
        return found if isinstance(found, str) else [one.name for one in found]

    def explain(self, exchange: str, key: str = "a") -> Any:
        return explain_route(self.topology, HERE, exchange, Message(key, ""))


@pytest.fixture
def world() -> World:
    return World()


def test_the_default_exchange_leads_to_the_queue_of_that_name(world: World) -> None:
    world.queue("a")
    assert world.route("") == ["a"]
    assert world.route("", "b") == UNKNOWN


def test_a_queue_that_is_gone_is_on_no_route(world: World) -> None:
    queue = world.queue("a")
    world.bind(world.exchange("x"), queue)
    queue.gone = TopologyChange(ELSEWHERE, 5)
    assert world.route("") == world.route("x") == UNKNOWN
    queue.gone.known = 6
    assert world.route("") == world.route("x") == []


def test_several_bindings_make_one_copy(world: World) -> None:
    queue, first, second = world.queue("q"), world.exchange("x", "topic"), world.exchange("y")
    for source, to, key in ((first, queue, "#"), (first, queue, "a"), (first, second, "*"), (second, queue, "")):
        world.bind(source, to, key)
    assert world.route("x") == ["q"]


def test_circles_end(world: World) -> None:
    first, second, queue = world.exchange("x"), world.exchange("y"), world.queue("q")
    for source, to in ((first, first), (first, second), (second, first), (second, queue)):
        world.bind(source, to)
    assert world.route("x") == world.route("y") == ["q"]


def test_an_alternate_gets_what_no_binding_matches(world: World) -> None:
    first = world.exchange("x", "direct", arguments={"alternate-exchange": "y"})
    world.bind(first, world.queue("q"), "a")
    assert world.route("x", "b") == UNKNOWN, "nobody declared the alternate"
    world.bind(world.exchange("y"), world.queue("r"))
    assert (world.route("x", "a"), world.route("x", "b")) == (["q"], ["r"])


def test_whether_an_alternate_gets_what_an_exchange_leads_nowhere_is_open(world: World) -> None:
    """By its guide RabbitMQ asks the alternate, LavinMQ does so, and RabbitMQ does not."""
    first = world.exchange("x", arguments={"alternate-exchange": "y"})
    second = world.exchange("z", "direct")
    world.bind(world.exchange("y"), world.queue("q"))
    world.bind(first, second)
    assert world.route("x", "a") == UNKNOWN
    world.bind(second, world.queue("r"), "a")
    assert (world.route("x", "a"), world.route("x", "b")) == (["r"], UNKNOWN)
    world.bind(first, world.queue("s"))
    assert world.route("x", "b") == ["s"]


def test_alternates_may_stand_in_a_circle_of_bindings(world: World) -> None:
    first = world.exchange("x", arguments={"alternate-exchange": "y"})
    second = world.exchange("y", arguments={"alternate-exchange": "x"})
    world.bind(first, second)
    world.bind(second, first)
    assert world.route("x") == UNKNOWN
    world.bind(second, world.queue("q"))
    assert world.route("x") == ["q"]


def test_without_an_alternate_what_leads_nowhere_goes_nowhere(world: World) -> None:
    world.bind(world.exchange("x"), world.exchange("z", "direct"))
    assert world.route("x", "a") == []


@pytest.mark.parametrize("what", ["exchange", "queue", "binding"])
def test_what_another_channel_asked_for_is_certain_once_it_is_answered(world: World, what: str) -> None:
    changed = {one: {"by": ELSEWHERE, "known": 0} if one == what else {} for one in ("exchange", "queue", "binding")}
    exchange, queue = world.exchange("x", **changed["exchange"]), world.queue("q", **changed["queue"])
    binding = world.bind(exchange, queue, **changed["binding"])
    assert world.route("x") == UNKNOWN
    assert world.route("x", by=ELSEWHERE) == ["q"], "its own channel is handled in order"
    for change in (exchange.made, queue.made, binding.added):
        change.known = 2
    assert world.route("x") == ["q"]


def test_an_uncertain_binding_that_cannot_match_does_not_matter(world: World) -> None:
    exchange = world.exchange("x", "direct")
    world.bind(exchange, world.queue("q"), "a")
    world.bind(exchange, world.queue("r"), "b", known=0, by=ELSEWHERE)
    assert world.route("x") == ["q"]
    assert world.route("x", "b") == UNKNOWN


@pytest.mark.parametrize(
    "doubt",
    [
        {"opaque": True},
        {"doubtful": True},
        {"kind": "x-random"},
        {"auto_delete": True, "bound": True},
    ],
)
def test_what_makes_an_exchange_uncertain(world: World, doubt: dict[str, Any]) -> None:
    world.exchange("x", **doubt)
    assert world.route("x") == UNKNOWN


def test_an_exchange_that_is_gone_is_missing(world: World) -> None:
    world.exchange("x", gone=TopologyChange(HERE, 2))
    assert world.route("x") == MISSING
    assert world.route("x", by=ELSEWHERE) == UNKNOWN


def test_predeclared_exchanges_are_there_and_may_lead_elsewhere(world: World) -> None:
    direct = world.topology.exchange("/", "amq.direct")
    assert direct is not None
    world.bind(direct, world.queue("q"), "a")
    assert (world.route("amq.direct", "a"), world.route("amq.direct", "b")) == (["q"], UNKNOWN)


def test_an_auto_delete_exchange_stays_while_it_is_bound(world: World) -> None:
    exchange = world.exchange("x", auto_delete=True, bound=True)
    binding = world.bind(exchange, world.queue("q"))
    assert world.route("x") == ["q"]
    binding.removed = TopologyChange(HERE, 3, 4)
    assert world.route("x") == UNKNOWN


def test_a_queue_that_may_go_by_itself_is_uncertain(world: World) -> None:
    world.queue("a", auto_delete=True)
    assert world.route("") == ["a"]
    world.queue("a", auto_delete=True, used=True)
    assert world.route("") == UNKNOWN
    world.queue("a", owner=Link(closing=3))
    assert world.route("") == UNKNOWN


def test_a_route_is_explained_by_its_ways_and_by_what_bars_it(world: World) -> None:
    near, far, spared, other = (world.queue(name) for name in ("near", "far", "spared", "other"))
    first = world.exchange("x", "topic", arguments={"alternate-exchange": "z"})
    second, third = world.exchange("y", "direct"), world.exchange("z")
    for source, to, key in ((first, near, "#"), (first, near, "a"), (first, second, "*"), (second, far, "a")):
        world.bind(source, to, key)
    world.bind(second, other, "b")
    world.bind(third, spared)
    world.bind(first, other, "a").removed = TopologyChange(HERE, 3, 4)
    found = world.explain("x")
    assert found.reached == {"near": [HASH, "topic", TWICE], "far": ["topic *", ONWARD, DIRECT]}
    assert found.barred == {"other": ONWARD, "spared": SPARED} or found.barred == {"other": UNBOUND, "spared": SPARED}


def test_circles_and_alternates_are_named(world: World) -> None:
    first, second = world.exchange("x"), world.exchange("y", "direct", arguments={"alternate-exchange": "x"})
    world.bind(first, world.queue("q"))
    world.bind(first, first)
    assert world.explain("x").reached == {"q": [FANOUT, CYCLE]}
    assert world.explain("y").reached == {"q": [ALTERNATE, FANOUT, CYCLE]}
    assert second.alternate == "x"


def test_an_uncertain_route_is_not_explained(world: World) -> None:
    world.exchange("x", opaque=True)
    assert world.explain("x") is None
    assert world.explain("nobody") is None
