"""What tests of machines share: a broker and a world on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.catalogue import profiles
from conformance.drive.drivers.raw import Target
from conformance.drive.machines.shape import Shape
from conformance.drive.machines.world import World
from conformance.drive.stage import Stage
from conformance.history.recorder import Recorder
from reference_broker import ReferenceBroker


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with ReferenceBroker() as broker:
        yield Target.parse(broker.url)


@pytest.fixture
def world(target: Target) -> Iterator[World]:
    """Two queues, on which the test must do nothing that is not lawful."""
    yield from played(target, Shape(queues=2))


@pytest.fixture
def wide(target: Target) -> Iterator[World]:
    """Likewise, ten times as wide, and each channel on a connection of its own."""
    yield from played(target, Shape(wide=10, apart=True))


def played(target: Target, shape: Shape) -> Iterator[World]:
    stage = Stage(target, profiles.load("documented"), Recorder("run", "reference"), "machine")
    yield World(stage, shape)
    assert stage.finish().findings == []
    stage.cleanup()
