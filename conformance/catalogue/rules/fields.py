"""Reading a TOML table strictly: every key is known, every value has its type, every complaint names its place.

The catalogue, the profiles and the deviations are data that people edit by hand. A misspelt key that is silently
ignored would silently change what a broker is held to, so `Fields` hands out each value once, by type, and `done()`
refuses what nobody asked for, with the nearest known key.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any


class BadData(ValueError):
    """A data file says something that it must not; the message names file and place."""


def parse(path: Path, error: type[BadData]) -> dict[str, Any]:
    """The file's content; a syntax error becomes `error` with the file's name and the line."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise error(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise error(f"{path}: {problem}") from None


def near(word: str, known: Collection[str]) -> str:
    """A hint at what was probably meant, or nothing."""
    matches = get_close_matches(word, list(known), n=3, cutoff=0.6)
    return f" (did you mean {' or '.join(matches)}?)" if matches else ""


class Fields:
    """One table of a file, read key by key."""

    def __init__(self, content: object, place: str, error: type[BadData]) -> None:
        self.place, self.error = place, error
        if not isinstance(content, Mapping):
            raise error(f"{place}: expected a table, found {content!r}")
        self._content = content
        self._asked: set[str] = set()

    def fail(self, message: str) -> BadData:
        return self.error(f"{self.place}: {message}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def raw(self, key: str, default: object = None) -> object:
        self._asked.add(key)
        return self._content.get(key, default)

    def text(self, key: str, default: str | None = None) -> str:
        """A string that is not blank; line breaks inside it count as spaces."""
        value = self.raw(key, default)
        if value is None:
            raise self.fail(f"'{key}' is missing")
        if not isinstance(value, str):
            raise self.fail(f"'{key}' must be a string, not {value!r}")
        if not value.strip() and default is None:
            raise self.fail(f"'{key}' is empty")
        return " ".join(value.split())

    def texts(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        values = self.raw(key, default)
        if not isinstance(values, list | tuple) or not all(isinstance(one, str) and one.strip() for one in values):
            raise self.fail(f"'{key}' must be a list of strings, none of them empty")
        return tuple(" ".join(value.split()) for value in values)

    def choice(self, key: str, allowed: Collection[str], default: str | None = None) -> str:
        value = self.text(key, default)
        if value not in allowed:
            raise self.fail(f"'{key}' is {value!r}; it must be one of {', '.join(allowed)}{near(value, allowed)}")
        return value

    def choices(self, key: str, allowed: Collection[str], default: tuple[str, ...] = ()) -> tuple[str, ...]:
        values = self.texts(key, default)
        for value in values:
            if value not in allowed:
                raise self.fail(f"'{key}' names {value!r}; known are {', '.join(allowed)}{near(value, allowed)}")
        return values

    def number(self, key: str, default: float, least: float) -> float:
        value = self.raw(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or value < least:
            raise self.fail(f"'{key}' must be a number of at least {least:g}, not {value!r}")
        return value

    def flag(self, key: str, default: bool | None = None) -> bool:
        value = self.raw(key, default)
        if not isinstance(value, bool):
            raise self.fail(f"'{key}' must be true or false, not {value!r}")
        return value

    def done(self) -> None:
        """Every key of the table has been asked for."""
        for key in self._content:
            if key not in self._asked:
                raise self.fail(f"unknown key '{key}'{near(key, self._asked)}")
