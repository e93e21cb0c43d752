"""Profiles: which one a broker gets, what it may conclude from an answer, and how mistakes in one are reported."""

from __future__ import annotations

import json
import pickle
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import conformance
from conformance.catalogue import deviations, profiles, rules

ROOM = Path(conformance.__file__).parent
SCHEMA = json.loads((ROOM / "schemas" / "profile.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("product", "version", "expected"),
    [
        ("RabbitMQ", "3.8.9", "rabbitmq-3.8"),
        ("RabbitMQ", "3.9.29", "rabbitmq-3.8"),
        ("RabbitMQ", "3.10.8", "rabbitmq-3.10"),
        ("RabbitMQ", "3.11.28", "rabbitmq-3.11"),
        ("RabbitMQ", "3.13.7-rc.1", "rabbitmq-3.13"),
        ("RabbitMQ", "4.0.5", "rabbitmq-4.0"),
        ("RabbitMQ", "4.2.9+4.g1234567", "rabbitmq-4.2"),
        ("RabbitMQ", "4.3.6", "rabbitmq-4.3"),
        ("rabbitmq", "4.10.0", "rabbitmq-4.3"),
        ("RabbitMQ", "5", "rabbitmq-4.3"),
        ("RabbitMQ", "3.7.28", "rabbitmq-3.8"),
        ("RabbitMQ", "", "documented"),
        ("LavinMQ", "2.9.0-24-g044c24158", "lavinmq-2.9"),
        ("LavinMQ", "2.3.0", "lavinmq-2.9"),
        ("amqp-conformance reference", "0.1.0", "documented"),
        ("", "4.0.0", "documented"),
    ],
)
def test_a_broker_gets_the_profile_of_its_product_and_version(product: str, version: str, expected: str) -> None:
    assert profiles.detect({"product": product, "version": version}).name == expected


@pytest.mark.parametrize(
    ("product", "version", "kind", "how"),
    [
        ("RabbitMQ", "4.3.6", profiles.EXACT, ""),
        ("amqp-conformance reference", "0.1.0", profiles.EXACT, ""),
        ("RabbitMQ", "4.4.1", profiles.NEAREST, "RabbitMQ 4.4.1 is not known; examined as RabbitMQ 4.3, the nearest"),
        ("RabbitMQ", "3.9.1", profiles.NEAREST, "RabbitMQ 3.9.1 is not known; examined as RabbitMQ 3.8, the nearest"),
        (
            "RabbitMQ",
            "3.14.0",
            profiles.NEAREST,
            "RabbitMQ 3.14.0 is not known; examined as RabbitMQ 3.13, the nearest, which nobody ran either",
        ),
        ("RabbitMQ", "3.7.28", profiles.NEAREST, "RabbitMQ 3.7.28 is not known; examined as RabbitMQ 3.8, the nearest"),
        (
            "RabbitMQ",
            "4.1.8",
            profiles.EXACT,
            "nobody ran RabbitMQ 4.1; its profile is that of RabbitMQ 4.0, corrected by the "
            "sources of 4.1.8 beside 4.0.5: rabbit_fifo, rabbit_fifo_client, rabbit_channel, rabbit_limiter",
        ),
        ("RabbitMQ", "", profiles.TEXTS, "RabbitMQ tells no version; examined by the texts alone"),
        ("Unheard Of", "1", profiles.TEXTS, "Unheard Of 1 is not known; examined by the texts alone"),
        ("", "", profiles.TEXTS, "a broker without a name is not known; examined by the texts alone"),
    ],
)
def test_what_is_not_certain_of_a_profile_is_said(product: str, version: str, kind: str, how: str) -> None:
    match = profiles.match({"product": product, "version": version})
    assert (match.kind, match.how) == (kind, how)
    assert match.profile == profiles.detect({"product": product, "version": version})


@pytest.mark.parametrize(
    ("name", "base", "except_for"),
    [
        ("rabbitmq-3.11", "rabbitmq-3.10", {}),
        ("rabbitmq-3.12", "rabbitmq-3.10", {"timeout_of_queue": "heeded", "delivery_counters": "redelivered"}),
        ("rabbitmq-3.13", "rabbitmq-3.10", {"timeout_of_queue": "heeded", "delivery_counters": "redelivered"}),
        ("rabbitmq-4.1", "rabbitmq-4.0", {}),
        ("rabbitmq-4.2", "rabbitmq-4.0", {"direct_replies": "routed"}),
    ],
)
def test_a_version_that_nobody_ran_is_like_its_neighbour(name: str, base: str, except_for: dict[str, str]) -> None:
    profile, measured = profiles.load(name), profiles.load(base)
    assert not profile.measured
    assert measured.measured
    assert (profile.interpolated_from, profile.queues) == (base, measured.queues)
    assert profile.choices == {**measured.choices, **except_for}
    assert not any(entry.measured for entry in deviations.load(str(profile.deviations)))


def test_a_broker_that_says_nothing_of_itself_is_held_to_the_texts() -> None:
    assert profiles.detect({}).name == "documented"


@pytest.mark.parametrize("name", profiles.NAMES)
def test_every_profile_is_whole(name: str) -> None:
    profile = profiles.load(name)
    assert profile.name == name
    assert set(profile.choices) == {choice.name for choice in profiles.CHOICES.values() if not choice.per_queue}
    assert set(profile.queue_types) <= set(profile.queues)
    assert profile.requeue_order == {kind: profile.queue(kind).requeue_order for kind in profile.queues}
    assert pickle.loads(pickle.dumps(profile)) == profile
    if profile.deviations:
        assert profile.deviations in deviations.NAMES


def test_names_are_the_files_and_the_files_fit_the_schema() -> None:
    found = {path.stem: path for path in (ROOM / "catalogue" / "profiles").glob("*.toml")}
    assert set(found) == {*profiles.NAMES, "choices"}
    for name in profiles.NAMES:
        jsonschema.validate(tomllib.loads(found[name].read_text(encoding="utf-8")), SCHEMA)


def test_the_schema_knows_every_choice_and_its_alternatives() -> None:
    tables: dict[bool, dict[str, Any]] = {
        False: SCHEMA["properties"]["choices"]["properties"],
        True: SCHEMA["$defs"]["queue"]["properties"],
    }
    for per_queue, table in tables.items():
        assert set(table) == {name for name, choice in profiles.CHOICES.items() if choice.per_queue == per_queue}
    for choice in profiles.CHOICES.values():
        entry = tables[choice.per_queue][choice.name]
        assert entry["description"] == choice.question
        assert entry.get("enum", ["true", "false"]) == list(choice.alternatives)
        assert choice.question.endswith("?")
        assert choice.doubt.endswith(".")


def test_classic_queues_are_read_alike_everywhere() -> None:
    for name in profiles.NAMES:
        classic = profiles.load(name).queue("classic")
        assert classic.cancelok_ends
        assert classic.closeok_ends
        assert classic.closeok_sync == "consumer"
        assert classic.same_channel_order
        assert not classic.unconfirmed_may_vanish
        assert {classic.order(), classic.order(5), classic.order(-1)} == {"original"}


@pytest.mark.parametrize(
    ("name", "plain", "limited", "unlimited"),
    [
        ("rabbitmq-3.8", "returns-first", "returns-first", "returns-first"),
        ("rabbitmq-3.10", "tail", "returns-first", "tail"),
        ("rabbitmq-3.13", "tail", "returns-first", "tail"),
        ("rabbitmq-4.0", "returns-first", "returns-first", "tail"),
        ("rabbitmq-4.2", "returns-first", "returns-first", "tail"),
        ("rabbitmq-4.3", "returns-first", "returns-first", "returns-first"),
    ],
)
def test_where_quorum_queues_put_what_returns(name: str, plain: str, limited: str, unlimited: str) -> None:
    quorum = profiles.load(name).queue("quorum")
    assert (quorum.order(), quorum.order(0), quorum.order(-1)) == (plain, limited, unlimited)
    assert not quorum.cancelok_ends
    assert not quorum.closeok_ends
    assert quorum.closeok_sync == "never"
    assert not quorum.same_channel_order
    assert quorum.unconfirmed_may_vanish


def test_an_unknown_queue_type_gets_the_weakest_reading() -> None:
    stream = profiles.load("documented").queue("stream")
    assert not stream.same_channel_order
    assert stream.closeok_sync == "never"


def test_nobody_assumes_quorum_queues_of_a_broker_that_is_not_known() -> None:
    assert profiles.load("documented").queue_types == ("classic", "quorum")
    assert profiles.detect({"product": profiles.OURS}).queue_types == ("classic", "quorum")
    assert profiles.detect({"product": "Unheard Of", "version": "1"}).queue_types == ("classic",)
    assert profiles.detect({}).queue_types == ("classic",)


def test_nobody_asks_a_stranger_for_time_outs() -> None:
    """All of TMO is about an argument and a setting that a stranger never offered."""
    stranger, ours = profiles.detect({"product": "Unheard Of"}), profiles.detect({"product": profiles.OURS})
    of_timeouts = [rule for rule in rules.CATALOGUE.values() if rule.family == "TMO"]
    assert all(rule.ruled_out(stranger.choices) for rule in of_timeouts)
    assert not all(rule.ruled_out(ours.choices) for rule in of_timeouts)
    assert profiles.load("lavinmq-2.9").queue_types == ("classic",)
    assert set(rules.QUEUE_TYPES) == set(profiles.load("rabbitmq-4.3").queue_types)


def own(tmp_path: Path, text: str) -> profiles.Profile:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return profiles.load(path)


def test_a_profile_of_ones_own_states_only_what_differs(tmp_path: Path) -> None:
    mine = own(
        tmp_path,
        """
        extends = "rabbitmq-3.10"
        title = "Ours"
        timing_slack = 3
        [choices]
        error_text = "code"
        [queue.quorum]
        requeue_order = "returns-first"
    """,
    )
    base = profiles.load("rabbitmq-3.10")
    assert (mine.name, mine.title, mine.timing_slack) == ("mine", "Ours", 3)
    assert mine.choices == {**base.choices, "error_text": "code"}
    assert mine.queue("classic") == base.queue("classic")
    assert mine.queue("quorum").requeue_order == "returns-first"
    assert (mine.product, mine.versions, mine.deviations) == ("", (), None), "what a profile says of itself stays there"


def test_a_profile_of_ones_own_finds_its_deviations_beside_it(tmp_path: Path) -> None:
    text = 'extends = "documented"\ntitle = "Ours"\ndeviations = '
    (tmp_path / "known.toml").write_text("# nothing yet\n", encoding="utf-8")
    assert own(tmp_path, text + '"known.toml"').deviations == str(tmp_path / "known.toml")
    assert deviations.load(str(tmp_path / "known.toml")) == ()
    assert own(tmp_path, text + '"rabbitmq-4.3"').deviations == "rabbitmq-4.3"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('extends = "rabbitmq-3"\ntitle = "x"', "mine.toml: extends 'rabbitmq-3', which is no profile .did you mean"),
        ('title = "x"', r"mine.toml, \[choices\]: 'error_text' is missing"),
        ('extends = "documented"', "mine.toml: 'title' is missing"),
        ('extends = "documented"\ntitle = "x"\nlevel = 3', "mine.toml: unknown key 'level'"),
        ('extends = "documented"\ntitle = "x"\ntiming_slack = -1', "'timing_slack' must be a number of at least 0"),
        ('extends = "documented"\ntitle = "x"\nqueue_types = ["strem"]', "'queue_types' names 'strem'"),
        (
            'extends = "documented"\ntitle = "x"\n[choices]\nerror_txt = "code"',
            r"\[choices\]: unknown key 'error_txt' .did you mean error_text",
        ),
        (
            'extends = "documented"\ntitle = "x"\n[choices]\nerror_text = "codes"',
            r"\[choices\]: 'error_text' is 'codes'; it must be one of exact, code .did you mean code",
        ),
        (
            'extends = "documented"\ntitle = "x"\n[queue.quorum]\ncloseok_sync = "maybe"',
            r"\[queue.quorum\]: 'closeok_sync' is 'maybe'",
        ),
        (
            'extends = "documented"\ntitle = "x"\n[queue.classic]\ncancelok_ends = "yes"',
            r"\[queue.classic\]: 'cancelok_ends' must be true or false, not 'yes'",
        ),
        (
            'extends = "documented"\ntitle = "x"\ninterpolated_from = "rabbitmq-3.10"',
            "'interpolated_from' and 'basis' come together",
        ),
        (
            'extends = "documented"\ntitle = "x"\nbasis = "y"\ninterpolated_from = "rabbitmq-3"',
            "'interpolated_from' names 'rabbitmq-3', which is no profile",
        ),
        ('extends = ["a"]\ntitle = "x"', "'extends' must be the name of one other profile"),
        ("title = \n", "mine.toml: .*line 1"),
    ],
)
def test_what_is_wrong_with_a_profile_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(profiles.BadProfile, match=complaint):
        own(tmp_path, text)


