"""What a broker was seen to refuse wherever it comes accuses it of nothing else, whatever else is wrong with it.

How it refuses an argument is told apart, by the questions that are asked before an exam.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.catalogue import profiles

DOCUMENTED = profiles.load("documented")
MISTAKES = {
    "QUEUE-016": "1 > declare n x-max-length=-1",
    "QUEUE-005": "1 > declare q x-max-length=7",
}


@pytest.mark.parametrize(("rule", "mistake"), MISTAKES.items(), ids=MISTAKES)
def test_an_argument_that_is_refused_costs_what_its_refusal_costs(play, rule: str, mistake: str) -> None:
    """ERR-004: it is no mistake that should have cost the channel only."""
    history = f"@queue q \n @open 1 \n {mistake} \n 0 < kicked 503 50 10 unknown argument"
    argument = mistake.split()[-1].partition("=")[0]
    assert play(history, replace(DOCUMENTED, refused={argument: "503"})).broken == []
    assert play(history).broken == [rule, "ERR-004"]
