"""What a variation is, and the time in which variations are taken.

    @variation("confirms.each", "...", "guide: ...")
    def each(free: Free) -> None: ...

reads: the broker *may* do what the function changes in `free.parts`, because the quoted text grants it. Chance is an
argument, and so are the parameters that were drawn.

What is put off is put off by *ticks*, not by seconds: a tick is one look at a connection that has something to say. So
a variation means the same on a real, an elastic and a virtual clock (one that is about seconds is taken
where time goes by alone), and nothing is put off for ever: as long as something is, a connection is kept dirty, which
makes the shell tick on, and where no connection is left that ticks, it happens at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableSequence, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from reference_broker.core.parts import Parts

if TYPE_CHECKING:
    from reference_broker.core.broker import Broker
    from reference_broker.core.connections.connection import Connection

T = TypeVar("T")


class Chance(Protocol):
    """Where choices come from: `random.Random`, or a test."""

    def random(self) -> float: ...
    def randint(self, a: int, b: int) -> int: ...
    def choice(self, seq: Sequence[T]) -> T: ...
    def shuffle(self, x: MutableSequence[Any]) -> None: ...
    def sample(self, population: Sequence[T], k: int) -> list[T]: ...


class Later:
    """What has been put off, in the order in which it falls due."""

    def __init__(self) -> None:
        self.waiting: list[tuple[int, int, Callable[[], None]]] = []
        self.now = 0
        self.numbered = 0
        self.ticking: dict[Connection, None] = {}

    def after(self, ticks: int, call: Callable[[], None]) -> None:
        """Make this call this many ticks from now; at once where no connection ticks."""
        if not self.ticking:
            call()
            return
        self.numbered += 1
        self.waiting.append((self.now + ticks, self.numbered, call))
        self.stir()

    def tick(self) -> None:
        self.now += 1
        self.make([one for one in self.waiting if one[0] <= self.now])

    def make(self, due: list[tuple[int, int, Callable[[], None]]]) -> None:
        for one in sorted(due, key=lambda one: one[:2]):
            self.waiting.remove(one)
            one[2]()

    def stir(self) -> None:
        """Keep the shell ticking for as long as something waits."""
        if self.waiting and self.ticking:
            connection = next(iter(self.ticking))
            connection.broker.dirty[connection] = None

    def gone(self, connection: Connection) -> None:
        self.ticking.pop(connection, None)
        while self.waiting and not self.ticking:
            self.make(self.waiting[:])
        self.stir()


@dataclass
class Free:
    """What a variation works with: the parts it changes, chance, its own parameters, and what is put off."""

    parts: Parts
    chance: Chance
    later: Later
    given: Mapping[str, Any]

    def luck(self) -> bool:
        """Is the variation taken this time?"""
        taken: bool = self.chance.random() < self.given["share"]
        return taken

    def put_off(self, call: Callable[[], None]) -> None:
        self.later.after(self.chance.randint(1, self.given["ticks"]), call)


Apply = Callable[[Free], None]
SHARES = (0.1, 0.5, 1.0)
TICKS = (1, 5, 25, 120)


@dataclass(frozen=True, slots=True)
class Variation:
    """`says` completes "a broker may ..."; `granted_by` names a text, its section, and what it says there."""

    name: str
    says: str
    granted_by: str
    parameters: Mapping[str, Sequence[Any]]
    apply: Apply


ENTERED: dict[str, Variation] = {}
"""All of them, in the order in which their families are imported."""


def variation(name: str, says: str, granted_by: str, **parameters: Sequence[Any]) -> Callable[[Apply], Apply]:
    """The decorated function is the variation. Parameters are the values that may be drawn."""

    def add(apply: Apply) -> Apply:
        ENTERED[name] = Variation(name, says, granted_by, parameters, apply)
        return apply

    return add


def ticks(parts: Parts, later: Later) -> None:
    """Connections made of these parts drive what is put off."""
    honest = parts.connection

    def __init__(self: Connection, broker: Broker) -> None:
        honest.__init__(self, broker)
        later.ticking[self] = None

    def take(self: Connection) -> bytes:
        later.tick()
        data = honest.take(self)
        later.stir()
        return data

    def lost(self: Connection) -> None:
        honest.lost(self)
        later.gone(self)

    parts.override("connection", __init__=__init__, take=take, lost=lost)
