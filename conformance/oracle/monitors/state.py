"""A Judge as bytes, and back: how a fold is put aside in the middle of a history and taken up elsewhere.

Plain data only, nothing is executed: a line that names the format, then compressed JSON. What is written is a graph.
Everything that can change is a row of its own and is pointed to by number, so what was shared is shared again and
circles close; what cannot change (numbers, texts, tuples, frozen dataclasses) stands where it is used.

    row         [kind, ...]: a container with its content, or an object with a mask of the fields that are not as a
                fresh object has them, a mask of those that point to rows, and their values, rows by number alone
    value       null, a number, a text; [n] is row n; ["t", ...] a tuple, ["f", ...] a frozenset, ["b", hex] bytes;
                ["Name", ...] an immutable object of that class, ["profile"] the profile that the Judge judges by

Classes are those that topology, model and monitors define; nobody lists them by hand. The line in front carries a
fingerprint of their names and fields, and of the profile: bytes of another version are refused, and never guessed at.
A Judge that holds anything else than plain data (a function, an open file) cannot be written, and the error names it.
Equal graphs give equal bytes.

A Judge that was compiled is of classes of its own, under the same names in another package. What their fields are is
said in the sources alone, and its bytes are those of its plain counterpart: each may go on where the other ended.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
import zlib
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from hashlib import blake2b
from operator import attrgetter
from types import ModuleType
from typing import Any, Protocol

from conformance.catalogue.profiles import Profile, QueueSemantics
from conformance.oracle import model, monitors
from conformance.oracle.monitors.judge import APART, Judge, last_name
from conformance.oracle.topology import policies, rights
from conformance.oracle.topology import state as topology
from conformance.oracle.verdicts import Judgement

FORMAT = "amqp-conformance/judge/1"
OURS = "conformance.oracle"
_LEVEL = 1
_TRANSIENT = frozenset({"facts", "views"})
"""Modules of the model of which nothing outlives an event."""
_BESIDE = tuple(cls.__module__ for cls in (Judge, Judgement, QueueSemantics))
_SCALARS = frozenset({type(None), bool, int, float, str})
_UNCHANGING = _SCALARS | {tuple, frozenset}
_CONTAINERS: tuple[type, ...] = (list, dict, OrderedDict, Counter, set, deque)
_MAPPINGS = frozenset({dict, OrderedDict, Counter})
_NO_CONTAINER = object()


class UnknownState(Exception):
    """These bytes are no state that this version can take up; the message says what to do."""


def encode(judge: Judge) -> bytes:
    """The state of a Judge between two events. Raises TypeError where it holds what is no plain data."""
    shapes = _shapes(_package(type(judge)))
    writer = _Writer(shapes, set())
    rows = writer.graph(judge)
    if writer.shared:
        rows = _Writer(shapes, writer.shared).graph(judge)
    text = json.dumps(rows, separators=(",", ":"))
    return _header(judge.profile) + zlib.compress(text.encode(), _LEVEL)


def decode(data: bytes, profile: Profile, kind: type[Judge] = Judge) -> Judge:
    """The Judge that was written, judging by this profile; `kind` is Judge as it is, or compiled. Raises
    UnknownState."""
    header, found, body = data.partition(b"\n")
    expected = _header(profile)
    if not found or header + b"\n" != expected:
        raise UnknownState(
            f"this is a state of {header[:120].decode(errors='replace')!r}, and here states are of "
            f"{expected.decode().strip()!r}: the amqp-conformance or the profile that wrote it is another one. "
            "Let that version finish, or start again from an empty checkpoint; then everything is judged anew."
        )
    try:
        judge = _graph(json.loads(zlib.decompress(body)), profile, _shapes(_package(kind)))
    except (zlib.error, ValueError, LookupError, TypeError) as problem:
        raise UnknownState(f"this state is damaged ({problem}); start again from an empty checkpoint") from None
    if not isinstance(judge, kind):
        raise UnknownState(f"this state holds a {type(judge).__name__} where a Judge should be")
    return judge


def _header(profile: Profile) -> bytes:
    return f"{FORMAT} {fingerprint()} {profile.name} {_digest(repr(profile))}\n".encode()


@cache
def fingerprint() -> str:
    """16 hex digits for the names of all classes that a state may hold, and of their fields."""
    return _digest(";".join(f"{shape.name}({','.join(shape.names)})" for shape in _shapes(OURS).values()))


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


# -- what may be written


class _Shape:
    """One class: its fields, as the sources say them, and what each is in a fresh object."""

    def __init__(self, said: type, cls: Any, kind: int) -> None:
        self.cls, self.name, self.kind = cls, said.__name__, kind
        self.names, self.fresh, self.empty = _fields_of(said)
        self.frozen = issubclass(said, tuple) or _is_frozen(said)
        got = attrgetter(*self.names)
        self.values: Callable[[Any], tuple[Any, ...]] = got if len(self.names) > 1 else lambda one: (got(one),)


Factory = Callable[[], Any]


def _fields_of(cls: type) -> tuple[list[str], list[Factory | None], list[Any]]:
    """Names; what makes the value of a fresh object, None where there is none; that value or, if it is an empty
    container, its class."""
    if not is_dataclass(cls):
        names = list(getattr(cls, "_fields", None) or cls.__dict__["__slots__"])
        return names, [None] * len(names), [_NO_CONTAINER] * len(names)
    made: list[Factory | None] = []
    empty: list[Any] = []
    for field in fields(cls):
        if field.default_factory is not MISSING:
            fresh = field.default_factory()
            made.append(field.default_factory)
            empty.append(type(fresh) if type(fresh) in _CONTAINERS and not fresh else _NO_CONTAINER)
        elif field.default is not MISSING:
            made.append(_always(field.default))
            empty.append(field.default)
        else:
            made.append(None)
            empty.append(_NO_CONTAINER)
    return [field.name for field in fields(cls)], made, empty


def _always(value: Any) -> Factory:
    return lambda: value


def _is_frozen(cls: type) -> bool:
    return is_dataclass(cls) and cls.__dataclass_params__.frozen  # type: ignore[attr-defined]


@cache
def _shapes(package: str) -> dict[type, _Shape]:
    """Every class that a state of a Judge from there may hold."""
    tables = [one.__name__ for one in (topology, rights, policies)]
    names = [*tables, *_modules(model, _TRANSIENT), *_modules(monitors, APART), *_BESIDE]
    found = [
        cls
        for module in map(importlib.import_module, names)
        for cls in vars(module).values()
        if isinstance(cls, type) and cls.__module__ == module.__name__ and _plain(cls)
    ]
    shapes = [_Shape(said, _counterpart(said, package), kind) for kind, said in enumerate(found, len(_CONTAINERS))]
    return {shape.cls: shape for shape in shapes}


def _modules(package: ModuleType, apart: Collection[str]) -> list[str]:
    found = [module.name for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    return sorted((name for name in found if last_name(name) not in apart), key=last_name)


def _package(kind: type[Judge]) -> str:
    return kind.__module__.rsplit(".", 2)[0]


def _counterpart(said: type, package: str) -> type:
    """The class of that name in this package; what is not there, it has in common with ours."""
    module = sys.modules.get(f"{package}{said.__module__.removeprefix(OURS)}")
    found: type = getattr(module, said.__name__, said)
    return found


def _plain(cls: type) -> bool:
    if cls is Profile or Protocol in cls.__bases__:
        return False
    return is_dataclass(cls) or "_fields" in cls.__dict__ or "__slots__" in cls.__dict__


# -- writing


class _Writer:
    """One graph being written. `apart`: ids of empty containers that get a row because they have two holders;
    `shared`: those that should have got one."""

    def __init__(self, shapes: dict[type, _Shape], apart: set[int]) -> None:
        self.shared: set[int] = set()
        self._apart = apart
        self._objects: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._skipped: set[int] = set()
        self._kinds = {cls: kind for kind, cls in enumerate(_CONTAINERS)}
        self._shapes = shapes
        self._changes = {*_CONTAINERS, *(cls for cls, shape in shapes.items() if not shape.frozen)}.__contains__

    def graph(self, root: Judge) -> list[Any]:
        self._value(root)
        rows: list[Any] = []
        for one in self._objects:  # grows meanwhile
            rows.append(self._row(one))
        return rows

    def _value(self, value: Any) -> Any:
        cls = type(value)
        if cls in _SCALARS:
            return value
        if self._changes(cls):
            return [self._number(value)]
        shape = self._shapes.get(cls)
        if shape is not None:
            return [shape.name, *map(self._value, shape.values(value))]
        if cls is tuple:
            return ["t", *map(self._value, value)]
        if cls is frozenset:
            return ["f", *self._sorted(value)]
        if cls is bytes:
            return ["b", value.hex()]
        if cls is Profile:
            return ["profile"]
        raise TypeError(f"a Judge must be plain data between two events, and holds a {cls.__qualname__}: {value!r}")

    def _number(self, value: Any) -> int:
        key = id(value)
        number = self._numbers.get(key)
        if number is None:
            if key in self._skipped:
                self.shared.add(key)
            number = self._numbers[key] = len(self._objects)
            self._objects.append(value)
        return number

    def _row(self, one: Any) -> list[Any]:
        kind, value = self._kinds.get(type(one)), self._value
        if kind is None:
            return self._object(one, self._shapes[type(one)])
        if type(one) in _MAPPINGS:
            return [kind, *(value(part) for item in one.items() for part in item)]
        if type(one) is set:
            return [kind, *self._sorted(one)]
        if type(one) is deque:
            return [kind, one.maxlen, *map(value, one)]
        return [kind, *map(value, one)]

    def _object(self, one: Any, shape: _Shape) -> list[Any]:
        mask, pointing, bit = 0, 0, 1
        row: list[Any] = [shape.kind, 0, 0]
        for value, fresh in zip(shape.values(one), shape.empty, strict=True):
            if value is not fresh:
                cls = type(value)
                if cls in _UNCHANGING:
                    if value != fresh or cls is not type(fresh):
                        mask |= bit
                        row.append(self._value(value))
                elif cls is not fresh or value or not self._skips(value):
                    mask |= bit
                    if self._changes(cls):
                        pointing |= bit
                        row.append(self._number(value))
                    else:
                        row.append(self._value(value))
            bit += bit
        row[1], row[2] = mask, pointing
        return row

    def _skips(self, empty: Any) -> bool:
        """This empty container need not be written, as a fresh object has one; unless somebody else holds it too."""
        key = id(empty)
        if key in self._apart:
            return False
        if key in self._skipped or key in self._numbers:
            self.shared.add(key)
        self._skipped.add(key)
        return True

    def _sorted(self, members: Iterable[Any]) -> list[Any]:
        return sorted(map(self._value, members), key=repr)


# -- reading


def _graph(rows: list[list[Any]], profile: Profile, shapes: dict[type, _Shape]) -> Any:
    """All objects are made first and filled afterwards, so that rows may point to each other in any way."""
    by_kind = {shape.kind: shape for shape in shapes.values()}
    by_name = {shape.name: shape.cls for shape in shapes.values()}
    objects = [_made(row, by_kind) for row in rows]

    def read(value: Any) -> Any:
        if type(value) is not list:
            return value
        head, *rest = value
        if type(head) is int:
            return objects[head]
        if head == "t":
            return tuple(map(read, rest))
        if head == "f":
            return frozenset(map(read, rest))
        if head == "b":
            return bytes.fromhex(rest[0])
        return profile if head == "profile" else by_name[head](*map(read, rest))

    for one, row in zip(objects, rows, strict=True):
        shape = by_kind.get(row[0])
        if shape is not None:
            _fill_object(one, shape, row, read, objects)
        else:
            _fill(one, row, read)
    return objects[0]


def _made(row: list[Any], by_kind: dict[int, _Shape]) -> Any:
    shape = by_kind.get(row[0])
    if shape is not None:
        return shape.cls.__new__(shape.cls)
    cls = _CONTAINERS[row[0]]
    return deque(maxlen=row[1]) if cls is deque else cls()


def _fill(container: Any, row: list[Any], read: Callable[[Any], Any]) -> None:
    if isinstance(container, dict):
        values = map(read, row[1:])
        for key, value in zip(values, values, strict=True):
            container[key] = value
    elif isinstance(container, set):
        container.update(map(read, row[1:]))
    else:
        container.extend(map(read, row[2:] if isinstance(container, deque) else row[1:]))


def _fill_object(one: Any, shape: _Shape, row: list[Any], read: Callable[[Any], Any], objects: list[Any]) -> None:
    mask, pointing, values = row[1], row[2], iter(row[3:])
    for name, fresh in zip(shape.names, shape.fresh, strict=True):
        if not mask & 1 and fresh is not None:
            setattr(one, name, fresh())
        elif pointing & 1:
            setattr(one, name, objects[next(values)])
        else:
            value = next(values)
            setattr(one, name, value if type(value) is not list else read(value))
        mask >>= 1
        pointing >>= 1
