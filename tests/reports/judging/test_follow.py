"""A history in pieces, in any order and put aside in between, adds up to the judgement on the whole of it."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.catalogue import profiles
from conformance.history import events as ev
from conformance.history.events import Event
from conformance.oracle.monitors import judge
from conformance.oracle.monitors.state import UnknownState
from conformance.oracle.verdicts import Judgement
from reports.pipeline import check, follow

Rows = Counter[str]


@pytest.fixture(scope="module")
def longest(mixed: list[Event]) -> list[Event]:
    """One with findings."""
    found = {finding.history for finding in whole(mixed).findings}
    histories = [[event for event in mixed if event.history == name] for name in sorted(found)]
    return max(histories, key=len)


def whole(events: Iterable[Event]) -> Judgement:
    return judge(events, profiles.load("documented"))


def added(rows: Iterable[dict[str, Any]]) -> Rows:
    """Rows as what they come to."""
    total: Rows = Counter()
    for row in rows:
        told = (row["what"], row["rule"], row.get("at"), row.get("observed"), row.get("certain"))
        total[repr(told)] += row["times"]
    return total


def followed(pieces: Iterable[Sequence[Event]], lateness: float = 600.0, close: bool = True) -> Rows:
    """What the pieces come to, with the state put aside after each."""
    history = follow.begin("r1", "h", "documented")
    rows: list[dict[str, Any]] = []
    for piece in pieces:
        rows += history.take(piece, lateness)
        history = follow.decode(history.encode())
    if close:
        rows += history.close()
    return added(rows)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_pieces_in_any_order_come_to_the_judgement_on_the_whole(longest: list[Event], data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(1, len(longest) - 1), max_size=8)))
    pieces = [longest[one:other] for one, other in itertools.pairwise([0, *cuts, len(longest)])]
    order = data.draw(st.permutations(pieces))
    expected = added(check.rows_of("r1", "h", whole(longest)))
    assert followed(order, close=False) == expected
    assert sum(times for row, times in expected.items() if check.FINDING in row) > 0


def missing(events: list[Event], first: int, last: int) -> list[Event]:
    return [event for event in events if not first <= event.seq <= last]


def test_what_waits_in_vain_is_told_and_makes_no_accusation(longest: list[Event]) -> None:
    for first in range(1, len(longest) - 1, 3):
        rows = followed([missing(longest, first, first + 1)])
        assert rows[repr((follow.MISSING, "", None, f"events {first} to {first + 1}", None))] == 2
        found = {row for row in rows if row.startswith(f"('{check.FINDING}'") and row.endswith("True)")}
        assert found <= set(added(check.rows_of("r1", "h", whole(longest)))), first


def test_events_wait_no_longer_than_the_lateness(longest: list[Event]) -> None:
    aged = [event._replace(time_ns=event.seq * follow.SECOND) for event in longest]
    history = follow.begin("r1", "h", "documented")
    assert [row for row in history.take(missing(aged, 5, 9)[:10], 60.0) if row["what"] == follow.MISSING] == []
    assert (history.last, len(history.waiting)) == (4, 6)
    rows = list(history.take(aged[15:], 5.0))
    assert [row["observed"] for row in rows if row["what"] == follow.MISSING] == ["events 5 to 9"]
    assert history.last == len(aged)
    late = [row for row in history.take(aged[4:9], 5.0) if row["what"] == follow.LATE]
    assert [row["times"] for row in late] == [5]


def test_no_more_than_so_many_events_wait(longest: list[Event], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "MOST", 7)
    history = follow.begin("r1", "h", "documented")
    assert not any(row["what"] == follow.MISSING for row in history.take(longest[1:8], 600.0))
    assert any(row["what"] == follow.MISSING for row in history.take(longest[8:9], 600.0))


def test_a_second_time_is_told_and_not_judged(longest: list[Event]) -> None:
    once, twice = followed([longest]), followed([longest, longest])
    extra = twice - once
    assert list(extra.values()) == [len(longest)]
    assert follow.LATE in next(iter(extra))
    assert once <= twice


def test_it_knows_whether_all_has_come_to_its_end(longest: list[Event]) -> None:
    history = follow.begin("r1", "h", "documented")
    list(history.take(longest[:-1], 600.0))
    assert (history.alive, history.complete) == (["c1"], False)
    list(history.take(longest[-1:], 600.0))
    assert longest[-1].kind == ev.END
    assert history.complete


def test_a_state_of_another_format_is_refused_by_name(longest: list[Event]) -> None:
    history = follow.begin("r1", "h", "documented")
    list(history.take(longest[:9], 600.0))
    data = history.encode()
    with pytest.raises(UnknownState, match=r"history/0.*empty checkpoint"):
        follow.decode(data.replace(b"history/1", b"history/0"))
    with pytest.raises(UnknownState, match="empty checkpoint"):
        follow.decode(b"\x80\x04 a pickle, say")
