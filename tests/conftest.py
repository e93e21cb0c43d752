"""What all tests share: with xdist, `--dist loadfile` keeps a file in one process (see `tests/support/schedule.py`).

Hypothesis draws the same examples everywhere, so that a change is to blame for what fails after it, and not the day;
`pytest tests --hypothesis-profile=default` goes looking for new ones. How long an example takes tells of the machine.

Jobs that a shell runs in the background ignore interrupts, and so would all the processes that tests interrupt. And
what is said is laid out for 80 columns, however wide the terminal is.

What is there once all tests are collected stays for good, so the garbage collector need not look at it again: pytest
collects garbage five times at the end of each run, and many of our tests call such a run in this process.
"""

from __future__ import annotations

import gc
import os
import signal
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests import sampling
from tests.support.schedule import Seconds, Whole

settings.register_profile(
    "everywhere-alike",
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("everywhere-alike")

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ["COLUMNS"] = "80"


def pytest_addoption(parser: pytest.Parser) -> None:
    sampling.add_option(parser)


def pytest_report_header(config: pytest.Config) -> str | None:
    return sampling.header(config)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    sampling.keep_drawn(config, items)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("dist", "no") == "loadfile" and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Seconds(config))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Whole | None:
    return Whole(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    gc.unfreeze()
