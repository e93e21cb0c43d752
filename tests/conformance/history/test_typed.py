"""By the fast way and by the slow one, a line of a recording is the same event, the same error, or no row."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conformance.history import recording, typed
from conformance.history.events import Event
from reports.pipeline import ingest

Read = Callable[[bytes], Event | None]
ROW: dict[str, Any] = {
    "run": "r",
    "broker": "b",
    "history": "h",
    "connection": "c",
    "channel": 1,
    "seq": 7,
    "time_ns": 12,
    "direction": ">",
    "kind": "method",
    "class_id": 60,
    "method_id": 40,
    "method": "basic.publish",
    "delivery_tag": 2**64 - 1,
    "multiple": False,
    "exchange": "",
    "routing_key": "ä",
    "arguments": "{}",
    "body_size": 3,
    "raw": "0100ce",
}
VALUES = (None, "", "x", "0g", "\ud800", 0, -1, 1.0, 1.5, 2**63, 2**64 - 1, 2**70, 1e400, True, [], {})
fast: Read = typed.reader(recording.NEEDED, {**recording._ABSENT, "raw": ""}, recording._event, lean=False)
lean: Read = typed.reader(recording.NEEDED, {**recording._ABSENT, "raw": ""}, recording._event, lean=True)


def outcome(read: Read, line: bytes) -> object:
    """The event with the types of its values, None, or the error."""
    try:
        event = read(line)
    except Exception as problem:
        return type(problem), str(problem)
    return event and (event, [type(value) for value in event])


@given(
    st.sets(st.sampled_from(sorted(ROW))),
    st.dictionaries(st.sampled_from([*Event._fields, "later"]), st.sampled_from(VALUES), max_size=2),
)
def test_any_row(left_out: set[str], changes: dict[str, Any]) -> None:
    row = {name: value for name, value in ROW.items() if name not in left_out or name in recording.NEEDED}
    line = json.dumps({**row, **changes}).encode()
    assert outcome(fast, line) == outcome(recording._event, line)


@given(st.integers(0, 400), st.binary(max_size=3), st.integers(0, 3))
@example(0, b"\xef\xbb\xbf", 0)
@example(3, b"\\u0065", 1)
@example(14, b"\x80", 0)
def test_any_line_that_was_damaged(at: int, put: bytes, gone: int) -> None:
    whole = json.dumps(ROW).encode()
    line = whole[:at] + put + whole[at + gone :]
    assert outcome(fast, line) == outcome(recording._event, line)


@pytest.mark.parametrize("name", recording.NEEDED)
def test_a_row_that_lacks_what_it_needs(name: str) -> None:
    line = json.dumps({key: value for key, value in ROW.items() if key != name}).encode()
    with pytest.raises(recording.BadRecording, match=f"no '{name}'"):
        fast(line)


def test_twice_the_same_column() -> None:
    line = json.dumps(ROW).encode()[:-1] + b', "seq": 8, "run": "s"}'
    assert outcome(fast, line) == outcome(recording._event, line)


def test_lean_keeps_the_frames_of_publishes_alone() -> None:
    publish, ack = (json.dumps({**ROW, "method": method}).encode() for method in ("basic.publish", "basic.ack"))
    assert lean(publish) == fast(publish)
    whole = fast(ack)
    assert whole is not None
    assert whole.raw
    assert lean(ack) == whole._replace(raw=b"")


def test_what_is_unusual_or_not_known_comes_as_it_is(tmp_path: Path) -> None:
    later = {**ROW, "later": 1}
    file = tmp_path / "events-a.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in ({"schema": recording.SCHEMA, "run": "r"}, ROW, later)))
    event = recording.to_event(ROW)
    assert list(recording.known(file)) == [event, later]
    (batch,) = ingest.batches_of(file)
    assert list(ingest.to_events(batch)) == [event, event]
    assert batch.column("extra").to_pylist() == [None, '{"later": 1}']
