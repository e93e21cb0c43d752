"""Which worker gets which tests, and when: files stay whole, what took longest is begun first, Spark is started twice.

What a file sets up for all its tests is set up once, as with `--dist loadfile`, which this takes the place of. How long
a file took is kept in pytest's cache from one run to the next; one that is not known goes by its number of tests. On a
fresh clone nothing is kept yet: there `seconds.json` says how long those took that take longest, as a run of all tests
on a fresh clone has kept it. Files with tests on Spark go to two workers: a session costs ten seconds and a gigabyte.
"""

from __future__ import annotations

import json
from collections import Counter, OrderedDict
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from xdist.scheduler import LoadScopeScheduling

KEPT = "amqp/seconds"
SESSIONS = 2
KNOWN: dict[str, float] = json.loads((Path(__file__).parent / "seconds.json").read_text("utf-8"))
EACH = 0.1
"""Seconds of a test in a file of which nothing is known."""
Unit = dict[str, bool]
"""The tests of one scope, and whether they are done."""


@cache
def scope(nodeid: str) -> str:
    """What of the tests stays together."""
    name = nodeid.partition("::")[0]
    return f"spark {crc32(name.encode()) % SESSIONS}" if on_spark(name) else name


@cache
def on_spark(name: str) -> bool:
    path = Path(name)
    return path.exists() and "mark.spark" in path.read_text("utf-8")


class LongestFirst(OrderedDict[str, Unit]):
    """Scopes that wait for a worker."""

    def __init__(self, seconds: dict[str, float]) -> None:
        super().__init__()
        self._seconds = seconds

    def popitem(self, last: bool = True) -> tuple[str, Unit]:
        longest = max(self, key=lambda name: self._seconds.get(name, EACH * len(self[name])))
        return longest, self.pop(longest)


class Whole(LoadScopeScheduling):
    """Xdist's scheduling by file, with another order."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        cache = getattr(config, "cache", None)  # None where pytest is told to keep nothing
        self.workqueue = LongestFirst({**KNOWN, **(cache.get(KEPT, {}) if cache else {})})

    def _split_scope(self, nodeid: str) -> str:
        return scope(nodeid)


class Seconds:
    """How long each scope takes in this run."""

    def __init__(self, config: pytest.Config) -> None:
        self.config, self.taken = config, Counter[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.taken[scope(report.nodeid)] += report.duration

    def pytest_sessionfinish(self) -> None:
        cache = getattr(self.config, "cache", None)
        if cache is not None:
            cache.set(KEPT, {**cache.get(KEPT, {}), **self.taken})
