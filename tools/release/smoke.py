"""The wheel in a fresh environment of one Python, and what somebody does first with it.

Nothing of the checkout is in reach: the work goes on in a folder of its own, with the versions of constraints.txt. Each
step is a command, the exit code that it must have, and what it must print.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from conformance import __version__
from tools.release.built import CONSTRAINTS, Unfit
from tools.release.pythons import Python

OWN_TEST = '''\
"""A project of a user: the fixture, and nothing but the standard library."""
import socket


def test_the_fixture(reference_broker):
    with socket.create_connection((reference_broker.host, reference_broker.port), timeout=5) as link:
        link.sendall(b"AMQP\\0\\0\\x09\\x01")
        assert link.recv(1) == b"\\x01"
'''


@dataclass(frozen=True)
class Step:
    """One command in the fresh environment."""

    words: tuple[str, ...]
    code: int = 0
    says: str = ""


STEPS = (
    Step(("amqp-conformance", "--version"), says=f"amqp-conformance {__version__}\n"),
    Step(("reference-broker", "--version"), says=f"{__version__}\n"),
    Step(
        (
            "amqp-conformance",
            "run",
            "--rules",
            "TAG-00[12]",
            "--depth",
            "smoke",
            "--report",
            "out",
            "--recording",
            "rows",
        ),
        says="GATE OPEN",
    ),
    Step(("amqp-conformance", "trace", "check", "rows"), says="GATE OPEN"),
    Step(
        ("amqp-conformance", "run", "--mutant", "tags.start-at-zero", "--rules", "TAG-001", "--depth", "smoke"),
        code=1,
        says="TAG-001",
    ),
    Step(("python", "-m", "pytest", "-q", "test_mine.py"), says="1 passed"),
)
LEFT = ("out/index.html", "out/results.json", "out/junit.xml", "out/ctrf.json")


def smoke(python: Python, wheel: Path, folder: Path) -> Iterator[str]:
    """Each step as it was done; raises Unfit where one goes wrong. `folder` is in the root of this Python."""
    inside = Path("/") / folder.relative_to(python.root)
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "work").mkdir(parents=True)
    for file in (wheel, CONSTRAINTS):
        shutil.copyfile(file, folder / file.name)
    (folder / "work" / "test_mine.py").write_text(OWN_TEST)
    programs = inside / "env" / "bin"
    uv = ["uv"] if python.prefix else [str(Path(sys.executable).with_name("uv"))]
    for words in (
        [*uv, "venv", "--quiet", "--python", python.path, str(inside / "env")],
        [
            *uv,
            "pip",
            "install",
            "--quiet",
            "--python",
            str(programs / "python"),
            "--constraints",
            str(inside / CONSTRAINTS.name),
            str(inside / wheel.name),
        ],
    ):
        played(python, Step(tuple(words)), inside)
    for step in STEPS:
        played(python, Step((str(programs / step.words[0]), *step.words[1:]), step.code, step.says), inside / "work")
        yield " ".join(step.words)
    missing = [name for name in LEFT if not (folder / "work" / name).exists()]
    if missing:
        raise Unfit(f"{python}: the run left no {', '.join(missing)}")


def played(python: Python, step: Step, where: Path) -> None:
    """One step, in an environment that knows nothing of ours."""
    known = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(
        [*python.prefix, "env", "-C", str(where), *step.words], capture_output=True, text=True, check=False, env=known
    )
    said = done.stdout + done.stderr
    if done.returncode != step.code or step.says not in said:
        raise Unfit(
            f"{python}: `{' '.join(step.words)}` ended with {done.returncode} where {step.code} was due, "
            f"or did not say {step.says!r}:\n{said[-3000:]}"
        )
