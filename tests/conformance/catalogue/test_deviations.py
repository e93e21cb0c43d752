"""Known deviations: they excuse what they say and nothing else, and mistakes in a file are reported with its line."""

from __future__ import annotations

import datetime
import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

import conformance
from conformance.catalogue import deviations

ROOM = Path(conformance.__file__).parent
SCHEMA = json.loads((ROOM / "schemas" / "deviations.json").read_text(encoding="utf-8"))

GOOD = """# ours

[[deviation]]
rule = "ACK-008"
reason = "unknown delivery tag 0"
note = "It makes the exception for ack only."
evidence = "docs/findings.md"
owner = "somebody"
expires = 2030-01-31
"""


def read(tmp_path: Path, text: str) -> tuple[deviations.Deviation, ...]:
    path = tmp_path / "ours.toml"
    path.write_text(text, encoding="utf-8")
    return deviations.load(path)


def test_an_entry_excuses_what_it_says_on_the_queues_it_names(tmp_path: Path) -> None:
    (entry,) = read(tmp_path, GOOD + 'queue_types = ["quorum"]\n')
    assert entry.covers("channel.close 406 unknown delivery tag 0", "quorum")
    assert entry.covers("channel.close 406 unknown delivery tag 0")
    assert not entry.covers("channel.close 406 unknown delivery tag 0", "classic")
    assert not entry.covers("connection.close 541", "quorum")


def test_an_entry_holds_up_to_the_day_it_names(tmp_path: Path) -> None:
    (entry,) = read(tmp_path, GOOD)
    assert not entry.expired(datetime.date(2030, 1, 31))
    assert entry.expired(datetime.date(2030, 2, 1))
    (entry,) = read(tmp_path, GOOD.replace("expires = 2030-01-31\n", ""))
    assert not entry.expired(datetime.date.max)
    assert entry.queue_types == ("classic", "quorum")


def test_an_entry_may_be_of_a_race_that_a_run_can_miss(tmp_path: Path) -> None:
    assert not read(tmp_path, GOOD)[0].intermittent
    assert read(tmp_path, GOOD + "intermittent = true\n")[0].intermittent
    with pytest.raises(deviations.BadDeviations, match="line 3: 'intermittent' must be true or false, not 'often'"):
        read(tmp_path, GOOD + 'intermittent = "often"\n')


def test_an_entry_excuses_in_its_circumstances_alone(tmp_path: Path) -> None:
    (entry,) = read(tmp_path, GOOD + 'where = "closes-cross"\n')
    observed = "channel.close 406 unknown delivery tag 0"
    assert entry.covers(observed, None, ("closes-cross 7", "queue-deleted 9"))
    assert not entry.covers(observed, None, ("queue-deleted 9",))
    assert not entry.covers(observed)
    with pytest.raises(deviations.BadDeviations, match="names no circumstances: 'closes-crossed'"):
        read(tmp_path, GOOD + 'where = "closes-crossed"\n')


def test_a_race_may_have_a_ceiling(tmp_path: Path) -> None:
    race = GOOD + 'where = "closes-cross"\nintermittent = true\n'
    assert read(tmp_path, race)[0].at_most is None
    assert read(tmp_path, race + "at_most = 0.02\n")[0].at_most == 0.02
    for share in ("0", "1.5", "true", '"seldom"'):
        with pytest.raises(deviations.BadDeviations, match="'at_most' must be a share, above 0 and up to 1"):
            read(tmp_path, race + f"at_most = {share}\n")
    for lacking in (GOOD + 'where = "closes-cross"\n', GOOD + "intermittent = true\n"):
        with pytest.raises(deviations.BadDeviations, match="name these, and set 'intermittent'"):
            read(tmp_path, lacking + "at_most = 0.02\n")


@pytest.mark.parametrize("name", [name for name in deviations.NAMES if name.startswith("rabbitmq")])
def test_what_we_list_of_rabbitmq_names_its_circumstances_and_of_races_how_often(name: str) -> None:
    for entry in deviations.load(name):
        assert entry.where, entry.rule
        assert (entry.at_most is not None) == entry.intermittent, entry.rule


def test_a_file_without_entries_excuses_nothing(tmp_path: Path) -> None:
    assert read(tmp_path, "# nothing yet\n") == ()


@pytest.mark.parametrize("name", deviations.NAMES)
def test_our_own_files_are_whole_and_fit_the_schema(name: str) -> None:
    content = tomllib.loads((ROOM / "catalogue" / "deviations" / f"{name}.toml").read_text(encoding="utf-8"))
    jsonschema.validate(content, SCHEMA)
    entries = deviations.load(name)
    assert entries
    for entry in entries:
        assert "docs/findings.md" in entry.evidence


