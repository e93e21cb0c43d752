"""What a history of the routes machine stands on: exchanges that are there, and bindings that lead on from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from conformance.drive.machines.shape import Shape
from conformance.drive.machines.world import World
from conformance.drive.stage import Stage

KINDS = ("direct", "fanout", "topic", "headers")
NODES = 4
"""Exchanges."""
EMPTY_WORDS = "empty words"
BURIALS, FEW_BURIALS = 6, 1
"""So many messages may die in a history: on a clock that can be moved, and else."""
Words = tuple[str, ...]


@dataclass(slots=True)
class Tie:
    """A binding that stands."""

    source: int
    to: str
    onward: bool
    """To an exchange."""
    key: str
    arguments: Mapping[str, Any]


@dataclass(slots=True)
class Node:
    """An exchange."""

    name: str
    kind: str
    about: Mapping[str, Any] = field(default_factory=dict)


class Network(World):
    """One history of the machine."""

    def __init__(self, stage: Stage, shape: Shape) -> None:
        self.nodes: list[Node] = []
        self.ties: list[Tie] = []
        self.crowd: list[str] = []
        self.deaths = BURIALS if stage.around.advance is not None else FEW_BURIALS
        """So many messages may still die."""
        super().__init__(stage, shape)

    def kind(self, index: int) -> str:
        """A type of exchange that the broker has."""
        stage = self.stage
        offered = [one for one in KINDS if stage.offers(f"{one} exchange")]
        if not offered:
            stage.require(f"{KINDS[0]} exchange")
        return offered[index % len(offered)]

    def node(self, index: int) -> Node:
        """This exchange; the first time, each is declared: of all types, with the next one as alternate or without."""
        if not self.nodes:
            for number in range(NODES):
                self.nodes.append(Node(self.stage.recorder.private_name(), self.kind(number + index)))
            for node in reversed(self.nodes):
                self.declare(node)
        return self.nodes[index % NODES]

    def declare(self, node: Node) -> None:
        self.stage.belongings.exchanges[node.name] = None
        self.channels[0].declare_exchange(node.name, node.kind, arguments=node.about)
        self.stage.quiesce()

    def words(self, drawn: Words) -> Words:
        """Empty ones only in some histories, for no text speaks of them: where they are, less is claimed."""
        return drawn if EMPTY_WORDS in self.shape.lot.traits else tuple(one or "c" for one in drawn)

    def untie(self, name: str) -> None:
        """What led there, or away from there, does so no more."""
        gone = next((place for place, one in enumerate(self.nodes) if one.name == name), None)
        self.ties = [one for one in self.ties if one.to != name and one.source != gone]


def network(world: World) -> Network:
    return cast(Network, world)
