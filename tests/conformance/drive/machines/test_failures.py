from __future__ import annotations

import pytest

from conformance.drive.machines.failures import RuleBroken, fail, failure
from conformance.oracle.verdicts import Finding


def test_one_class_per_rule_and_always_the_same() -> None:
    assert failure("ACK-001") is failure("ACK-001")
    assert failure("ACK-001") is not failure("ACK-002")
    assert issubclass(failure("ACK-001"), RuleBroken)


def test_a_failure_carries_its_finding() -> None:
    finding = Finding("ACK-010", "h", 7, "a refusal", "no refusal")
    with pytest.raises(failure("ACK-010"), match="ACK-010: no refusal") as broken:
        fail(finding)
    assert broken.value.finding is finding
