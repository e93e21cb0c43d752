"""Why a run was weaker than it looks: what was not examined for want of means, and times that cannot be trusted. Pure.

None of it closes the gate. A reader must know it all the same: a level that nobody could set is a level that nobody
tested, and a clock that was set during the run makes every measured time doubtful.
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.oracle.verdicts import Verdict
from conformance.outcome.results import RuleResult
from conformance.outcome.short_timeout import ASK_FOR, NEEDED

BY_POLICY = ("TMO-003", "TMO-022")
"""Rules that ask what a policy does."""
STEP = 0.2
"""Seconds by which a clock may drift from the other in a run without anybody having set it."""
_SILENT = (Verdict.NOT_OFFERED, Verdict.PLANNED, Verdict.NOT_JUDGEABLE)
_NAMED = 8


def warnings(rules: Sequence[RuleResult], *, admin: bool, step: float, complete: bool = True) -> list[str]:
    """What a reader must know of this run. `admin`: was there a management API; `step`: see `ticket.Clocks`. Of a run
    that was not `complete` nobody asks why it examined little."""
    said = [] if admin else _without_admin(rules)
    if abs(step) > STEP:
        said.append(
            f"clock skew: the clock of this machine was set by {step:+.1f} s during the run, so times and "
            "timeouts that were measured then cannot be trusted. Run again with a steady clock"
        )
    little = [rule for rule in rules if rule.selected and rule.verdict == Verdict.UNDER_TESTED]
    timed = [rule.id for rule in little if (rule.reason or "").startswith(NEEDED)]
    if timed:
        said.append(f"{', '.join(timed)}: {NEEDED}, {ASK_FOR}")
    bare = [rule.id for rule in little if rule.level != "must" and rule.id not in timed]
    if bare and complete:
        more = f" and {len(bare) - _NAMED} more" if len(bare) > _NAMED else ""
        said.append(
            f"under-tested: {', '.join(bare[:_NAMED])}{more}, exercised too rarely to judge. "
            "A greater --depth exercises more"
        )
    return said


def _without_admin(rules: Sequence[RuleResult]) -> list[str]:
    asked = [rule.id for rule in rules if rule.selected and rule.id in BY_POLICY and rule.verdict not in _SILENT]
    if not asked:
        return []
    return [
        f"policy level untested: no management API was given, so no policy was set ({', '.join(asked)} rest on "
        "queue arguments alone). Give --broker-admin http://USER:PASSWORD@HOST:15672"
    ]