@pytest.mark.parametrize("name", [name for name in deviations.NAMES if name.startswith("rabbitmq")])
def test_acknowledgements_before_a_close_are_known_on_quorum_queues(name: str) -> None:
    known = {entry.rule: entry for entry in deviations.load(name)}
    kept_back = ("queue-deleted 7", "settlements-kept-back 9")
    assert known["ACK-018"].covers("m34 is delivered again", "quorum", kept_back)
    assert not known["ACK-018"].covers("m34 is delivered again", "classic", kept_back)
    assert not known["ACK-018"].covers("m34 is delivered again", "quorum", kept_back[:1])


def test_what_a_version_takes_over_was_not_measured_there(tmp_path: Path) -> None:
    base = deviations.load("rabbitmq-3.10")
    own = GOOD.replace("# ours\n", 'extends = "rabbitmq-3.10"\nwithout = ["QOS-018"]\n')
    *under, mine = read(tmp_path, own)
    assert [entry.rule for entry in under] == [entry.rule for entry in base if entry.rule != "QOS-018"]
    assert not any(entry.measured for entry in under)
    assert mine.measured
    assert all(entry.measured for entry in base)
    assert under[0].covers("m34 is delivered again", "quorum", (under[0].where,)), "it excuses as it does there"


NOT_RUN = [name for name in deviations.NAMES if not all(entry.measured for entry in deviations.load(name))]


@pytest.mark.parametrize("name", NOT_RUN)
def test_the_text_of_a_file_that_takes_over_has_everything(tmp_path: Path, name: str) -> None:
    assert read(tmp_path, deviations.source(name)) == deviations.load(name)
    assert "extends" not in deviations.source(name)


@pytest.mark.parametrize(
    ("head", "complaint"),
    [
        ('extends = "rabbitmq-3.1"\n', r"extends 'rabbitmq-3\.1', which is no file of ours \(did you mean rabbitmq-3"),
        (
            'extends = "rabbitmq-3.10"\nwithout = ["TAG-001"]\n',
            "leaves out 'TAG-001', which rabbitmq-3.10 does not name",
        ),
        ('without = ["QOS-018"]\n', "'without' names what is not taken over; it needs 'extends'"),
    ],
)
def test_what_is_wrong_with_taking_over_is_named(tmp_path: Path, head: str, complaint: str) -> None:
    with pytest.raises(deviations.BadDeviations, match=rf"ours\.toml: {complaint}"):
        read(tmp_path, head + GOOD)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('rule = "ACK-008"', 'rule = "ACK-08"', r"line 3: there is no rule 'ACK-08' \(did you mean ACK-0"),
        ('rule = "ACK-008"\n', "", "line 3: 'rule' is missing"),
        ('owner = "somebody"\n', "", "line 3: 'owner' is missing"),
        ('evidence = "docs/findings.md"\n', "", "line 3: 'evidence' is missing"),
        ("reason =", "resaon =", "line 3: 'reason' is missing"),
        ("expires =", "expire =", r"line 3: unknown key 'expire' \(did you mean expires"),
        ('"unknown delivery tag 0"', '".*"', r"line 3: 'reason' '\.\*' fits every observation"),
        ('"unknown delivery tag 0"', '"tag ("', "line 3: 'reason' is no pattern"),
        ("2030-01-31", '"next year"', "line 3: 'expires' must be a date like"),
        ("2030-01-31", "2030-01-31T10:00:00", "line 3: 'expires' must be a date like"),
        ("[[deviation]]", "[[deviations]]", r"unknown key 'deviations' \(did you mean deviation"),
        ("[[deviation]]", "[deviation]", r"write entries as \[\[deviation\]\]"),
        ('owner = "somebody"', "owner = ", "line 8"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    assert old in GOOD
    with pytest.raises(deviations.BadDeviations, match=rf"ours\.toml.*{complaint}"):
        read(tmp_path, GOOD.replace(old, new))


def test_the_line_is_that_of_the_entry(tmp_path: Path) -> None:
    bad = GOOD + "\n" + GOOD.replace('"ACK-008"', '"ACK-999"')
    with pytest.raises(deviations.BadDeviations, match=r"ours\.toml, line 13: there is no rule 'ACK-999'"):
        read(tmp_path, bad)


def test_a_queue_type_that_the_rule_knows_nothing_of_is_refused(tmp_path: Path) -> None:
    bad = GOOD.replace("ACK-008", "RQ-001") + 'queue_types = ["quorum"]\n'
    with pytest.raises(deviations.BadDeviations, match="the rule does not apply to quorum queues"):
        read(tmp_path, bad)


def test_an_unknown_name_is_told_what_is_known() -> None:
    with pytest.raises(deviations.BadDeviations, match=r"no deviations 'rabbitmq-4'.*one of lavinmq-2\.9, "):
        deviations.load("rabbitmq-4")
    with pytest.raises(deviations.BadDeviations, match=r"nowhere\.toml: there is no such file"):
        deviations.load("nowhere.toml")
