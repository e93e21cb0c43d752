"""Field tables as they are on the wire: order, duplicates and type letters kept. Plain dicts are a view of them.

A table is a list of (name, letter, value), an array a list of (letter, value). Values by letter: 't' bool; 'S' and 'x'
bytes; 'f' and 'd' float; 'D' (scale, integer); 'T' seconds since 1970; 'V' None; 'F' a table; 'A' an array; the others
are integers of different sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from math import isfinite
from typing import Any

FieldTable = list[tuple[str, str, Any]]
FieldArray = list[tuple[str, Any]]


def typed(value: Any) -> tuple[str, Any]:
    """The letter that a plain value gets, and its form under that letter."""
    match value:
        case None:
            return "V", None
        case bool():
            return "t", value
        case int():
            return ("I" if -(2**31) <= value < 2**31 else "l"), value
        case float():
            return "d", value
        case str():
            return "S", value.encode()
        case bytes() | bytearray():
            return "x", bytes(value)
        case Decimal():
            return "D", _decimal(value)
        case datetime():
            return "T", int(value.timestamp())
        case Mapping():
            return "F", table(value)
        case Sequence():
            return "A", [typed(item) for item in value]
    raise TypeError(f"no field value for {type(value).__name__}: {value!r}")


def _decimal(value: Decimal) -> tuple[int, int]:
    """(scale, number); a scale is never negative."""
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int):
        raise TypeError(f"no field value for {value}")
    scale = max(0, -exponent)
    return scale, int(value.scaleb(scale))


def table(plain_table: Mapping[str, Any]) -> FieldTable:
    """A table from plain values."""
    return [(name, *typed(value)) for name, value in plain_table.items()]


def plain(fields: FieldTable) -> dict[str, Any]:
    """A table as a dict: the last of equal names wins, 'S' is text where it is UTF-8."""
    return {name: plain_value(letter, value) for name, letter, value in fields}


def plain_value(letter: str, value: Any) -> Any:
    """One value without its letter."""
    match letter:
        case "S":
            return _text(value)
        case "F":
            return plain(value)
        case "A":
            return [plain_value(*item) for item in value]
        case "D":
            scale, number = value
            return Decimal(number).scaleb(-scale)
    return value


def _text(octets: bytes) -> str | bytes:
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return octets


def lookup(fields: FieldTable, name: str, default: Any = None) -> Any:
    """The plain value of the first field of that name."""
    for key, letter, value in fields:
        if key == name:
            return plain_value(letter, value)
    return default


def letters(fields: FieldTable) -> dict[str, Any]:
    """The type of each field by its name: a letter; of a table the same again, of an array a list."""
    return {name: _letters(letter, value) for name, letter, value in fields}


def _letters(letter: str, value: Any) -> Any:
    if letter == "F":
        return letters(value)
    return [_letters(*item) for item in value] if letter == "A" else letter


def to_json(value: Any) -> Any:
    """An argument or property as JSON can hold it: tables as objects, octets as text or {"hex": ...}."""
    match value:
        case []:
            return {}
        case [(str(), str(), _), *_]:
            return _json(plain(value))
        case [(str(), _), *_]:
            return [_json(plain_value(*item)) for item in value]
    return _json(value)


def _json(value: Any) -> Any:
    """The same for plain values."""
    match value:
        case bytes() | bytearray():
            text = _text(bytes(value))
            return text if isinstance(text, str) else {"hex": value.hex()}
        case Decimal():
            return str(value)
        case float() if not isfinite(value):
            return str(value)
        case Mapping():
            return {name: _json(item) for name, item in value.items()}
        case list() | tuple():
            return [_json(item) for item in value]
    return value
