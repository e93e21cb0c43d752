"""The playbook as a fixture (its language: `tests/support/playbook/book.py`), and the rows of tables as tests."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.catalogue.profiles import Profile
from tests.support.playbook import Playbook


@pytest.fixture
def play() -> Callable[..., Playbook]:
    """Plays a text, under a profile, and gives the playbook."""

    def _play(text: str, profile: str | Profile = "documented") -> Playbook:
        return Playbook(profile).play(text)

    return _play


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The rows of a file's tables, for the tests of tables that it imports."""
    for name in ("sound", "broken", "lawful", "traps"):
        if name in metafunc.fixturenames and metafunc.function.__module__ == "tests.support.tables":
            table = getattr(metafunc.module, name.upper())
            rows = list(table.items() if isinstance(table, dict) else table)
            metafunc.parametrize(name, rows, ids=[row[0] for row in rows])
