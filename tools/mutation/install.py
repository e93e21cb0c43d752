"""Puts a mutation with its trigger into the broker of this process, and takes it out again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import CodeType

from tools.mutation.live import Live
from tools.mutation.sites import MUTANT, Mutation, rewritten
from tools.mutation.source import functions, loaded
from tools.mutation.triggers import Trigger


@contextmanager
def installed(mutation: Mutation, trigger: Trigger) -> Iterator[Live]:
    """Brokers of this process are wrong so, whenever the trigger holds."""
    live = Live(trigger)
    with running(mutation.module, rewritten(mutation), MUTANT, live), live.past.watching():
        yield live


@contextmanager
def running(module: str, codes: Mapping[str, CodeType], name: str, value: object) -> Iterator[None]:
    """These functions of the module run this code, which knows a thing by this name."""
    honest = {each: function for each, function in functions(module).items() if each in codes}
    before = {each: function.__code__ for each, function in honest.items()}
    setattr(loaded(module), name, value)
    try:
        for each, function in honest.items():
            function.__code__ = codes[each]
        yield
    finally:
        for each, function in honest.items():
            function.__code__ = before[each]
        delattr(loaded(module), name)
