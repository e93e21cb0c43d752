"""docs/add-a-rule.md, followed to the letter: its files are added to a copy of the packages, and its commands are run.

A file of the page is a block of code under a line with nothing but its path. A command is a line of a console block
that begins with `$`, and it must print each line below it.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "add-a-rule.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^\*\*`(\S+)`\*\*\n\n```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
COMMANDS = [
    (command, said.splitlines())
    for block in re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    for command, said in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]
COPIED = ("codec", "conformance", "reference_broker", "reports", "pyproject.toml")
COPIED_OF_THE_TESTS = ("support/tables.py", "support/playbook", "conformance/oracle/monitors/conftest.py")
"""What the rows need."""
RUN = {"amqp-conformance": ["-m", "conformance.cli"], "python": []}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packages, with the files of the page."""
    place = tmp_path_factory.mktemp("checkout")
    for name in (*COPIED, *(f"tests/{one}" for one in COPIED_OF_THE_TESTS)):
        copy = place / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, copy)
    for name, text in FILES.items():
        assert not (place / name).exists(), f"{name} is there; the page is to invent a rule of another family"
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")
    return place


def test_the_page_has_a_file_for_each_row_of_its_table() -> None:
    rows = re.findall(r"^\| `(.*?)` \|", PAGE, re.MULTILINE)
    invented = {"<family>": "name", "<idea>": "names", "<area>": "topology"}
    patterns = [re.sub("<.*?>", lambda found: invented[found[0]], row) for row in rows]
    assert sorted(patterns) == sorted(FILES)
    assert {shlex.split(command)[1] for command, _ in COMMANDS} == {"explain", "run", "mutants", "-m"}


@pytest.mark.parametrize(("command", "said"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_a_command_says_what_the_page_tells(checkout: Path, command: str, said: list[str]) -> None:
    program, *arguments = shlex.split(command)
    done = subprocess.run(
        [sys.executable, *RUN[program], *arguments],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert said
    for line in said:
        assert line in done.stdout, done.stdout + done.stderr


def test_its_files_are_in_our_style(checkout: Path) -> None:
    for words in (["check", "--quiet"], ["format", "--check", "--quiet"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *words, *FILES], cwd=checkout, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
