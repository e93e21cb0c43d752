"""The declaration against two independent witnesses, and against octets that it must refuse."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import construct
import pamqp.commands
import pika.spec
import pytest

from codec import wire
from codec.lower import Op, lower
from codec.methods import arguments

TYPES = {
    ("number", "B"): "octet",
    ("number", "H"): "short",
    ("number", "I"): "long",
    ("number", "Q"): "longlong",
    ("bits", "B"): "bit",
    ("text", "B"): "shortstr",
    ("octets", "I"): "longstr",
    ("items", "I"): "table",
}
# Where the witnesses have the names of AMQP 0-8, or older names than the specification's
PAMQP_NAMES = {
    "ticket": "reserved_1",
    "nowait": "no_wait",
    "exchange_type": "type",
    "out_of_band": "reserved_1",
    "channel_id": "reserved_1",
    "known_hosts": "reserved_1",
    "capabilities": "reserved_1",
    "insist": "reserved_2",
    "cluster_id": "reserved_1",
}
WITH_PAMQP = [key for key in wire.METHODS if key[0] != 30]  # pamqp leaves out class access
PIKA_NAMES = PAMQP_NAMES | {"global_qos": "global_"}


def ops_of(con: Any) -> list[Op]:
    return lower(con, {})


def declared(key: tuple[int, int]) -> list[tuple[str, str]]:
    """(name, type) of each argument, bits one by one."""
    return [
        (name, TYPES[op.kind, op.fmt])
        for op in ops_of(wire.METHODS[key][1])
        for name in (op.extra if op.kind == "bits" else (op.name,))
    ]


def camel(name: str) -> str:
    return name.replace("-", " ").title().replace(" ", "")


@pytest.mark.parametrize("key", WITH_PAMQP, ids=lambda key: wire.METHODS[key][0])
def test_method_as_pamqp_has_it(key: tuple[int, int]) -> None:
    theirs = pamqp.commands.INDEX_MAPPING[key[0] << 16 | key[1]]
    assert theirs.name == camel(wire.METHODS[key][0].replace(".", ". ")).replace(" ", "")
    names = [PAMQP_NAMES.get(n, n) for n in theirs.__slots__]
    assert list(zip(names, [getattr(theirs, f"_{n}") for n in theirs.__slots__], strict=True)) == declared(key)


@pytest.mark.parametrize("key", wire.METHODS, ids=lambda key: wire.METHODS[key][0])
def test_method_as_pika_has_it(key: tuple[int, int]) -> None:
    theirs = pika.spec.methods[key[0] << 16 | key[1]]
    assert camel(wire.METHODS[key][0].replace(".", ". ")).replace(" ", "") == theirs.NAME
    names = list(inspect.signature(theirs.__init__).parameters)[1:]
    assert [PIKA_NAMES.get(n, n) for n in names] == [name for name, _ in declared(key)]


def test_no_method_is_missing_or_extra() -> None:
    indexes = {c << 16 | m for c, m in wire.METHODS}
    assert len(indexes) == 66
    assert indexes == set(pika.spec.methods)
    assert {c << 16 | m for c, m in WITH_PAMQP} == set(pamqp.commands.INDEX_MAPPING)


def test_methods_with_content_are_those_pika_knows() -> None:
    theirs = {index for index in pika.spec.methods if pika.spec.has_content(index)}
    assert theirs == {c << 16 | m for (c, m), (name, _) in wire.METHODS.items() if name in wire.CARRIES_CONTENT}


def test_properties_as_pamqp_has_them() -> None:
    theirs = pamqp.commands.Basic.Properties
    flags = {PAMQP_NAMES.get(n, n) if n != "cluster_id" else n: flag for n, flag in theirs.flags.items()}
    assert {n.replace("message_type", "type"): f for n, f in flags.items()} == wire.FLAGS
    types = [getattr(theirs, f"_{n}") for n in theirs.__slots__]
    ours = [TYPES[op.kind, op.fmt] for con in wire.PROPERTIES.values() for op in ops_of(con)]
    assert [t.replace("timestamp", "longlong") for t in types] == ours


def test_properties_as_pika_has_them() -> None:
    theirs = {
        n.removeprefix("FLAG_").lower(): value
        for n, value in vars(pika.spec.BasicProperties).items()
        if n.startswith("FLAG_")
    }
    assert theirs == wire.FLAGS


def test_bits_that_follow_each_other_share_an_octet() -> None:
    for name, con in wire.METHODS.values():
        kinds = [op.kind for op in ops_of(con)]
        assert ("bits", "bits") not in list(itertools.pairwise(kinds)), name


def test_arguments_are_named_once() -> None:
    for name, con in wire.METHODS.values():
        names = [n for n, _ in arguments(ops_of(con))]
        assert len(names) == len(set(names)), name


TABLES = {
    "an unknown letter": b"\0\0\0\3\1aZ",
    "a name that is not UTF-8": b"\0\0\0\3\1\xffV",
    "a name cut short": b"\0\0\0\2\5a",
    "an integer cut short": b"\0\0\0\5\1aI\0\0",
    "a long string over the end": b"\0\0\0\7\1aS\0\0\0\1",
    "a table over the end": b"\0\0\0\7\1aF\0\0\0\1",
    "an octet too many": b"\0\0\0\4\1aV\0",
}


@pytest.mark.parametrize("raw", TABLES.values(), ids=TABLES)
def test_a_table_with_a_fault_is_refused(raw: bytes) -> None:
    with pytest.raises(construct.ConstructError):
        wire.FieldTable.parse(raw)


def test_construct_alone_would_accept_garbage_in_tables() -> None:
    """Why `exactly` is there: without it, faults inside a table end the table instead of being refused."""
    loose = construct.Prefixed(wire.Long, construct.GreedyRange(construct.Sequence(wire.ShortStr, wire.Octet)))
    assert loose.parse(b"\0\0\0\3\1\xff\0") == []


def test_tables_nest_so_deep_and_no_deeper() -> None:
    def nested(depth: int) -> list[Any]:
        return [["", b"F", nested(depth - 1)]] if depth > 1 else []

    raw = wire.FieldTable.build(nested(wire.MAX_DEPTH))
    assert wire.FieldTable.parse(raw) == nested(wire.MAX_DEPTH)
    with pytest.raises(construct.ExplicitError):
        wire.FieldTable.build(nested(wire.MAX_DEPTH + 1))
