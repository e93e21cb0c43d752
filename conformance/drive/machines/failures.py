"""One exception class per rule, so that Hypothesis tells broken rules apart.

Hypothesis recognises a failure by the type of its exception and the line that raised it. There is one such line, so
the type must carry the rule; and the type must be the same object every time, or each replay looks like a new bug.
"""

from __future__ import annotations

from functools import cache

from conformance.oracle.verdicts import Finding


class RuleBroken(Exception):
    """A history contradicts a rule."""

    finding: Finding


@cache
def failure(rule: str) -> type[RuleBroken]:
    """The exception class of this rule."""
    return type(f"Broken_{rule.replace('-', '_')}", (RuleBroken,), {})


def fail(finding: Finding) -> None:
    """Raises the failure of the finding's rule."""
    error = failure(finding.rule)(f"{finding.rule}: {finding.observed}")
    error.finding = finding
    raise error
