"""The campaign counts what it should: named rules, four seeds of five, green controls; and it carries on."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.campaigns import detection
from conformance.campaigns.detection import ControlSample, DetectionCampaign, DetectionTask, tasks, vacuous
from conformance.campaigns.hunt import control, embedded, held_to, hunt
from conformance.campaigns.journal import Journal
from conformance.catalogue import profiles, rules
from conformance.cli import main
from conformance.cli.mutants import chosen, sound, words
from conformance.drive.run.plays import plays, plays_for
from conformance.drive.run.runner import observe
from conformance.drive.scenes.test_machines import SCHEDULERS
from conformance.session.exits import Refused
from reference_broker.mutants import MUTANTS
from tools import trust
from tools.pages import trust as trust_page
from tools.pages.field_bugs import elsewhere
from tools.pages.sections import found
from tools.pages.trust import PAGE, SECTIONS, TITLE, renewed, with_row

ZERO = "tags.start-at-zero"


def test_every_rule_that_binds_is_broken_by_a_mutant() -> None:
    named = {rule for mutant in MUTANTS.values() for rule in mutant.rules}
    binding = [rule.id for rule in rules.CATALOGUE.values() if rule.judged and rule.level in ("must", "should")]
    missing = [rule for rule in binding if rule not in named]
    assert not missing, f"add a mutant in reference_broker/mutants/ that names the rule (docs/add-a-rule.md): {missing}"
    unjudged = [rule for rule in sorted(named) if rule not in rules.CATALOGUE or not rules.get(rule).judged]
    assert not unjudged, f"mutants name what is no judged rule: {unjudged}"


def test_every_mutant_can_be_told_from_the_honest_broker_in_its_dialect() -> None:
    for mutant in MUTANTS.values():
        assert plays_for(mutant.rules, profiles.load(held_to(mutant.rules)), "ci"), mutant.name


def test_the_scenes_of_the_named_rules_are_played_before_the_machines_of_their_families() -> None:
    order = plays_for(("ACK-001", "CNF-009"), profiles.load("documented"), "ci")
    machines = [play.machine for play in order]
    assert machines == sorted(machines)
    assert order[0].check.rules == ("ACK-001",)
    served = {play.name.partition("[")[0] for play in order if play.machine}
    assert served == {"settlement", "confirms", "revisits", "soak_deliveries", "soak_publishing"}


def test_no_two_plays_share_a_key_and_keys_are_the_same_in_every_process() -> None:
    keys = [play.key for play in plays()]
    assert len(set(keys)) == len(keys)
    assert not any(" at 0x" in key for key in keys)
    assert {f"settlement[{scheduler}]-classic" for scheduler in SCHEDULERS} <= set(keys)


def test_only_a_named_rule_counts() -> None:
    with embedded("documented", 0, "smoke", (ZERO,)) as bench:
        caught, missed = hunt(("TAG-001",), bench), hunt(("CNF-009",), bench)
    assert (caught.rule, caught.histories) == ("TAG-001", 1)
    assert missed.rule is None
    assert "TAG-001" in missed.others


def test_a_machine_kills_at_its_first_history_that_shows_it() -> None:
    machine = next(play for play in plays() if play.key == "settlement[lockstep]-classic")
    seen: list[int] = []

    class Over(BaseException):
        pass

    def watch(judgement: Any, history: object) -> None:
        seen.append(len(judgement.findings))
        if judgement.findings:
            raise Over

    with embedded("documented", 0, "smoke", (ZERO,)) as bench, pytest.raises(Over):
        observe(machine, bench, watch)
    assert seen[-1] > 0
    assert not any(seen[:-1])


def test_the_control_counts_what_was_exercised() -> None:
    play = plays_for(("ACK-001",), profiles.load("documented"), "ci")[0]
    with embedded("documented", 0, "ci") as bench:
        seen = control(play, bench)
    assert (seen.broken, seen.trouble, seen.histories) == ([], "", 1)
    assert seen.exercised["ACK-001"] >= rules.get("ACK-001").needed


def trail(rule: str | None, histories: int = 1) -> dict[str, Any]:
    return {"rule": rule, "play": "p-classic", "observed": "", "histories": histories, "seconds": 1.0, "others": []}


def honest(*broken: str, **exercised: int) -> dict[str, Any]:
    return {
        "broken": list(broken),
        "impatient": False,
        "trouble": "",
        "exercised": exercised,
        "histories": 1,
        "seconds": 1.0,
    }


@pytest.fixture
def counted(tmp_path: Path) -> Any:
    """The document for these results of the five hunts, and of the control of the play that killed."""

    def count(rules_: list[str | None], red: tuple[int, ...] = ()) -> dict[str, Any]:
        campaign = DetectionCampaign([MUTANTS[ZERO]], folder=tmp_path, stream=io.StringIO())
        journal = Journal(tmp_path, str(len(list(tmp_path.iterdir()))))
        checks = [DetectionTask("control", "p-classic", "documented", seed, "ci") for seed in range(5)]
        hunts = [DetectionTask("hunt", ZERO, "documented", seed, "ci") for seed in range(5)]
        for task, rule in zip(hunts, rules_, strict=True):
            journal.add(task.key, trail(rule))
        for task in checks:
            journal.add(task.key, honest(*(["TAG-001 in p-classic: x"] if task.seed in red else [])))
        return campaign.document(journal, [*hunts, *checks])

    return count


def test_a_sample_of_the_control_is_drawn_and_played_with_its_own_seed() -> None:
    hunt = DetectionTask("hunt", ZERO, "documented", 0, "ci")
    plays = [DetectionTask("control", f"p{number}-classic", "documented", 0, "ci") for number in range(50)]
    drawn = ControlSample(5, 77).draw([hunt, *plays])
    assert len(drawn) == 5
    assert drawn == ControlSample(5, 77).draw([hunt, *plays]) != ControlSample(5, 78).draw([hunt, *plays])
    assert {task.seed for task in drawn} == {77}
    assert {replace(task, seed=0) for task in drawn} < set(plays)
    assert len(ControlSample(99, 77).draw(plays)) == len(plays)


def test_four_seeds_of_five_are_enough_and_three_are_not(counted: Any) -> None:
    assert counted(["TAG-001"] * 4 + [None])["killed"] == 1
    three = counted(["TAG-001"] * 3 + [None] * 2)
    assert three["survivors"] == [ZERO]
    assert "SURVIVED: 3 of 5" in "\n".join(words(three))
    assert not sound(three)


def test_a_kill_where_the_honest_broker_fails_as_well_is_none(counted: Any) -> None:
    document = counted(["TAG-001"] * 5, red=(1, 2))
    assert document["survivors"] == [ZERO]
    assert len(document["control"]["broken"]) == 2
    assert counted(["TAG-001"] * 5, red=(1,))["killed"] == 1


def test_a_must_that_is_hardly_exercised_is_named() -> None:
    task = DetectionTask("control", "p", "documented", 0, "ci")
    needed = {rule.id: rule.needed for rule in rules.CATALOGUE.values()}
    assert vacuous([(task, honest(**needed))], 0) == []
    found = vacuous([(task, honest(**{**needed, "ACK-001": 0}))], 0)
    assert found == [f"ACK-001: exercised 0 times, {needed['ACK-001']} needed"]


def test_all_plays_of_the_suite_are_the_control_of_a_whole_campaign() -> None:
    some = {task.name for task in tasks([MUTANTS[ZERO]], (0,), "ci", whole=False) if task.kind == "control"}
    all_ = {task.name for task in tasks([MUTANTS[ZERO]], (0,), "ci", whole=True) if task.kind == "control"}
    assert some < all_ == {play.key for play in plays() if play.suits(profiles.load("documented"), "ci")}


def test_a_campaign_carries_on_where_it_was_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def one_by_one(left: list[DetectionTask], journal: Journal, *rest: Any) -> None:
        for task in left[:2]:
            done.append(task.key)
            journal.add(task.key, trail("TAG-001") if task.kind == "hunt" else honest())
        if len(left) > 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(detection, "played", one_by_one)
    campaign = DetectionCampaign([MUTANTS[ZERO]], (0,), folder=tmp_path, stream=io.StringIO())
    for _ in range(50):
        try:
            document = campaign.run()
            break
        except KeyboardInterrupt:
            continue
    assert len(done) == len(set(done)) > 4
    assert document["killed"] == 1


def test_a_journal_overlooks_a_line_that_was_cut_short(tmp_path: Path) -> None:
    first = Journal(tmp_path, "ci")
    first.add("a", 1)
    with first.path.open("a") as file:
        file.write('["b", {"rul')
    again = Journal(tmp_path, "ci")
    assert "a" in again
    assert "b" not in again


def test_mutants_are_chosen_by_name() -> None:
    assert [mutant.name for mutant in chosen("tags.start-*")] == [ZERO]
    with pytest.raises(Refused, match=r"did you mean tags\.start-at-zero"):
        chosen("tags.start-at-zro")


def test_the_verb_gives_the_matrix(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["mutants", ZERO, "--seeds", "1", "--depth", "smoke", "-n", "1", "--format", "json"]) == 0
    row = json.loads(capsys.readouterr().out)["mutants"][0]
    assert row["by"] == {"TAG-001": {"seeds": 1, "histories": 1}}
    assert row["kills"][0]["seconds"] > 0


def test_the_gate_closes_on_a_mutant_by_the_named_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--mutant", ZERO, "--rules", "TAG-001", "--depth", "smoke", "--format", "json"]) == 1
    results = json.loads(capsys.readouterr().out)
    assert [rule["verdict"] for rule in results["rules"] if rule["id"] == "TAG-001"] == ["broken"]
    assert results["broker"]["name"].endswith(f"with {ZERO}")


@pytest.mark.parametrize(
    ("words_", "said"),
    [
        (["--mutant", "tags.start-at-zro"], "did you mean"),
        (["--mutant", ZERO, "amqp://localhost"], "Leave out the URL"),
    ],
)
def test_a_mutant_that_cannot_be_run_is_wrong_use(
    words_: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", *words_]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_field_bugs_are_imitated_or_a_reason_is_given() -> None:
    imitated = {mutant.field for mutant in MUTANTS.values() if mutant.field}
    others = [link for report in elsewhere() for link in report.links]
    assert len(imitated) >= 12
    assert all(link.startswith("https://") for link in (*imitated, *others))
    assert len(set(others)) == len(others)
    assert not imitated & set(others)
    assert all(report.says and report.reason for report in elsewhere())


def test_a_field_bug_is_found_when_all_its_imitations_are() -> None:
    rows = [
        {"field": "x", "killed": True},
        {"field": "x", "killed": False},
        {"field": "y", "killed": True},
        {"field": "", "killed": False},
    ]
    assert trust.field_bugs(rows) == {"x": False, "y": True}


def test_the_page_tells_of_every_mutant() -> None:
    told = {line.split("|")[1].strip() for line in PAGE.read_text().splitlines() if line.startswith("| ")}
    missing = [name for name in MUTANTS if name not in told]
    assert not missing, f"make trust MUTANTS='{','.join(missing)}' hunts them and writes their rows into docs/trust.md"


def test_a_row_comes_to_those_of_its_field_or_in_place_of_its_own() -> None:
    page = f"above\n\n{TITLE}\n\n| mutant |\n|---|\n| a.one | 1 |\n| b.one | 1 |\n\n## below\n\n| a.two | bug |\n"
    for row, rows in (
        ("| a.two | 2 |", "| a.one | 1 |\n| a.two | 2 |\n| b.one | 1 |\n"),
        ("| a.one | 2 |", "| a.one | 2 |\n| b.one | 1 |\n"),
        ("| c.one | 2 |", "| a.one | 1 |\n| b.one | 1 |\n| c.one | 2 |\n"),
    ):
        assert with_row(page, row) == page.replace("| a.one | 1 |\n| b.one | 1 |\n", rows)


def test_a_new_campaign_leaves_what_it_does_not_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of mutants that came later, if they are still there, and sections that have campaigns of their own."""
    monkeypatch.setattr(trust_page, "measured", lambda source: None)
    former = PAGE.read_text(encoding="utf-8")
    early, late = list(MUTANTS)[:2]
    seen = {
        "says": "says",
        "field": "",
        "rules": ["RQ-001"],
        "by": {"RQ-001": {"seeds": 1}},
        "kills": [],
        "killed": True,
    }
    figures = {"killed": 1, "survivors": [], "seeds": [0], "depth": "ci", "examples_median": 1, "examples_worst": 1}
    wire, control = {"mutants": [], "killed": 0, "broker": "a broker"}, {"histories": 1, "broken": []}
    document = {**figures, "wire": wire, "control": control, "vacuous": [], "seconds": 1.0}
    text = renewed(f"{former}| gone.mutant | | | | 1 |\n", {**document, "mutants": [{"name": early, **seen}]}, {})
    lines = text.splitlines()
    assert f"| {early} | says | RQ-001 | RQ-001 (1) |  |" in lines
    assert any(line.startswith(f"| {late} |") for line in lines)
    assert "gone.mutant" not in text
    for section in SECTIONS.values():
        kept = found(former, section.TITLE)
        assert kept
        assert kept in text
