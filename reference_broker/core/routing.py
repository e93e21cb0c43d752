"""Exchanges and bindings: which queues a message goes to.

Each exchange type is one class with three verbs: `add` and `remove` a binding, and `matches`, the
destinations for a routing key and headers. A message reaches a queue once, however many bindings
lead there, and exchange-to-exchange bindings may form circles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from codec import values
from codec.values import FieldTable
from reference_broker.core.errors import precondition
from reference_broker.core.queues.arguments import TYPE_NAMES

if TYPE_CHECKING:
    from reference_broker.core.queues.queue import Queue

Destination: TypeAlias = "Queue | Exchange"


@dataclass(frozen=True, slots=True)
class Binding:
    """Equal when destination, key and arguments are; the arguments enter as their canonical text."""

    source: Exchange
    destination: Destination
    key: str
    arguments: str


def canonical(arguments: FieldTable) -> str:
    return repr(sorted(arguments, key=repr))


class Exchange:
    """A named exchange. Subclasses know how to match; this class keeps the bindings."""

    TYPE = ""

    def __init__(
        self,
        name: str,
        durable: bool = True,
        auto_delete: bool = False,
        internal: bool = False,
        arguments: FieldTable | None = None,
    ) -> None:
        self.name = name
        self.durable = durable
        self.auto_delete = auto_delete
        self.internal = internal
        self.arguments = arguments or []
        self.alternate = ""
        self.heed({})
        self.bindings: dict[Binding, FieldTable] = {}

    def heed(self, definition: Mapping[str, Any]) -> None:
        """From now on this is what policies set for it: an argument comes first."""
        alternate = values.lookup(self.arguments, "alternate-exchange", definition.get("alternate-exchange"))
        self.alternate = alternate if isinstance(alternate, str) else ""

    def bind(self, destination: Destination, key: str, arguments: FieldTable) -> Binding:
        binding = Binding(self, destination, key, canonical(arguments))
        if binding not in self.bindings:
            self.bindings[binding] = arguments
            self.add(binding, arguments)
        return binding

    def unbind(self, binding: Binding) -> bool:
        if self.bindings.pop(binding, None) is None:
            return False
        self.remove(binding)
        return True

    def add(self, binding: Binding, arguments: FieldTable) -> None:
        raise NotImplementedError

    def remove(self, binding: Binding) -> None:
        raise NotImplementedError

    def matches(self, key: str, headers: FieldTable) -> Iterable[Destination]:
        raise NotImplementedError


class Direct(Exchange):
    """The binding key equals the routing key."""

    TYPE = "direct"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.by_key: dict[str, dict[Binding, None]] = {}

    def add(self, binding: Binding, arguments: FieldTable) -> None:
        self.by_key.setdefault(binding.key, {})[binding] = None

    def remove(self, binding: Binding) -> None:
        bound = self.by_key[binding.key]
        del bound[binding]
        if not bound:
            del self.by_key[binding.key]

    def matches(self, key: str, headers: FieldTable) -> Iterable[Destination]:
        return [binding.destination for binding in self.by_key.get(key, ())]


class Fanout(Exchange):
    """Every binding matches."""

    TYPE = "fanout"

    def add(self, binding: Binding, arguments: FieldTable) -> None:
        pass

    def remove(self, binding: Binding) -> None:
        pass

    def matches(self, key: str, headers: FieldTable) -> Iterable[Destination]:
        return [binding.destination for binding in self.bindings]


def words_of(key: str) -> list[str]:
    """An empty key has no words at all; "a." has two, the second one empty."""
    return key.split(".") if key else []


class TopicNode:
    """One word of the topic trie."""

    __slots__ = ("bound", "children")

    def __init__(self) -> None:
        self.children: dict[str, TopicNode] = {}
        self.bound: dict[Binding, None] = {}


class Topic(Exchange):
    """Words separated by dots; `*` stands for one word, `#` for any number of words, also none."""

    TYPE = "topic"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.root = TopicNode()

    def add(self, binding: Binding, arguments: FieldTable) -> None:
        node = self.root
        for word in words_of(binding.key):
            node = node.children.setdefault(word, TopicNode())
        node.bound[binding] = None

    def remove(self, binding: Binding) -> None:
        path = [(self.root, "")]
        for word in words_of(binding.key):
            path.append((path[-1][0].children[word], word))
        del path[-1][0].bound[binding]
        while len(path) > 1 and not path[-1][0].bound and not path[-1][0].children:
            _, word = path.pop()
            del path[-1][0].children[word]

    def matches(self, key: str, headers: FieldTable) -> Iterable[Destination]:
        reached: set[tuple[int, int]] = set()
        return list(self._walk(self.root, words_of(key), 0, reached))

    def _walk(self, node: TopicNode, words: list[str], at: int, reached: set[tuple[int, int]]) -> Iterator[Destination]:
        """Every (node, word) pair is visited once, so many `#` cost a product, not a power."""
        if (id(node), at) in reached:
            return
        reached.add((id(node), at))
        if at == len(words):
            yield from (binding.destination for binding in node.bound)
        else:
            for word in (words[at], "*"):
                if child := node.children.get(word):
                    yield from self._walk(child, words, at + 1, reached)
        if any_words := node.children.get("#"):
            for rest in range(at, len(words) + 1):
                yield from self._walk(any_words, words, rest, reached)


class Headers(Exchange):
    """The message's headers equal all of the binding's arguments, or any of them (x-match)."""

    TYPE = "headers"

    def bind(self, destination: Destination, key: str, arguments: FieldTable) -> Binding:
        how = values.lookup(arguments, "x-match", "all")
        for name, letter, value in arguments:
            if name == "x-match" and letter != "S":
                kind = TYPE_NAMES[letter]
                raise precondition(f"Invalid x-match field type {kind} (value {value}); expected longstr")
        if how not in ("all", "any", "all-with-x", "any-with-x"):
            raise precondition(f'Invalid x-match field value <<"{how}">>; expected all, any, all-with-x, or any-with-x')
        return super().bind(destination, key, arguments)

    def add(self, binding: Binding, arguments: FieldTable) -> None:
        pass

    def remove(self, binding: Binding) -> None:
        pass

    def matches(self, key: str, headers: FieldTable) -> Iterable[Destination]:
        present = {name: (letter, value) for name, letter, value in headers}
        return [
            binding.destination for binding, arguments in self.bindings.items() if headers_match(arguments, present)
        ]


def headers_match(arguments: FieldTable, present: dict[str, tuple[str, Any]]) -> bool:
    how = values.lookup(arguments, "x-match", "all")
    with_x = how in ("all-with-x", "any-with-x")
    wanted = [entry for entry in arguments if entry[0] != "x-match" and (with_x or entry[0][:2] != "x-")]
    hits = (name in present and (letter == "V" or equal(present[name][1], value)) for name, letter, value in wanted)
    return any(hits) if how in ("any", "any-with-x") else all(hits)


def equal(value: Any, other: Any) -> bool:
    """Numbers are the same in however many octets they come. What is true is no number, as it is one to Python."""
    return bool(value == other and isinstance(value, bool) is isinstance(other, bool))


TYPES: dict[str, type[Exchange]] = {kind.TYPE: kind for kind in (Direct, Fanout, Topic, Headers)}
PREDECLARED: dict[str, type[Exchange]] = {
    "amq.direct": Direct,
    "amq.fanout": Fanout,
    "amq.topic": Topic,
    "amq.headers": Headers,
    "amq.match": Headers,
}
