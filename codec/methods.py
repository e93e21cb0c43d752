"""The 66 methods as classes, made from the declaration: `BasicAck(channel, delivery_tag, multiple)` and so on.

`methods.pyi` says the same to type checkers; `python -m tools.stubs` writes it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from codec import emit, items, wire
from codec.kinds import Method
from codec.lower import Op, lower

BY_NAME: dict[str, type[Method]] = {}
BY_INDEX: dict[int, type[Method]] = {}
DECODERS: dict[int, Callable[..., Method]] = {}
DEFAULTS = {"number": "0", "bits": "False", "text": "''", "octets": "b''", "items": "None"}


def class_name(name: str) -> str:
    """basic.get-ok -> BasicGetOk"""
    return "".join(part.capitalize() for part in name.replace(".", "-").split("-"))


def arguments(ops: list[Op]) -> list[tuple[str, str]]:
    """(name, kind of operation) for each argument; bits by their own names."""
    return [(name, op.kind) for op in ops for name in (op.extra if op.kind == "bits" else (op.name,))]


def method_ops(class_id: int, method_id: int) -> tuple[list[Op], list[Op]]:
    """The operations of the whole frame, and of the arguments alone."""
    ops = lower(wire.Frame, {"type": wire.METHOD, "index": class_id << 16 | method_id})
    first = 1 + next(i for i, op in enumerate(ops) if op.name == "index")
    return ops, ops[first:-1]


def _initialiser(name: str, args: list[tuple[str, str]]) -> emit.Function:
    f = emit.Function(f"init_{name}", ", ".join(["self", "channel", *(f"{n}={DEFAULTS[k]}" for n, k in args)]))
    f.add("self.channel = channel")
    for n, kind in args:
        f.add(f"self.{n} = [] if {n} is None else {n}" if kind == "items" else f"self.{n} = {n}")
    return f


def _make(class_id: int, method_id: int, name: str) -> tuple[type[Method], tuple[emit.Function, ...]]:
    ops, body = method_ops(class_id, method_id)
    args = arguments(body[:-1])
    fields = tuple(n for n, _ in args)
    cls = type(
        class_name(name),
        (Method,),
        {
            "__slots__": fields,
            "__module__": __name__,
            "__doc__": f"{name} ({class_id}, {method_id})",
            "NAME": name,
            "CLASS_ID": class_id,
            "METHOD_ID": method_id,
            "INDEX": class_id << 16 | method_id,
            "FIELDS": fields,
            "BITS": tuple(n for n, kind in args if kind == "bits"),
            "HAS_CONTENT": name in wire.CARRIES_CONTENT,
        },
    )
    plain = name.replace(".", "_").replace("-", "_")
    return cls, (
        _initialiser(plain, args),
        emit.decoder(f"decode_{plain}", cls, body, ("channel",)),
        emit.encoder(f"encode_{plain}", ops),
    )


def _build() -> None:
    made = [_make(*key, name) for key, (name, _) in wire.METHODS.items()]
    emitted = emit.define([f for _, functions in made for f in functions], "<codec methods>", items.FUNCTIONS)
    for cls, (init, decode, encode) in made:
        cls.__init__, cls.encode = emitted[init.name], emitted[encode.name]  # type: ignore[misc, method-assign]
        cls.__init__.__qualname__ = f"{cls.__name__}.__init__"
        setattr(sys.modules[__name__], cls.__name__, cls)
        BY_NAME[cls.NAME] = BY_INDEX[cls.INDEX] = cls
        DECODERS[cls.INDEX] = emitted[decode.name]


def __getattr__(name: str) -> Any:
    raise AttributeError(f"AMQP 0-9-1 has no method {name}")


_build()
