"""The hunt: which round it plays next, what a round's text is worth, and that it finds what a small run misses."""

from __future__ import annotations

import json
import random
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.catalogue import profiles
from conformance.catalogue.profiles import Profile
from conformance.drive.around import Around
from conformance.drive.machines.lean import Lean
from conformance.outcome.reach import DEEDS, STATES, missing
from conformance.session.hunting import COMMANDS, MACHINES, BadRound, Hunt, Round, leaning
from reference_broker import ReferenceBroker
from tools.mutation.install import installed
from tools.mutation.sites import mutations
from tools.mutation.triggers import Trigger

NONE = [0] * len(DEEDS)
PROFILE = profiles.load("documented")
SEEDS = ("4", "5", "6")


def drawn(hunt: Hunt, rows: list[int], profile: Profile = PROFILE, seed: int = 0) -> Round:
    return hunt.next(random.Random(seed), rows, profile, "classic", Around())


def test_a_round_leans_to_what_was_not_reached() -> None:
    """All but one pair are reached."""
    deed, state = "queue.bind", "window 512"
    rows = [(1 << len(STATES)) - 1] * len(DEEDS)
    rows[DEEDS.index(deed)] &= ~(1 << STATES.index(state))
    found = drawn(Hunt(), rows)
    assert list(missing(rows)) == [(deed, state)]
    assert found.lean == Lean((("window", 512),), ("Detour",))


def test_what_was_tried_least_comes_next() -> None:
    hunt, chance = Hunt(), random.Random(7)
    rows = [(1 << len(STATES)) - 1] * len(DEEDS)
    rows[0] = ~0b111 & rows[0]
    for _ in range(6):
        hunt.next(chance, rows, PROFILE, "classic", Around())
    assert sorted(hunt.tried.values()) == [2, 2, 2]


def test_sizes_rise_to_a_bound() -> None:
    hunt = Hunt()
    steps = [drawn(hunt, NONE, seed=seed).steps for seed in range(200)]
    assert steps == sorted(steps)
    assert steps[0] < steps[20] < steps[-1] == steps[-2]


def test_every_deed_is_a_command_of_some_machine() -> None:
    known = {choice.name for machine in MACHINES.values() for choice in machine.commands(PROFILE, "classic")}
    methods = {deed.partition(" ")[0] for deed in DEEDS}
    assert methods == set(COMMANDS)
    assert all(known & set(names) for names in COMMANDS.values())
    assert set().union(*COMMANDS.values()) <= known


@pytest.mark.parametrize("state", STATES)
def test_whatever_it_leans_to_has_a_text(state: str) -> None:
    lean = leaning(state, ("Get",), random.Random(state))
    one = Round("confirms", "classic", "lockstep", 7, 20, lean)
    assert Round.read(str(one)) == one


@pytest.mark.parametrize(
    "text",
    [
        "",
        "confirms",
        "confirms/classic/lockstep/7/4x20",
        "luck/classic/lockstep/7/4x20/",
        "confirms/stream/lockstep/7/4x20/",
        "confirms/classic/lockstep/7/4x20/window=wide",
    ],
)
def test_what_is_no_round_is_refused(text: str) -> None:
    with pytest.raises(BadRound):
        Round.read(text)


def test_turns_share_what_is_left() -> None:
    hunt = Hunt(turns=4)
    assert [hunt.seconds(2, age) for age in (0, 30, 60, 90, 125)] == [30, 30, 30, 30, 0]


@pytest.fixture
def numbers_wrongly() -> Iterator[str]:
    """A broker that numbers confirms wrongly on channels on which eight thousand deliveries may be out."""
    place = next(one for one in mutations() if one.key.startswith("confirms.Confirms.next") and one.kind == "constant")
    with installed(place, Trigger("size", "window", "channel", 8192)), ReferenceBroker() as broker:
        yield broker.url


def examined(verb: str, url: str, report: Path, *more: str) -> tuple[int, dict[str, Any], str]:
    """The exit code, the rules that are broken, and what was said on the way."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "conformance.cli",
            verb,
            url,
            "--rules",
            "CNF-006",
            "--min-coverage",
            "0",
            "--depth",
            "smoke",
            "--examples",
            "1",
            "--report",
            str(report),
            *more,
        ],
        capture_output=True,
        text=True,
        timeout=280,
    )
    results = json.loads((report / "results.json").read_text(encoding="utf-8"))
    return done.returncode, {one["id"]: one for one in results["rules"] if one["verdict"] == "broken"}, done.stderr


def test_a_hunt_finds_what_a_small_run_misses(numbers_wrongly: str, tmp_path: Path) -> None:
    """And ends in time, says each turn how far it is, and with which command the finding comes again. How much half a
    minute holds is a matter of the machine: what one seed does not find, another one may."""
    code, broken, _ = examined("run", numbers_wrongly, tmp_path / "run", "--seed", "4")
    assert (code, broken) == (0, {})
    for seed in SEEDS:
        begin = time.monotonic()
        code, broken, said = examined("hunt", numbers_wrongly, tmp_path / seed, "--seed", seed, "--minutes", "0.5")
        assert time.monotonic() - begin < 240
        if broken:
            break
    assert (code, "CNF-006" in broken) == (1, True)
    lines = [line for line in said.splitlines() if line.startswith("hunt: ")]
    assert len(lines) == 2
    assert re.search(r"[1-9]\d* of \d+ pairs reached; found .*CNF-006", lines[-1])
    again = shlex.split(broken["CNF-006"]["cases"][0]["rerun"])
    assert again[:3] == ["amqp-conformance", "hunt", numbers_wrongly]
    code, broken, _ = examined("hunt", numbers_wrongly, tmp_path / "again", *again[again.index("--again") :])
    assert (code, "CNF-006" in broken) == (1, True)
