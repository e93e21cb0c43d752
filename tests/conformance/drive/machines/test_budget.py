"""Shrinking ends: a minute after a rule was found broken its shortest history is there, however slow the broker."""

from __future__ import annotations

import time

from conformance.catalogue import profiles
from conformance.drive.drivers.target import Target
from conformance.drive.machines import search
from conformance.drive.machines.settlement import SETTLEMENT
from conformance.drive.run.bench import Bench
from reference_broker import ReferenceBroker

MINUTE = 60.0


def test_a_silence_is_shrunk_within_a_minute() -> None:
    """The slowest kind: each time that it is tried again, a deadline passes."""
    with ReferenceBroker(mutants=("settle.multiple-only-below-tag",)) as broker:
        outcome = search.run(
            SETTLEMENT,
            Bench(Target.parse(broker.url), profiles.load("documented"), deadline=1.0),
            "classic",
            "lockstep",
            8,
            20,
            1,
        )
        ended = time.time_ns()
    assert outcome.broken
    first = min(broken.first_events[-1].time_ns for broken in outcome.broken.values())
    assert (ended - first) / 1e9 < MINUTE * len(outcome.broken)
    assert all(len(broken.events) <= len(broken.first_events) for broken in outcome.broken.values())
