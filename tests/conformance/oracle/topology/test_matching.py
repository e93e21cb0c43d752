"""Matching, beside a second reading of the texts, and beside the reference broker's own exchanges."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codec import values
from conformance.oracle.topology.matching import MATCHERS, Message, match_headers, match_topic
from conformance.oracle.topology.state import Terms
from reference_broker.core.routing import TYPES

WORDS = st.sampled_from(["a", "b", "", "*", "#"])
KEYS = st.lists(WORDS, max_size=5).map(".".join)
PATTERNS = st.lists(WORDS, max_size=5).map(".".join)
TABLES = st.dictionaries(
    st.sampled_from(["ink", "size", "x-tag"]),
    st.sampled_from(["red", 3, True, None]),
    max_size=3,
)
FORMS = st.sampled_from([None, "all", "any", "all-with-x", "any-with-x"])


def message(key: str = "", headers: dict[str, Any] | None = None) -> Message:
    found = Message(key, "")
    found._headers = headers or {}
    return found


def by_backtracking(pattern: list[str], words: list[str]) -> bool:
    """The texts read aloud: one word for a star, any number for a hash."""
    if not pattern:
        return not words
    if pattern[0] == "#":
        return any(by_backtracking(pattern[1:], words[at:]) for at in range(len(words) + 1))
    return bool(words) and pattern[0] in ("*", words[0]) and by_backtracking(pattern[1:], words[1:])


@given(PATTERNS, KEYS)
def test_topic_keys_match_as_the_texts_say(pattern: str, key: str) -> None:
    split = [one.split(".") if one else [] for one in (pattern, key)]
    assert match_topic(Terms(pattern, {}, {}), message(key)) is by_backtracking(*split)


def test_a_long_key_with_many_hashes_takes_no_power_of_time() -> None:
    assert not match_topic(Terms("#a" + ".#" * 200 + ".end", {}, {}), message("a." * 400 + "b"))


@given(st.sampled_from(sorted(TYPES)), PATTERNS, KEYS, TABLES, FORMS, TABLES)
def test_the_reference_broker_agrees_wherever_the_texts_decide(
    kind: str, pattern: str, key: str, arguments: dict[str, Any], form: str | None, headers: dict[str, Any]
) -> None:
    bound = {**arguments, **({"x-match": form} if form else {})}
    exchange = TYPES[kind]("x")
    exchange.bind(TYPES["fanout"]("y"), pattern, values.table(bound))
    honest = bool(list(exchange.matches(key, values.table(headers))))
    ours = MATCHERS[kind](Terms(pattern, bound, {}), message(key, headers))
    assert ours in (honest, None)
    assert kind == "headers" or ours is not None


@pytest.mark.parametrize(
    ("arguments", "headers", "matches"),
    [
        ({"ink": "red"}, {"ink": "red", "size": 3}, True),
        ({"ink": "red"}, {"ink": "Red"}, False),
        ({"size": 3}, {"size": "3"}, False),
        ({"size": 3}, {"size": 3.0}, None),
        ({"size": 3}, {"size": 4.0}, False),
        ({"size": {"of": 3}}, {"size": {"of": 3}}, True),
        ({"size": {"of": 3}}, {"size": {"of": 4}}, False),
        ({"size": {"of": 3}}, {"size": {"in": 3}}, False),
        ({"size": {"of": 3}}, {"size": {"of": 3.0}}, None),
        ({"size": {"of": 3, "in": 4}}, {"size": {"of": 3, "in": 4}}, None),
        ({"size": {"of": 3, "in": 4}}, {"size": {"of": 3, "in": 5}}, False),
        ({"sizes": [1, [2]]}, {"sizes": [1, [2]]}, True),
        ({"sizes": [1, [2]]}, {"sizes": [1, [3]]}, False),
        ({"sizes": [1, 2]}, {"sizes": [1]}, False),
        ({"sizes": [1, 2]}, {"sizes": [1.0, 2]}, None),
        ({"ink": None}, {"ink": "any"}, True),
        ({"ink": None}, {}, False),
        ({"x-tag": "a"}, {"x-tag": "a"}, None),
        ({}, {"ink": "red"}, None),
        ({"x-match": "any"}, {"ink": "red"}, False),
        ({"x-match": "any", "x-tag": "a"}, {"x-tag": "a"}, False),
        ({"x-match": "some", "ink": "red"}, {"ink": "red"}, None),
        ({"x-match": "any", "ink": "red", "size": {"of": 3}}, {"ink": "red", "size": 3}, True),
        ({"x-match": "all", "ink": "red", "size": {"of": 3}}, {"ink": "blue", "size": 3}, False),
    ],
)
def test_what_headers_decide_and_what_they_leave_open(
    arguments: dict[str, Any], headers: dict[str, Any], matches: bool | None
) -> None:
    assert match_headers(Terms("", arguments, {}), message(headers=headers)) is matches


@pytest.mark.parametrize(
    ("bound", "sent", "matches"),
    [
        (("T", 5), ("T", 5), True),
        (("T", 5), ("l", 5), None),
        (("T", 5), ("l", 6), False),
        (("I", 5), ("l", 5), None),
        (("S", b"1.5"), ("S", b"1.5"), True),
        (("S", b"1.5"), ("D", (1, 15)), None),
        (("D", (1, 15)), ("d", 1.5), None),
        (("D", (1, 15)), ("D", (1, 16)), False),
        (("D", (0, 15)), ("d", 15.0), None),
        (("D", (1, 15)), ("I", 15), False),
        (("D", (1, 15)), ("S", b"red"), False),
        (("x", b"red"), ("S", b"red"), None),
        (("t", True), ("I", 1), False),
    ],
)
def test_values_that_only_their_types_tell_apart_are_left_open(
    bound: tuple[str, Any], sent: tuple[str, Any], matches: bool | None
) -> None:
    binding, header = [("value", *bound)], [("value", *sent)]
    content = json.dumps({"properties": {"headers": values.to_json(header)}, "types": values.letters(header)})
    terms = Terms("", values.to_json(binding), values.letters(binding))
    assert match_headers(terms, Message("", content)) is matches


def test_headers_are_read_where_somebody_asks() -> None:
    text = '{"properties": {"headers": {"ink": "red"}}}'
    assert Message("a", text).headers == {"ink": "red"}
    assert Message("a", '{"properties": {"priority": 3}}').headers == {}
    assert re.fullmatch("a", Message("a", text).key)
