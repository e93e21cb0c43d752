"""What tests of machines share: a broker and a world on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance import profiles
from conformance.drivers.raw import Target
from conformance.machines.world import World
from conformance.recorder import Recorder
from conformance.stage import Stage
from reference_broker import ReferenceBroker


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with ReferenceBroker() as broker:
        yield Target.parse(broker.url)


@pytest.fixture
def world(target: Target) -> Iterator[World]:
    """Two queues, on which the test must do nothing that is not lawful."""
    stage = Stage(target, profiles.load("documented"), Recorder("run", "reference"), "machine")
    yield World(stage, queues=2)
    assert stage.finish().findings == []
    stage.cleanup()
