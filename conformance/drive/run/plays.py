"""The checks of the suite as data: every scene and machine, with each set of its arguments, on each queue type.

The suite's modules are imported as they are. What their marks say decides where a check is played and with which
arguments, as it does under pytest: there is a play for each item that pytest collects.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import pkgutil
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from types import ModuleType
from typing import Any

from conformance.catalogue import rules
from conformance.catalogue.profiles import Profile
from conformance.drive import scenes as suite
from conformance.drive.run.check import Check
from conformance.drive.stage import Stage


@dataclass(frozen=True, slots=True)
class Play:
    """A check with one set of its arguments, on one queue type."""

    name: str
    function: Callable[..., None]
    check: Check
    arguments: tuple[tuple[str, Any], ...]
    queue_type: str
    again: int | None = None
    """A scene once more (see `machines/revisits.py`): the circumstances are drawn by this number."""

    @property
    def machine(self) -> bool:
        return not self.check.rules

    @property
    def scenic(self) -> bool:
        """Does it play scenes?"""
        return not self.machine or self.name.startswith("revisits[")

    @property
    def timed(self) -> bool:
        """Is it about something that takes time, or is a restart part of it?"""
        return any(rules.get(rule).family in ("TMO", "DUR") for rule in self.check.rules)

    @property
    def key(self) -> str:
        return self.first if self.again is None else f"{self.first} once more, {self.again}"

    @property
    def first(self) -> str:
        """The key of the same, not once more."""
        return f"{self.name}-{self.queue_type}"

    def suits(self, profile: Profile, depth: str) -> bool:
        """Is it played on such a broker at this depth?"""
        offered = self.queue_type in profile.queue_types
        return self.check.within(depth) and offered and self.check.ruled_out(profile.choices) is None

    def on(self, stage: Stage) -> Callable[[], None]:
        """The scene, to be acted on this stage."""
        return partial(self.function, stage, **dict(self.arguments))


@cache
def plays() -> tuple[Play, ...]:
    """All of them, scenes and machines."""
    found = [module.name for module in pkgutil.walk_packages(suite.__path__, f"{suite.__name__}.")]
    names = sorted((name for name in found if ".test_" in name), key=lambda name: name.rpartition(".")[2])
    modules = [importlib.import_module(name) for name in names]
    return tuple(play for module in modules for play in _of(module))


def plays_for(wanted: Sequence[str], profile: Profile, depth: str) -> list[Play]:
    """The scenes of these rules, in this order, then the machines that are there for their families."""
    scenes = [play for rule in wanted for play in plays() if rule in play.check.rules]
    machines = [play for play in plays() if play.machine and _serves(play, wanted)]
    return [play for play in dict.fromkeys((*scenes, *machines)) if play.suits(profile, depth)]


def _serves(play: Play, wanted: Collection[str]) -> bool:
    return bool({rules.get(rule).family for rule in wanted} & set(play.check.for_families))


def _of(module: ModuleType) -> Iterator[Play]:
    for name, function in inspect.getmembers(module, inspect.isfunction):
        marks = [mark for mark in getattr(function, "pytestmark", ()) if mark.name == "rule"]
        if not marks:
            continue
        check = Check.of(marks[0].args, marks[0].kwargs)
        for case, queue_type in itertools.product(cases(function), check.queue_types):
            case_name = "".join(f"[{_called(value)}]" for _, value in case)
            yield Play(name.removeprefix("test_") + case_name, function, check, case, queue_type)


def _called(value: Any) -> str:
    """The same in every process."""
    return str(getattr(value, "name", None) or getattr(value, "__name__", None) or value)


def cases(function: Any) -> list[tuple[tuple[str, Any], ...]]:
    """The arguments of each case that `parametrize` makes of it."""
    marks = [mark for mark in function.pytestmark if mark.name == "parametrize"]
    each = [[_named(mark.args[0], value) for value in mark.args[1]] for mark in marks]
    return [tuple(itertools.chain.from_iterable(case)) for case in itertools.product(*each)]


def _named(names: str | Sequence[str], value: Any) -> list[tuple[str, Any]]:
    """One set of values under its names."""
    value = getattr(value, "values", value)
    listed = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    return list(zip(listed, value if len(listed) > 1 else (value,), strict=True))
