"""The ceilings of races: what was counted, the share that fits it, and where it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.catalogue import deviations
from conformance.outcome.gate import chance
from tests.support.runs import case, results, rule
from tools import ceilings

OWN = """# ours
[[deviation]]
rule = "ACK-002"
queue_types = ["classic"]
where = "closes-cross"
reason = "stays"
note = "n"
evidence = "e"
owner = "o"
intermittent = true

[[deviation]]
rule = "ACK-004"
where = "queue-deleted"
reason = "stays"
note = "n"
evidence = "e"
owner = "o"
"""


@pytest.mark.parametrize(("seen", "could"), [(0, 10), (0, 1000), (1, 100), (11, 415), (2, 10_000)])
def test_with_a_larger_share_so_few_would_be_seen_once_in_a_hundred_times(seen: int, could: int) -> None:
    share = ceilings.ceiling(seen, could)
    assert seen / could < share
    assert 1 - chance(seen + 1, could, share) <= ceilings.DOUBT
    assert 1 - chance(seen + 1, could, share * 0.9) > ceilings.DOUBT


def test_what_was_seen_each_time_has_no_ceiling() -> None:
    assert ceilings.ceiling(2, 2) == 1


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of deviations that a profile goes by."""
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    monkeypatch.setattr(ceilings, "FOLDER", tmp_path)
    monkeypatch.setattr(deviations, "NAMES", ("own",))
    monkeypatch.setattr(deviations, "_FOLDER", tmp_path)
    monkeypatch.setattr(ceilings, "load", lambda name: type("Profile", (), {"deviations": "own"}))
    return path


def test_runs_and_what_was_counted_otherwise_are_summed_up_and_written(own: Path) -> None:
    judged = [rule("ACK-002", "deviates", case("ACK-002", "it stays", deviation=0, times=2)), rule("ACK-004")]
    runs = [
        results("B 1", judged, met={"classic": {"closes-cross": 40}, "quorum": {"closes-cross": 9}}),
        results("B 1", [rule("ACK-002")], met={"classic": {"closes-cross": 8}}),
    ]
    found = ceilings.tally(runs)
    assert found == {"own": {0: (2, 48)}}
    ceilings.added(found, ["own:ACK-002=1/52"])
    assert found == {"own": {0: (3, 100)}}
    for _ in range(2):
        ceilings.write("own", found["own"])
    first, second = deviations.load("own")
    assert first.at_most == ceilings.ceiling(3, 100)
    assert second.at_most is None
    assert own.read_text() == OWN.replace('"closes-cross"\n', f'"closes-cross"\nat_most = {first.at_most:g}\n')