def test_a_queue_type_needs_its_readings(tmp_path: Path) -> None:
    whole = (ROOM / "catalogue" / "profiles" / "documented.toml").read_text(encoding="utf-8")
    text = whole[: whole.index("[queue.quorum]")].replace('["classic"]', '["classic", "quorum"]')
    with pytest.raises(profiles.BadProfile, match=r"lists the queue type quorum but has no \[queue.quorum\]"):
        own(tmp_path, text)


@pytest.mark.parametrize("name", ["rabbitmq-3.1", "nope"])
def test_an_unknown_name_is_told_what_is_known(name: str) -> None:
    with pytest.raises(profiles.BadProfile, match=f"no profile '{name}'.*known are documented, lavinmq-2.9"):
        profiles.load(name)


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(profiles.BadProfile, match=r"nowhere\.toml: there is no such file"):
        profiles.load("nowhere.toml")


def test_a_recording_keeps_the_choices_that_were_made_for_its_broker() -> None:
    usual = profiles.load("documented")
    made = {**usual.choices, "consumer_timeout": "none"}
    spec = profiles.spec({"profile": "documented", "choices": made})
    assert spec == "documented?consumer_timeout=none"
    assert (profiles.load(spec).name, dict(profiles.load(spec).choices)) == ("documented", made)
    assert profiles.spec({"profile": "documented", "choices": dict(usual.choices)}) == "documented"
    assert profiles.spec({}) == "documented"
    with pytest.raises(profiles.BadProfile, match="no such choice"):
        profiles.load("documented?consumer_timeout=sometimes")
