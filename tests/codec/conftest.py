"""The declaration as a reference: what construct itself makes of a frame, in the shape of our values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import construct
import pytest

import codec
from codec import wire
from codec.items import SHAPES
from codec.methods import BY_INDEX


def _item(item: list[Any]) -> tuple[Any, ...]:
    """[name?, letter, value] as our tuples."""
    *name, letter, value = item
    if letter in (b"F", b"A"):
        value = [_item(inner) for inner in value]
    return (*name, letter.decode(), tuple(value) if letter == b"D" else value)


def _plain(value: Any) -> Any:
    return [_item(item) for item in value] if isinstance(value, list) else value


def _fields(container: Any) -> dict[str, Any]:
    """Arguments by name, bits among them."""
    fields = {k: _plain(v) for k, v in container.items() if not k.startswith("_") and k != "bits"}
    return fields | {k: v for k, v in container.get("bits", {}).items() if not k.startswith("_")}


def by_declaration(raw: bytes) -> codec.Frame:
    """What construct parses, as our value."""
    parsed = wire.OneFrame.parse(raw)
    payload, channel = parsed.payload, parsed.channel
    match parsed.type:
        case wire.METHOD:
            return BY_INDEX[payload.index](channel, **_fields(payload.arguments))  # type: ignore[arg-type]
        case wire.HEADER:
            return codec.header(channel, payload.body_size, **{n: _plain(payload[n]) for n in wire.PROPERTIES})
        case wire.BODY:
            return codec.Body(channel, payload)
    return codec.Heartbeat(channel)


def verdicts(raw: bytes) -> tuple[bool, bool]:
    """Does the declaration accept it, does the codec?"""
    try:
        wire.OneFrame.parse(raw)
        declared = True
    except construct.ConstructError:
        declared = False
    try:
        codec.decode(raw)
    except codec.MalformedFrame:
        return declared, False
    return declared, True


@pytest.fixture(scope="session")
def declaration() -> Callable[[bytes], codec.Frame]:
    return by_declaration


@pytest.fixture(scope="session")
def verdicts_on() -> Callable[[bytes], tuple[bool, bool]]:
    return verdicts


@pytest.fixture
def fresh_shapes() -> Any:
    """No table has been seen before, and none will have been."""
    for shapes in SHAPES.values():
        shapes.forget()
    yield SHAPES
    for shapes in SHAPES.values():
        shapes.forget()
