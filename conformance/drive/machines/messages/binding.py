"""What the routes machine does to its network by one command: bindings come and go, exchanges are made anew, and
messages are aimed at a binding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from codec import values
from conformance.drive.machines.messages.network import NODES, Network, Tie, Words, network
from conformance.drive.machines.world import World

ANY_VALUE = 7
Headers = tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Bind:
    """A queue, or another exchange, is bound. The words of a key are repeated where there is no # among them: RabbitMQ
    tries all ways to share a long key among many of those, which takes it for ever."""

    channel: int
    source: int
    to: int
    onward: bool
    words: Words
    repeated: int
    headers: Headers
    form: str

    def perform(self, world: World) -> None:
        net, channel = network(world), world.channel(self.channel)
        source = net.node(self.source)
        onward = self.onward and world.stage.offers("exchange.bind")
        to = net.node(self.to).name if onward else world.queue(self.to)
        key = ".".join(net.words(self.words) * (1 if "#" in self.words else self.repeated))
        arguments = dict(self.headers) if source.kind == "headers" else {}
        if arguments and self.form and (self.form in ("all", "any") or world.stage.offers("x-match all-with-x")):
            arguments["x-match"] = self.form
        if source.kind == "headers" and not arguments:
            return  # the texts leave open what that matches
        (channel.bind_exchange if onward else channel.bind)(to, source.name, key, arguments)
        world.stage.quiesce()
        net.ties.append(Tie(self.source % NODES, to, onward, key, arguments))


@dataclass(frozen=True, slots=True)
class Unbind:
    """A binding is removed; perhaps one that was never there."""

    channel: int
    tie: int
    wrong: bool

    def perform(self, world: World) -> None:
        net, channel = network(world), world.channel(self.channel)
        if not net.ties:
            return
        tie = net.ties[self.tie % len(net.ties)]
        key = f"{tie.key}.never" if self.wrong else tie.key
        remove = channel.unbind_exchange if tie.onward else channel.unbind
        remove(tie.to, net.nodes[tie.source].name, key, tie.arguments)
        world.stage.quiesce()
        if not self.wrong:
            net.ties = [one for one in net.ties if one != tie]


@dataclass(frozen=True, slots=True)
class Renew:
    """An exchange is deleted, and there is another of its name: of this type, and perhaps with an alternate."""

    channel: int
    node: int
    kind: int
    alternate: int | None

    def perform(self, world: World) -> None:
        net, channel = network(world), world.channel(self.channel)
        node = net.node(self.node)
        channel.delete_exchange(node.name)
        world.stage.quiesce()
        net.untie(node.name)
        alternate = self.alternate is not None and world.stage.offers("alternate-exchange")
        node.kind = net.kind(self.kind)
        node.about = {"alternate-exchange": net.node(self.alternate or 0).name} if alternate else {}
        net.declare(node)


@dataclass(frozen=True, slots=True)
class Post:
    """A message for an exchange, aimed at a binding: `fill` stands for its wildcards, `twist` makes it miss."""

    channel: int
    source: int
    aim: int
    away: int
    """The publish goes to the exchange of the binding, or to another one, from which it may come there."""
    fill: Words
    twist: str
    copies: int
    """So many further keys are named in CC and BCC, the one that is aimed as the last."""

    def perform(self, world: World) -> None:
        net = network(world)
        tie = net.ties[self.aim % len(net.ties)] if net.ties else None
        at = net.node(self.source if tie is None or self.away else tie.source)
        self.at(world, at.name, tie)

    def at(self, world: World, exchange: str, tie: Tie | None) -> None:
        """To this exchange, aimed at this binding."""
        net, channel = network(world), world.channel(self.channel)
        key, headers = self.key_for(net, tie), self.headers_for(tie)
        if self.copies and world.stage.offers("sender-selected distribution"):
            more = [*(f"nobody.{number}" for number in range(self.copies - 1)), key]
            headers |= {"CC" if self.copies % 2 else "BCC": more}
            key = "nobody"
        properties = {"headers": values.table(headers)} if headers else {}
        channel.publish(key, exchange=exchange, mandatory=True, properties=properties)

    def key_for(self, net: Network, tie: Tie | None) -> str:
        words: list[str] = []
        for word in (tie.key if tie is not None else "a").split("."):
            some = self.fill if word == "#" else self.fill[:1] or ("",)
            words += net.words(some) if word in ("#", "*") else [word]
        if self.twist == "longer":
            words.append("b")
        elif self.twist == "shorter":
            words = words[:-1]
        elif self.twist == "other":
            words[-1:] = ["c"]
        return ".".join(words)

    def headers_for(self, tie: Tie | None) -> dict[str, Any]:
        found = {name: ANY_VALUE if value is None else value for name, value in (tie.arguments if tie else {}).items()}
        found.pop("x-match", None)
        last = next(reversed(found), None)
        if last is not None and self.twist == "shorter":
            del found[last]
        elif last is not None and self.twist == "other":
            found[last] = "other"
        elif last is not None and self.twist == "longer":
            found["more"] = "red"
        return found
