"""Does a binding match a publish? A function for each type of exchange: yes, no, or None where the texts leave it open.

PDF 3.1.3; RabbitMQ's guide on exchanges for `all-with-x` and `any-with-x`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from conformance.oracle.topology.state import Terms

Headers = Mapping[str, Any]


class Message:
    """What exchanges look at: the routing key, more keys if its publisher named some, and the headers with the letters
    of their types, which are read only where somebody asks for them."""

    __slots__ = ("_content", "_headers", "_types", "key", "keys")

    def __init__(self, key: str, content: str, more: tuple[str, ...] = ()) -> None:
        self.key, self.keys, self._content = key, (key, *more), content
        self._headers: Headers | None = None
        self._types: Headers = {}

    @property
    def headers(self) -> Headers:
        if self._headers is None:
            found = json.loads(self._content) if '"headers"' in self._content else {"properties": {}}
            self._headers, self._types = found["properties"].get("headers") or {}, found.get("types") or {}
        return self._headers

    @property
    def types(self) -> Headers:
        return self._types if self.headers else {}


Matcher = Callable[[Terms, Message], bool | None]

WITH_X = {"all-with-x", "any-with-x"}
FORMS = {"all", "any", *WITH_X}


def match_direct(terms: Terms, message: Message) -> bool:
    """The key of the binding is the routing key."""
    return terms.key in message.keys


def match_fanout(terms: Terms, message: Message) -> bool:
    """Every publish."""
    return True


def match_topic(terms: Terms, message: Message) -> bool:
    """Words between dots; `*` is exactly one word, `#` any number of words. The empty key has no word at all."""
    pattern = _words(terms.key)
    return any(_match_words(pattern, _words(one)) for one in message.keys)


def _words(key: str) -> list[str]:
    return key.split(".") if key else []


def _match_words(pattern: list[str], words: list[str]) -> bool:
    """Row by row: which prefixes of the pattern match the words so far?"""
    reached = [True]
    for one in pattern:
        reached.append(one == "#" and reached[-1])
    for word in words:
        row = [False]
        for at, one in enumerate(pattern):
            if one == "#":
                row.append(row[-1] or reached[at] or reached[at + 1])
            else:
                row.append(reached[at] and one in ("*", word))
        for at, one in enumerate(pattern):
            row[at + 1] = row[at + 1] or (one == "#" and row[at])
        reached = row
    return reached[-1]


def match_headers(terms: Terms, message: Message) -> bool | None:
    """All of the binding's arguments are headers of the message with the same values, or any of them is. Those whose
    names begin with `x-` do not count, unless the form says so; `x-match` never does. None can be any of nothing; what
    all of nothing are, the texts leave open."""
    form = terms.arguments.get("x-match", "all")
    if form not in FORMS:
        return None
    wanted = [name for name in terms.arguments if name != "x-match" and (form in WITH_X or not name.startswith("x-"))]
    if not wanted:
        return False if form.startswith("any") else None
    hits = [_hit(terms, message, name) for name in wanted]
    whole = all if form.startswith("all") else any
    surely, possibly = whole(hit is True for hit in hits), whole(hit is not False for hit in hits)
    return surely if surely == possibly else None


def _hit(terms: Terms, message: Message, name: str) -> bool | None:
    """The same value of the same type. A value of no type only asks for presence."""
    if name not in message.headers:
        return False
    value = terms.arguments[name]
    if value is None:
        return True
    return equal(value, message.headers[name], terms.types.get(name), message.types.get(name))


DECIMAL = "D"
"""The letter of numbers that are texts here."""


def equal(value: Any, other: Any, kind: Any, other_kind: Any) -> bool | None:
    """Are they the same, of these types? Equal numbers of different types, and values that only their types tell apart,
    as a number from a timestamp, are compared differently from broker to broker. Tables and lists are the same if all
    that they hold is; but the fields of a table have an order, which brokers may compare and nobody here knows."""
    if isinstance(value, dict) and isinstance(other, dict):
        if value.keys() != other.keys():
            return False
        kinds = [one if isinstance(one, dict) else {} for one in (kind, other_kind)]
        found = [equal(value[name], other[name], *(one.get(name) for one in kinds)) for name in value]
        return _all([*found, None] if len(value) > 1 else found)
    if isinstance(value, list) and isinstance(other, list):
        if len(value) != len(other):
            return False
        lists = [one if isinstance(one, list) else [None] * len(value) for one in (kind, other_kind)]
        return _all([equal(*four) for four in zip(value, other, *lists, strict=True)])
    if kind != other_kind and DECIMAL in (kind, other_kind):
        return None if _number(value) == _number(other) is not None else False
    if value != other:
        return False
    if type(value) is not type(other):
        return None if {type(value), type(other)} <= {int, float} else False
    return None if kind and other_kind and kind != other_kind else True


def _number(value: Any) -> Decimal | None:
    """What it is worth; None: it is no number."""
    try:
        return None if isinstance(value, bool) else Decimal(str(value))
    except InvalidOperation:
        return None


def _all(found: Sequence[bool | None]) -> bool | None:
    return False if False in found else None if None in found else True


MATCHERS: Mapping[str, Matcher] = {
    "direct": match_direct,
    "fanout": match_fanout,
    "topic": match_topic,
    "headers": match_headers,
}
"""By the type of the exchange. What has no function here routes in ways that nobody here follows."""
