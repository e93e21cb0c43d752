"""CONTENT-009 to 014: what contents may have that brokers are known to stumble over, and the rule that speaks of each.

Properties that say nothing, numbers that are no floats, floats that are no numbers, tables in tables, octets that look
like the end of a frame, and headers that fill one. A change or a refusal is filed under the rule of what the publish
had; plain contents are for RQ-016. Nothing here judges: `content` and `properties` do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.history.events import Event
from conformance.oracle.model.records import Publication
from conformance.oracle.monitors.notes import Notes

NOTHING_SAID, NUMBERS, FLOATS = "CONTENT-009", "CONTENT-010", "CONTENT-011"
DEEP, OCTETS, LONG = "CONTENT-012", "CONTENT-013", "CONTENT-014"
ALL = NOTHING_SAID, NUMBERS, FLOATS, DEEP, OCTETS, LONG
PLAIN = "RQ-016"

HEADER = "header "
NUMERIC, FRACTIONAL = frozenset("bBsuIilLTDfd"), frozenset("fd")
NO_NUMBER = re.compile(r'"(?:-?inf|nan)"')
WORDLESS = re.compile(r'"(?:app_id|cluster_id|content_encoding|content_type|correlation_id|reply_to|type)": ""')
ZERO = re.compile(r'"(?:priority|timestamp)": 0[,}]')
TEXTS, ZEROS, ABSENT = "an empty text", "a number 0", "no property at all"
SAYS_NOTHING = TEXTS, ZEROS, ABSENT
LARGE, FRACTIONS, DECIMALS = "integers beyond 53 bits", "fractions", "decimals"
ALL_NUMBERS = LARGE, FRACTIONS, DECIMALS
EXACT = 1 << 53
"""Up to here a float holds each integer."""
LEVELS = 16
"""So many tables and lists, one in the other, are deep."""
MUCH = 8192
"""So many characters of properties are long."""
MANY = 5
"""So often a history shows that a rule is kept; looking at each message would cost more than it tells."""


def of_publish(event: Event) -> str:
    """The rule by which this publish is to be taken, whatever else its headers have; empty: none of these."""
    text = event.arguments
    if '"types"' not in text:
        return ""
    types, headers = event.args["types"], event.args["properties"]["headers"]
    if NO_NUMBER.search(text) and any(_no_number(*leaf) for leaf in leaves(types, headers)):
        return FLOATS
    if text.count("{") + text.count("[") > LEVELS and depth(types) > LEVELS:
        return DEEP
    return LONG if len(text) > MUCH else ""


def of_change(publication: Publication, name: str, sent: Any, came: Any) -> str:
    """The rule that a change of this property breaks."""
    if not name.startswith(HEADER):
        vanished, appeared = sent in ("", 0) and came is None, sent is None and came in ("", 0)
        return NOTHING_SAID if vanished or appeared else PLAIN
    types = (json.loads(publication.content).get("types") or {}).get(name.removeprefix(HEADER))
    if sent is None or came is None:
        return PLAIN
    pairs = zip(leaves(types, sent), leaves(types, came), strict=False)
    letter, value = next((before for before, after in pairs if before != after), ("", None))
    if _no_number(letter, value):
        return FLOATS
    if letter in NUMERIC and letter:
        return NUMBERS
    if depth(types) > LEVELS:
        return DEEP
    return LONG if len(publication.content) > MUCH else PLAIN


def show(publication: Publication, notes: Notes) -> None:
    """It came as it was published, with all that it has."""
    content = publication.content
    if content == '{"properties": {}}':
        notes.show(NOTHING_SAID, ABSENT, SAYS_NOTHING)
    if '": ""' in content and WORDLESS.search(content):
        notes.show(NOTHING_SAID, TEXTS, SAYS_NOTHING)
    if '": 0' in content and ZERO.search(content):
        notes.show(NOTHING_SAID, ZEROS, SAYS_NOTHING)
    if publication.has_frame_end and notes.judgement.exercised[OCTETS] < MANY:
        notes.exercise(OCTETS)
    if len(content) > MUCH and '"types"' in content:
        notes.exercise(LONG)
    if '"types"' in content and notes.judgement.exercised[NUMBERS] < MANY:
        _show_headers(json.loads(content), notes)


def _show_headers(content: Mapping[str, Any], notes: Notes) -> None:
    types, headers = content["types"], content["properties"]["headers"]
    if depth(types) > LEVELS:
        notes.exercise(DEEP)
    found = [*leaves(types, headers)]
    if any(_no_number(*leaf) for leaf in found):
        notes.exercise(FLOATS)
    for kind in {_kind(*leaf) for leaf in found}:
        if kind:
            notes.show(NUMBERS, kind, ALL_NUMBERS)


def _kind(letter: str, value: Any) -> str:
    """Which kind of number it is that a float, or an integer, would not hold."""
    if letter == "D":
        return DECIMALS
    if letter in FRACTIONAL and isinstance(value, float):
        return FRACTIONS if value != int(value) else ""
    return LARGE if isinstance(value, int) and abs(value) > EXACT else ""


def _no_number(letter: str, value: Any) -> bool:
    return letter in FRACTIONAL and isinstance(value, str)


def is_shallower(sent: Any, came: Any) -> bool:
    """Is what was deep less deep now?"""
    return LEVELS < depth(sent) > depth(came)


def leaves(types: Any, value: Any) -> Iterator[tuple[str, Any]]:
    """Each plain value with its letter, at whatever depth of tables and lists."""
    if isinstance(types, str):
        yield types, value
    elif isinstance(types, dict) and isinstance(value, dict):
        for name in sorted(types.keys() & value.keys()):
            yield from leaves(types[name], value[name])
    elif isinstance(types, list) and isinstance(value, list):
        for inner, item in zip(types, value, strict=False):
            yield from leaves(inner, item)


def depth(types: Any) -> int:
    """How many tables and lists lie one in the other."""
    if isinstance(types, str) or types is None:
        return 0
    return 1 + max(map(depth, types.values() if isinstance(types, dict) else types), default=0)
