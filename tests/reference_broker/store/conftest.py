"""A broker that keeps things, and clients of it."""

from __future__ import annotations

import pytest

from tests.support.disks import FakeDisk
from tests.support.kept import Host


@pytest.fixture
def host():
    return Host(FakeDisk())
