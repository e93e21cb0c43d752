"""How mutants are named is counted rightly, and scripts are played on both brokers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.outcome.ledger import Witness
from conformance.outcome.results import Fault, to_json
from reference_broker.mutants import MUTANTS
from tests.conformance.campaigns.test_likeness import CROSSED, CROSSES, NEVER_SEEN, results
from tests.conformance.outcome.test_results import FRAME, build, entry, finding, ledger
from tools.naming import __main__ as naming
from tools.naming import compared, runs, scripts
from tools.naming.compared import Named
from tools.pages import naming as naming_page

ONE, OTHER = MUTANTS[CROSSES], MUTANTS["settle.zero-is-unknown"]


def fault(rule: str, *said: str, rules: tuple[str, ...] = ()) -> Fault:
    return Fault(rule, (rule, *rules), f"{rule}-1", mutants=said)


def test_one_group_by_its_own_rule_with_its_own_sentence_is_right() -> None:
    one = compared.named(ONE, True, [fault("ACK-004", CROSSES, rules=("ACK-011",))])
    assert (one.outcome, one.right, one.false) == ("judged", True, ())
    assert compared.sentences([one]) == {CROSSES: "own"}
    assert compared.tally([one])["wrong"] == []


def test_a_group_by_a_rule_that_the_mutant_does_not_name_is_false() -> None:
    one = compared.named(ONE, True, [fault("QOS-001"), fault("ACK-004", CROSSES)])
    assert (one.right, one.false) == (False, ("QOS-001",))
    assert compared.sentences([one]) == {CROSSES: "none"}
    (told,) = compared.tally([one])["wrong"]
    assert told["groups"] == ["QOS-001", "ACK-004"]


def test_two_that_are_taken_for_each_other_are_alike() -> None:
    taken = compared.named(ONE, True, [fault("ACK-004", OTHER.name)])
    both = compared.named(OTHER, True, [fault("ACK-006", ONE.name, OTHER.name)])
    alone = compared.named(OTHER, True, [fault("ACK-006", OTHER.name)])
    assert compared.sentences([taken, both]) == {ONE.name: "like", OTHER.name: "own"}
    assert compared.sentences([taken, alone])[ONE.name] == "another"


@pytest.mark.parametrize(
    ("finished", "mutant", "outcome"),
    [
        (False, ONE, "unfinished"),
        (True, ONE, "unseen"),
        (True, MUTANTS["prefetch.size-accepted"], "otherwise"),
    ],
)
def test_where_nothing_is_named_it_is_told_why(finished: bool, mutant: object, outcome: str) -> None:
    assert compared.named(mutant, finished, []).outcome == outcome  # type: ignore[arg-type]


def test_scripts_are_played_on_the_mutant_and_on_the_honest_broker() -> None:
    witnesses = (
        Witness(finding("ACK-004", "it is gone"), story=CROSSED, reproduced="3 of 3"),
        Witness(finding("ACK-001", "it is another"), story=NEVER_SEEN, reproduced="3 of 3"),
        Witness(finding("ACK-002", "m1 is back"), untold="it takes too long"),
        Witness(finding("ACK-003", "m1 may be back", certain=False), story=CROSSED),
    )
    found = build(ledger(entry("a", witnesses=witnesses, profile="documented")), FRAME)
    seen = {one.case: (one.on_mutant, one.on_honest, one.why) for one in scripts.played(CROSSES, found)}
    assert seen == {
        "ACK-001-1": (0, 0, ""),
        "ACK-002-1": (None, None, "it takes too long"),
        "ACK-004-1": (1, 0, ""),
    }
    figures = scripts.tally([(CROSSES, scripts.played(CROSSES, found))])
    assert (figures["findings"], figures["scripts"], figures["sound"]) == (3, 2, 1)
    assert [one["case"] for one in figures["unsound"]] == ["ACK-001-1"]


def test_what_is_kept_is_judged_once_and_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    played = json.loads(to_json(results(ACK_004=CROSSED)))
    monkeypatch.setattr(runs, "_run", lambda arguments: (1, json.dumps(played)))
    monkeypatch.setattr(naming, "FIGURES", tmp_path / "figures.json")
    arguments = ["--sample", "1", "--kept", str(tmp_path)]
    (mutant,) = naming.chosen("*", 1, 0)
    assert naming.main(arguments) == 0
    monkeypatch.setattr(naming, "faults", lambda results: pytest.fail("it is kept"))
    assert naming.main(["--judge", *arguments]) == 0
    assert f"1/1 {mutant}: judged, groups ACK-004" in capsys.readouterr().out
    page = naming_page.section(json.loads((tmp_path / "figures.json").read_text()))
    assert f"| mutants tested, all mutants; depth, seed | 1, {len(MUTANTS)}; smoke, 0 |" in page
    assert f"| {mutant} | ACK-004 |" in page


def test_the_page_tells_what_is_wrong_and_what_was_not_reached() -> None:
    named = [Named("a", "unseen"), Named("b", "judged", ("ACK-001",), ("ACK-001",), (), ("ACK-001",))]
    played = [scripts.Played("ACK-001-1", "it", 1, 2), scripts.Played("ACK-001-2", "it", why="no time. Ask for: it")]
    document = {
        "depth": "ci",
        "seed": 3,
        "mutants": 2,
        "of": 2,
        "naming": compared.tally(named),
        "scripts": scripts.tally([("b", played)]),
    }
    page = naming_page.section(document)
    assert "| b | ACK-001 | ACK-001 | none |" in page
    assert "| b | ACK-001-1 | it | still broken | inconclusive |" in page
    assert "| no time. | 1 |" in page
    assert replace(named[1], false=()).right
