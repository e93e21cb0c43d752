"""What a suite said beside the truth: which verdicts are wrong, and what the campaign counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reference_broker.personalities import PERSONALITIES, of
from reference_broker.personalities.kinds import Truth
from tools.pages import sections
from tools.pages import strangers as strangers_page
from tools.personalities import __main__ as personalities
from tools.personalities.truth import Run, Said, Wrong, answers_of, compare, sound, tally

TRUTH = Truth(frozenset({"ACK-001", "ACK-002"}), frozenset({"RQ-*"}), frozenset({"TMO-*", "ACK-002"}))


def run(how: Any = "judged", seconds: float = 1.0, **verdicts: str) -> Run:
    told = {name.replace("_", "-"): Said(verdict, f"saw {name}") for name, verdict in verdicts.items()}
    return Run("one", ("a", "b"), how, 1, seconds, told, "the end")


def test_what_is_broken_may_be_accused_or_not_seen_and_not_cleared() -> None:
    seen = compare(run(ACK_001="broken", ACK_002="under-tested"), TRUTH)
    assert (seen.wrong, seen.found, seen.missed, seen.judged) == ((), ("ACK-001",), ("ACK-002",), 1)
    seen = compare(run(ACK_001="held", ACK_002="held"), TRUTH)
    assert [(one.rule, one.what) for one in seen.wrong] == [("ACK-001", "held"), ("ACK-002", "held")]


def test_what_is_kept_may_not_be_accused_hidden_or_not() -> None:
    seen = compare(run(QOS_001="broken", TMO_001="deviates", QOS_002="held", TMO_002="held"), TRUTH)
    assert seen.wrong == (
        Wrong("one", "QOS-001", "accused", "saw QOS_001"),
        Wrong("one", "TMO-001", "accused", "saw TMO_001"),
    )
    assert seen.judged == 4


def test_of_what_may_be_broken_either_word_is_right_and_neither_is_counted_as_found() -> None:
    for verdict in ("broken", "held", "not-offered", "inconclusive"):
        seen = compare(run(RQ_001=verdict), TRUTH)
        assert (seen.wrong, seen.found, seen.missed) == ((), (), ())


def test_the_words_of_a_results_document_are_those_of_the_first_case() -> None:
    cases = [{"observed": "this"}, {"observed": "that"}]
    rules = [{"id": "A", "verdict": "broken", "cases": cases}, {"id": "B", "verdict": "held", "cases": []}]
    document = {"rules": rules}
    assert answers_of(document) == {"A": Said("broken", "this"), "B": Said("held", "")}


def test_the_tally_adds_up() -> None:
    runs = [run(ACK_001="held", QOS_001="broken"), run("hung", 180.04), run("aborted", 2, ACK_001="broken")]
    figures = tally(runs, [compare(one, TRUTH) for one in runs])
    counted = {
        "personalities": 3,
        "rules_judged": 3,
        "wrongly_accused": 1,
        "wrongly_held": 1,
        "found": 1,
        "hung": 1,
        "aborted": 1,
        "worst_seconds": 180.0,
    }
    assert {name: figures[name] for name in counted} == counted
    assert [one["how"] for one in figures["without_results"]] == ["hung", "aborted"]
    assert [one["rule"] for one in figures["wrong"]] == ["ACK-001", "QOS-001"]


def test_a_campaign_that_was_interrupted_carries_on(tmp_path: Path, monkeypatch: Any) -> None:
    played = []

    def play(stranger: Any, wanted: Any) -> Run:
        played.append(stranger.name)
        return Run(
            stranger.name,
            tuple(one.name for one in stranger.traits),
            "judged",
            0,
            1.0,
            {"ACK-001": Said("held", "fine")},
        )

    monkeypatch.setattr(personalities, "play", play)
    wanted, stranger = personalities.CampaignOptions(kept=tmp_path), PERSONALITIES["sieve"]
    first, again = personalities.examined(stranger, wanted), personalities.examined(stranger, wanted)
    assert first == again
    assert played == ["sieve"]
    personalities.examined(of("sieve", ["redelivered.always"]), wanted)
    assert played == ["sieve", "sieve"], "other traits under the same name are another broker"


def figures(**more: Any) -> dict[str, Any]:
    return {
        "depth": "smoke",
        "bound": 180.0,
        "named": 1,
        "drawn": 0,
        **tally([run(QOS_001="broken")], [compare(run(QOS_001="broken"), TRUTH)]),
        **more,
    }


def test_the_page_tells_the_figures_and_what_was_wrong() -> None:
    text = strangers_page.section(figures())
    assert "| rules wrongly accused | 1 (100.00%) |" in text
    assert "| one | QOS-001 | accused | saw QOS_001 |" in text
    assert strangers_page.section(None) == ""


def test_the_section_takes_the_place_of_the_one_that_was_there() -> None:
    page = f"# Head\n\nwords\n\n{sections.BEFORE}\n\n| a |\n"
    once = sections.placed(page, strangers_page.TITLE, strangers_page.section(figures()))
    twice = sections.placed(once, strangers_page.TITLE, strangers_page.section(figures(depth="ci")))
    assert once.count(strangers_page.TITLE) == twice.count(strangers_page.TITLE) == 1
    assert "depth; verdicts (held or broken) | ci, 1 |" in twice
    assert twice.index(strangers_page.TITLE) < twice.index(sections.BEFORE)
    assert sections.placed(twice, strangers_page.TITLE, "") == page


def test_what_was_measured_is_read_from_where_the_campaign_leaves_it(tmp_path: Path) -> None:
    assert personalities.FIGURES == strangers_page.FIGURES
    assert sections.measured(tmp_path / "none.json") is None
    (tmp_path / "some.json").write_text(json.dumps(figures()))
    assert sections.measured(tmp_path / "some.json") == figures()


def test_only_a_broker_that_breaks_down_may_be_given_up() -> None:
    assert personalities.how(None, True, False) == "hung"
    assert [personalities.how(code, True, False) for code in (0, 1, 2, 3, 4)] == ["judged"] * 2 + ["aborted"] * 3
    assert [personalities.how(3, results, True) for results in (True, False)] == ["judged", "judged"]


def test_the_goals_are_shares_of_what_was_judged() -> None:
    fine = {"rules_judged": 1000, "wrongly_accused": 5, "wrongly_held": 20, "hung": 0, "aborted": 0}
    assert sound(fine)
    for name, value in {"wrongly_accused": 6, "wrongly_held": 21, "hung": 1, "aborted": 1}.items():
        assert not sound({**fine, name: value}), name
