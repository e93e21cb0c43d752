"""What all tests share: with xdist, a file stays in one process, and everything that needs our Spark session as well.

A Spark session costs ten seconds and a gigabyte, so there is one for all of them. Tests that start Spark in processes
of their own go with their file, beside them. `--dist loadgroup` follows this.
"""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        group = "spark" if "spark" in getattr(item, "fixturenames", ()) else str(item.path)
        item.add_marker(pytest.mark.xdist_group(group))
