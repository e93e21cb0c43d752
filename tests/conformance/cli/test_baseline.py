"""Baselines: a file that fits what runs saw, in which nothing is lost that somebody wrote."""

from __future__ import annotations

import datetime
import shlex
from pathlib import Path
from typing import Any

import pytest

from conformance.catalogue import deviations
from conformance.cli import main
from conformance.cli.baseline import BaselineOptions, update
from conformance.outcome.results import Gate, Results, RuleResult, to_json
from conformance.session.exits import Refused
from tests.support.runs import case, results, rule

TODAY = datetime.date(2026, 11, 21)
WISHES = BaselineOptions("me", None, TODAY)

FILE = """# What we know of our broker.

# The vendor says it is by design.
[[deviation]]
rule = "ACK-002"   # see also ACK-005
reason = 'tag .* stays'
note = \"\"\"
Settlements by multiple
# are off by one.\"\"\"
evidence = "TICKET-1"
owner = "somebody"
expires = 2030-01-31

# ---- returns ----

[[deviation]]
rule = "MODE-004"
queue_types = ["quorum"]
reason = 'is delivered again'
note = "A race."
evidence = "TICKET-2"
owner = "somebody else"
intermittent = true
"""


def run(*judged: RuleResult, **given: Any) -> Results:
    return results("Broker 1", judged, **given)


BROKEN = rule("ACK-002", "broken", case("ACK-002", "tag 3 stays"))
ELSEWISE = rule("ACK-002", "broken", case("ACK-002", "channel 7 ends"))
HELD = rule("ACK-002")


def edited(text: str, *runs: Results, wanted: BaselineOptions = WISHES) -> tuple[str, list[str]]:
    return update(text, runs, wanted)


def test_what_fits_is_left_to_the_letter() -> None:
    assert edited(FILE, run(BROKEN)) == (FILE, [])


def test_a_contradiction_that_nothing_covers_becomes_an_entry_and_the_rest_stays() -> None:
    found = rule("TAG-003", "broken", case("TAG-003", "tag 4 on channel 2, it's 'odd'"))
    text, done = edited(FILE, run(BROKEN, found))
    assert text.startswith(FILE.rstrip("\n"))
    assert len(done) == 1
    assert done[0].startswith("added  TAG-003")
    entry = read(text)[-1]
    assert (entry.rule, entry.owner, entry.expires, entry.queue_types) == ("TAG-003", "me", None, ("classic",))
    assert entry.covers("tag 12 on channel 9, it's 'odd'", "classic")
    assert "Seen on Broker 1: tag 4 on channel 2" in entry.note
    assert entry.evidence == "cases/TAG-003-1.json of run r, 2026-11-21"
    assert edited(text, run(BROKEN, found)) == (text, [])


def test_queues_that_show_the_same_share_an_entry_and_other_words_get_their_own() -> None:
    cases = [case("ACK-002", "tag 3 stays"), case("ACK-002", "tag 9 stays", "quorum"), case("ACK-002", "it ends")]
    entries = read(edited("", run(rule("ACK-002", "broken", *cases)))[0])
    assert [(entry.reason, entry.queue_types) for entry in entries] == [
        ("tag .* stays", ("classic", "quorum")),
        ("it ends", ("classic",)),
    ]


def test_a_stale_entry_goes_and_comments_about_others_stay() -> None:
    text, done = edited(FILE, run(HELD))
    assert done == ["removed  ACK-002  'tag .* stays': stale, the rule holds now"]
    assert text.startswith('# What we know of our broker.\n\n# ---- returns ----\n\n[[deviation]]\nrule = "MODE-004"')
    assert "by design" not in text


@pytest.mark.parametrize(
    "judged",
    [
        [],
        [rule("ACK-002", selected=False)],
        [rule("ACK-002", "under-tested", exercised=0)],
        [rule("ACK-002", "broken")],
        [rule("MODE-004")],
    ],
)
def test_where_runs_do_not_tell_enough_an_entry_stays(judged: list[RuleResult]) -> None:
    assert edited(FILE, run(*judged)) == (FILE, [])


def test_an_entry_stays_where_one_run_of_several_still_shows_it_or_was_cut_short() -> None:
    assert edited(FILE, run(HELD), run(BROKEN)) == (FILE, [])
    assert edited(FILE, run(HELD, complete=False)) == (FILE, [])


def test_an_entry_of_some_queues_is_stale_where_the_gate_says_so() -> None:
    text = FILE.replace('owner = "somebody"', 'owner = "somebody"\nqueue_types = ["quorum"]')
    assert edited(text, run(HELD)) == (text, [])
    said = "deviation 1 of known.toml (ACK-002, reason 'tag .* stays') is stale: the rule holds now."
    assert edited(text, run(HELD, gate=Gate(False, (said,), ())))[1][0].startswith("removed  ACK-002")


