"""Files in object stores (s3://, gs://, az://): fetched whole and sent whole, by obstore.

A *place* is a path of this machine or the address of an object. A reader reads a local copy (`here`), and a writer
writes a local file first (`made`), so a reader sees an object whole or not at all. `fetched` downloads inputs once,
into a folder of this process that is deleted when it ends. Spark workers on this machine read the same copies
(`origin` says where a copy is from); workers elsewhere download their own.

Credentials come from the environment (AWS_..., GOOGLE_..., AZURE_...) or from the machine, as for every user of the
same library, deltalake among them. `carried` passes the environment on to the workers.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from conformance.evidence.words import series

Place = Path | str
"""A path, or the address of an object as text."""

COPIES = "AMQP_CONFORMANCE_OBJECTS"
_ADDRESS = re.compile(r"(s3|gs|az)://([^/]+)(?:/(.*))?", re.DOTALL)
_OURS = ("AWS_", "GOOGLE_", "AZURE_", COPIES)
_ASKED_FOR_US = ("169.254.169.254", "metadata.google.internal")
"""Machines of clouds that tell who we are, where nothing else does."""
_RETRIES: Any = {"max_retries": 3, "retry_timeout": timedelta(seconds=20)}
_CHUNK = 8 << 20
_MET: set[str] = set()
"""Addresses that this process has to do with. Without any, nothing is carried anywhere."""

T = TypeVar("T")


class Unavailable(Exception):
    """An object store that cannot be used; the message says which, and why."""


class Found(NamedTuple):
    """An object: its address, its octets, and when it was written."""

    address: str
    size: int
    modified_ns: int


def is_address(where: Place) -> bool:
    return isinstance(where, str) and _ADDRESS.fullmatch(where) is not None


def place(text: str) -> Place:
    """What a user said, as an address or a path."""
    return text.rstrip("/") if is_address(text) else Path(text)


def join(root: Place, *names: str) -> Place:
    if isinstance(root, str):
        _MET.add(root)
        return "/".join((root, *names))
    return root.joinpath(*names)


def installed(*, tables: bool = False) -> None:
    """Raises Unavailable where something is missing for addresses, and for tables there."""
    needed = ["obstore", *(["deltalake", "pyarrow"] if tables else [])]
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        raise Unavailable(f"Object stores need {series(missing)}: pip install 'amqp-conformance[objects]'")


# -- taking


@contextmanager
def here(where: Place) -> Iterator[Path]:
    """The file as one of this machine, for as long as it is needed."""
    if isinstance(where, Path) or not is_address(where):
        yield Path(where)
        return
    copy = _copy(where)
    if copy is not None and copy.exists():
        yield copy
        return
    with tempfile.TemporaryDirectory(prefix="amqp-conformance-") as folder:
        path = Path(folder) / where.rpartition("/")[2]
        _download(where, path)
        yield path


def fetched(address: str, wanted: Callable[[str, bytes], bool]) -> list[Path]:
    """Copies of the object of this address, or of all below it that are `wanted` by what follows the address in their
    names and by their first octets, until this process ends."""
    os.environ.setdefault(COPIES, _folder())
    found = listed(address)
    if not found:
        raise Unavailable(f"{address}: nothing is there")
    return [
        _fetch(one)
        for one in found
        if one.address == address or wanted(one.address.removeprefix(address), _begin(one.address))
    ]


def _begin(address: str) -> bytes:
    import obstore

    scheme, bucket, key = _parts(address)
    return bytes(_asked(address, lambda: obstore.get_range(_store(f"{scheme}://{bucket}"), key, start=0, length=16)))


def _fetch(one: Found) -> Path:
    copy = _copy(one.address)
    assert copy is not None
    if not copy.exists() or copy.stat().st_mtime_ns != one.modified_ns:
        copy.parent.mkdir(parents=True, exist_ok=True)
        aside = copy.with_name(f".{copy.name}.part")
        _download(one.address, aside)
        os.utime(aside, ns=(one.modified_ns, one.modified_ns))
        aside.replace(copy)
    return copy


@cache
def _folder() -> str:
    made = tempfile.mkdtemp(prefix="amqp-conformance-objects-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def _copy(address: str) -> Path | None:
    """Where the copy of an object is, if there is one."""
    root, (scheme, bucket, key) = os.environ.get(COPIES), _parts(address)
    return Path(root, scheme, bucket, *key.split("/")) if root else None


def origin(path: Place) -> str:
    """Where the octets of this file are really from: an address, if it is a copy."""
    root = os.environ.get(COPIES)
    if not root or not Path(path).is_relative_to(root):
        return str(path)
    scheme, bucket, *key = Path(path).relative_to(root).parts
    return f"{scheme}://{'/'.join((bucket, *key))}"


def named(text: str) -> str:
    """What somebody says of copies, with their addresses."""
    root = os.environ.get(COPIES)
    return re.sub(rf"{re.escape(root)}/(\w+)/", r"\1://", text) if root else text


def listed(address: str) -> list[Found]:
    """The object of this address, or all below it, by name."""
    import obstore

    scheme, bucket, key = _parts(address)
    store = _store(f"{scheme}://{bucket}")

    def look() -> list[Any]:
        with suppress(FileNotFoundError):
            if key:
                return [obstore.head(store, key)]
        return [one for block in obstore.list(store, f"{key}/" if key else None) for one in block]

    found = (
        Found(f"{scheme}://{bucket}/{one['path']}", one["size"], int(one["last_modified"].timestamp() * 1e9))
        for one in _asked(address, look)
    )
    return sorted(one for one in found if one.size and {"", ".", ".."}.isdisjoint(one.address.split("/")[3:]))


def _download(address: str, path: Path) -> None:
    import obstore

    scheme, bucket, key = _parts(address)

    def get() -> None:
        with path.open("wb") as file:
            for chunk in obstore.get(_store(f"{scheme}://{bucket}"), key).stream(min_chunk_size=_CHUNK):
                file.write(chunk)

    _asked(address, get)


# -- sending


@contextmanager
def made(where: Place) -> Iterator[Path]:
    """A new file of this machine to write to; what was written is there, under its name, when all went well."""
    if isinstance(where, str):
        with tempfile.TemporaryDirectory(prefix="amqp-conformance-") as folder:
            path = Path(folder) / "made"
            yield path
            put(where, path)
        return
    where.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield where
    except BaseException:
        where.unlink(missing_ok=True)
        raise


def write(where: Place, text: str) -> None:
    """A text file, whole."""
    if isinstance(where, str):
        put(where, text.encode())
        return
    where.parent.mkdir(parents=True, exist_ok=True)
    aside = where.with_name(f".{where.name}.part")
    aside.write_text(text, encoding="utf-8")
    aside.replace(where)


def put(address: str, content: Path | bytes) -> None:
    import obstore

    scheme, bucket, key = _parts(address)
    _asked(address, lambda: obstore.put(_store(f"{scheme}://{bucket}"), key, content))


def writable(address: str) -> None:
    """Raises Unavailable where nothing can be written below this address."""
    import obstore

    scheme, bucket, key = _parts(f"{address}/.amqp-conformance")
    store = _store(f"{scheme}://{bucket}")
    _asked(address, lambda: obstore.put(store, key, b""))
    _asked(address, lambda: obstore.delete(store, key))


# -- who is asked, and how


def carried(function: Callable[[Any], Iterator[T]]) -> Callable[[Any], Iterator[T]]:
    """The function, for a worker elsewhere: it finds there what our environment says of object stores."""
    said = {name: value for name, value in os.environ.items() if name.startswith(_OURS)} if _MET else {}

    def there(given: Any) -> Iterator[T]:
        os.environ.update(said)
        yield from function(given)

    return there


@cache
def _store(root: str) -> Any:
    installed()
    _MET.add(root)
    from obstore.store import from_url

    plain = any(os.environ.get(f"{name}ALLOW_HTTP", "").lower() == "true" for name in _OURS)
    client: Any = {"connect_timeout": "5s", "timeout": "300s", "allow_http": plain}
    return _asked(root, lambda: from_url(root, client_options=client, retry_config=_RETRIES))


def _parts(address: str) -> tuple[str, str, str]:
    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise Unavailable(f"{address} is no address of an object store; they begin with s3://, gs:// or az://")
    scheme, bucket, key = found.groups()
    return scheme, bucket, key or ""


def _asked(address: str, ask: Callable[[], T]) -> T:
    """What the store answers; what it objects to in a sentence."""
    from obstore.exceptions import BaseError

    try:
        return ask()
    except (BaseError, FileNotFoundError, PermissionError) as problem:
        raise Unavailable(f"{address} cannot be used: {why(problem)}") from None


def why(problem: Exception) -> str:
    """The gist of what a store answered."""
    text = " ".join(str(problem).split()).partition(" Debug source")[0]
    if any(machine in text for machine in _ASKED_FOR_US):
        return "nobody says who we are; the environment should (AWS_..., GOOGLE_... or AZURE_...)"
    code = re.search(r"<Code>(\w+)</Code>", text)
    return code[1] if code else text[:200]
