"""The page of patterns: what it stands on exists, what it shows was measured, and nothing is typed in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.pages import patterns
from tools.pages.patterns import BadPatterns, Pattern
from tools.pages.rows import ABSENT, DOUBTFUL, KEPT, NOT_RUN, WRONG, Run, stored

PATTERN = Pattern("One", "It is for something.", "Do it.", ("ACK-001", "ACK-002"))


def test_the_page_is_fresh() -> None:
    assert patterns.PAGE.read_text(encoding="utf-8") == patterns.page(stored()), "run `make docs`"


def test_at_least_ten_patterns_have_names_of_their_own() -> None:
    names = [pattern.name for pattern in patterns.read()]
    assert len(set(names)) == len(names) >= 10
    assert all(len(set(pattern.rules)) == len(pattern.rules) for pattern in patterns.read())


@pytest.mark.parametrize(
    ("verdicts", "shown"),
    [
        ({"ACK-001": "held", "ACK-002": "unseen"}, KEPT),
        ({"ACK-001": "held", "ACK-002": "deviates"}, f"{WRONG} ACK-002"),
        ({"ACK-001": "broken", "ACK-002": "deviates"}, f"{WRONG} all"),
        ({"ACK-001": "under-tested", "ACK-002": "deviates"}, f"{WRONG} ACK-002"),
        ({"ACK-001": "under-tested", "ACK-002": "held"}, f"{DOUBTFUL} ACK-001"),
        ({"ACK-001": "not-offered", "ACK-002": "held"}, f"{ABSENT} ACK-001"),
        ({"ACK-001": "not-offered", "ACK-002": "not-offered"}, f"{ABSENT} all"),
        ({"ACK-002": "held"}, NOT_RUN),
    ],
)
def test_a_cell_names_the_rules_of_the_gravest_sign(verdicts: dict[str, str], shown: str) -> None:
    assert patterns.found(PATTERN, Run("1.0", verdicts)) == shown


def test_what_is_known_to_be_wrong_is_told_once_with_its_versions() -> None:
    page = patterns.page([Run("3.10.8", {}), Run("4.0.5", {})])
    _, _, behind = page.partition("## Exactly one active consumer")
    section, _, _ = behind.partition("\n## ")
    assert section.count("- SAC-002 on 3.10.8 (classic queues): ") == 1
    assert page.count("- MODE-001 on 3.10.8, 4.0.5 (classic queues, now and then): ") == 1


@pytest.mark.parametrize(
    "wrong",
    [
        'use = "x"\nhow = "y"\nrules = ["ACK-001"]',
        'name = "a"\nuse = "x"\nhow = "y"\nrules = ["ACK-999"]',
        'name = "a"\nuse = "x"\nhow = "y"\nrules = []',
        'name = "a"\nuse = "x"\nhow = "y"\nrules = ["ACK-001"]\nrule = "z"',
    ],
)
def test_a_mistake_is_told_with_its_place(wrong: str, tmp_path: Path) -> None:
    (tmp_path / "patterns.toml").write_text(f"[[pattern]]\n{wrong}\n")
    with pytest.raises(BadPatterns, match=r"patterns\.toml, pattern 1"):
        patterns.read(tmp_path / "patterns.toml")
