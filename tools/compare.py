"""A real broker beside the reference broker that imitates it: which rules got different verdicts, and why.

The reference broker in the dialect of a version is our reading of that version. Where the two differ, one of the
readings, or the reference broker, is wrong; or the difference has a reason that is written down here. The reasons are
data: profile, rule, the sentence that explains it. A race that is known to both, as an intermittent deviation of their
profile, is the same verdict whether a run met it or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from conformance.outcome.results import Results, RuleResult

UNCLEAR = ("planned", "not-judgeable")
"""Verdicts that say something of this suite, not of a broker."""

_RACE = (
    "Cancelling races inside RabbitMQ with a deletion, or with a consume in the same write. The reference broker does "
    "one thing after the other and imitates no races."
)
_VERSIONS = ("rabbitmq-3.8", "rabbitmq-3.10", "rabbitmq-4.0", "rabbitmq-4.3")
EXPLAINED: Mapping[tuple[str, str], str] = {
    (version, rule): _RACE for version in _VERSIONS for rule in ("CAN-005", "CAN-006", "CAN-007", "CAN-008")
}


@dataclass(frozen=True, slots=True)
class Difference:
    """Two verdicts on one rule, with what was observed where one is a contradiction, and the reason if there is one."""

    rule: str
    broker: str
    real: str
    reference: str
    observed: str
    explained: str | None


def compare(name: str, real: Results, reference: Results) -> list[Difference]:
    """The rules on which these two differ, in the order of the catalogue."""
    others = {rule.id: rule for rule in reference.rules}
    return [
        Difference(
            rule.id,
            name,
            rule.verdict,
            others[rule.id].verdict,
            _observed(rule, others[rule.id]),
            EXPLAINED.get((real.profile, rule.id)),
        )
        for rule in real.rules
        if rule.id in others and rule.verdict not in UNCLEAR and rule.verdict != others[rule.id].verdict
    ]


def _observed(*rules: RuleResult) -> str:
    return next((case.observed for rule in rules for case in rule.cases), "")
