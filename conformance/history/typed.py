"""Lines of a recording as events by way of msgspec, which knows the columns with their types and is far faster.

It is only a shorter way to the same: a line that it does not take, for whatever reason, is left to the slow way, which
decides what becomes of it. What it passes over it does not look at; so lines with columns that we do not know are left
as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar, get_type_hints

import msgspec

from conformance.history.events import Event

T = TypeVar("T")
_event: Callable[[Iterable[Any]], Event] = partial(tuple.__new__, Event)


def reader(
    needed: Iterable[str],
    absent: Mapping[str, Any],
    slow: Callable[[bytes], T | None],
    *,
    lean: bool,
) -> Callable[[bytes], Event | T | None]:
    """What reads a line: to its event, or to what the slow way makes of it, None where it is broken. `absent`: the
    values of columns that are left out. `lean`: of the frames only those of publishes are kept."""
    types = {**get_type_hints(Event), "raw": str}
    known = dict.fromkeys(needed)
    shape = msgspec.defstruct(
        "Columns",
        [(name, types[name]) if name in known else (name, types[name], absent[name]) for name in Event._fields],
        kw_only=True,
        gc=False,
        forbid_unknown_fields=True,
    )
    decode, values, octets = msgspec.json.Decoder(shape).decode, msgspec.structs.astuple, bytes.fromhex

    def read(line: bytes) -> Event | T | None:
        try:
            row: Any = decode(line)
        except (msgspec.MsgspecError, ValueError):
            return slow(line)
        raw = b"" if lean and row.method != "basic.publish" else octets(row.raw)
        return _event((*values(row)[:-1], raw))

    return read
