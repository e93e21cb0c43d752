"""The settlement machine: random histories of publishing, taking and settling, judged as they happen."""

from __future__ import annotations

from conformance.drive.machines import search
from conformance.drive.machines.alphabet import COMMANDS
from conformance.drive.machines.campaign import SCHEDULERS, Broken, MachineOutcome, Scheduler
from conformance.drive.machines.shape import APART

__all__ = ["SCHEDULERS", "SETTLEMENT", "Broken", "MachineOutcome", "Scheduler"]

SETTLEMENT = search.Machine("settlement", lambda profile, queue_type: COMMANDS, apart=APART)
