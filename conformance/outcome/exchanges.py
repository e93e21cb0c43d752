"""The exchange that shows a finding, cut out of its history, as steps of a case. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from conformance import evidence
from conformance.catalogue.profiles import Profile
from conformance.history.events import Event
from conformance.oracle.verdicts import Finding
from conformance.outcome.ledger import ExchangeStep

LONGEST = 250
"""Events of an exchange that cannot be cut down."""


def exchange(history: Sequence[Event], finding: Finding, profile: Profile) -> tuple[ExchangeStep, ...]:
    """The minimal exchange of a finding, as steps."""
    return steps_of(cut(history, finding, profile), profile)


def cut(
    history: Sequence[Event],
    finding: Finding,
    profile: Profile,
    budget: int = evidence.BUDGET,
) -> list[Event]:
    """The minimal exchange of a finding; of one that cannot be cut down, the end of what is of interest."""
    kept = evidence.minimal(history, finding, profile, budget)
    if len(kept) > LONGEST:
        near = [event for event in kept if evidence.interest(event) or event.seq in (finding.at, *finding.witness)]
        kept = near[-LONGEST:]
    return evidence.introduced(kept, [event for event in history if event.history == finding.history])


def steps_of(kept: Sequence[Event], profile: Profile) -> tuple[ExchangeStep, ...]:
    """Events as steps of a case."""
    return tuple(ExchangeStep(**step) for step in evidence.steps(kept, evidence.states(kept, profile)))