def test_a_drifted_entry_gets_a_new_reason_and_keeps_all_else() -> None:
    text, done = edited(FILE, run(ELSEWISE))
    assert done[0].startswith("corrected  ACK-002  'tag .* stays': its reason had drifted")
    assert "# was: tag .* stays\nreason = 'channel .* ends'\n" in text
    assert text.replace("# was: tag .* stays\nreason = 'channel .* ends'", "reason = 'tag .* stays'") == FILE


def test_an_over_broad_entry_is_made_to_fit() -> None:
    text, done = edited(FILE.replace("'tag .* stays'", "'.'"), run(BROKEN, rule("ACK-001")))
    assert "fits anything" in done[0]
    assert read(text)[0].reason == "tag .* stays"


def test_an_expired_entry_waits_for_a_date() -> None:
    old = FILE.replace("2030-01-31", "2026-11-20")
    text, done = edited(old, run(BROKEN))
    assert text == old
    assert "give --expires DATE" in done[0]
    text, done = edited(old, run(BROKEN), wanted=BaselineOptions("me", datetime.date(2027, 6, 30), TODAY))
    assert done == ["renewed  ACK-002  'tag .* stays': until 2027-06-30"]
    assert text == FILE.replace("2030-01-31", "2027-06-30")


def test_what_only_some_runs_show_is_a_race() -> None:
    (entry,) = read(edited("", run(HELD), run(BROKEN))[0])
    assert entry.intermittent


@pytest.mark.parametrize(
    "judged",
    [
        rule("CAN-017", "broken", case("CAN-017", "close 541")),
        rule("ACK-002", "inconclusive", case("ACK-002", "x", certain=False)),
    ],
)
def test_what_closes_no_gate_needs_no_entry(judged: RuleResult) -> None:
    assert edited("", run(judged)) == ("", [])


def test_a_file_that_is_wrong_is_refused_with_its_line() -> None:
    with pytest.raises(Refused, match=r"ours\.toml, line 4: there is no rule 'ACK-999'.*amqp-conformance list"):
        update(FILE.replace('ACK-002"', 'ACK-999"'), [run()], WISHES, "ours.toml")


def read(text: str) -> tuple[deviations.Deviation, ...]:
    from conformance.cli.baseline import _read

    return _read(text, "test.toml")


def test_a_new_file_begins_with_what_the_profile_brings_along(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "results.json").write_text(to_json(run(BROKEN, profile="rabbitmq-4.3")))
    file = tmp_path / "known.toml"
    words = ["baseline", str(tmp_path), "--deviations", str(file), "--owner", "me", "--expires", "2027-06-30"]
    assert main([*words, "--dry-run"]) == 1
    assert not file.exists()
    assert main(words) == 0
    assert "added  ACK-002" in capsys.readouterr().out
    assert file.read_text().startswith(deviations.source("rabbitmq-4.3").rstrip("\n"))
    assert len(deviations.load(file)) == len(deviations.load("rabbitmq-4.3")) + 1
    assert deviations.load(file)[-1].expires == datetime.date(2027, 6, 30)
    assert main([*words, "--dry-run"]) == 0
    assert "nothing to change" in capsys.readouterr().out


def test_runs_of_different_brokers_have_no_common_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("rabbitmq-3.10", "rabbitmq-4.3"):
        (tmp_path / f"{name}.json").write_text(to_json(run(profile=name)))
    assert main(["baseline", *map(str, sorted(tmp_path.iterdir())), "--deviations", str(tmp_path / "new.toml")]) == 2
    assert "Give each its own file" in " ".join(capsys.readouterr().err.split())


def test_from_a_closed_gate_to_an_open_one_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong broker is accepted by what the gate's message says to type; mended, it is stale; and that is mended."""
    file, wrong = tmp_path / "known.toml", ["--mutant", "routes.return-with-code-313"]
    words = ["run", "--rules", "CNF-009", "--depth", "smoke", "--examples", "1", "--report", str(tmp_path)]
    mend = ["baseline", str(tmp_path), "--deviations", str(file)]
    assert main([*words, *wrong]) == 1
    typed = shlex.quote(str(tmp_path / "results.json"))
    typed = f"amqp-conformance baseline {typed} --deviations known.toml, and run with --deviations"
    assert typed in " ".join(capsys.readouterr().out.split())
    assert main(mend) == 0
    assert main([*words, *wrong, "--deviations", str(file)]) == 0
    assert main([*words, "--deviations", str(file)]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "is stale" in said
    assert f"amqp-conformance baseline {tmp_path / 'results.json'} --deviations {file}" in said
    assert main(mend) == 0
    assert deviations.load(file) == ()
    assert main([*words, "--deviations", str(file)]) == 0
