"""One library: its sources at the pinned version, an environment of its own, and its suite played on one broker.

The sources are the sdist of the package index; where that holds no tests, the library's repository at the tag of this
version, or a checkout that the user names. What is played is the suite as it is, led to the broker by what is in
`lead/`. What fails is tried twice more, and told: a suite that races with itself is no broker that is wrong.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tools.suites.brokers import Played

HERE = Path(__file__).parent
FOLDER = HERE.parents[1] / "build" / "suites"
TRIES = 3
ALONE = 20
"""So many tests of a run that ended too soon are tried again one by one."""
CLONED_WITHIN = 120
"""Seconds for the clone of a repository."""
SUITE_WITHIN = 3600
"""Seconds for all tests of one library, once."""


class NoSuite(Exception):
    """Why a suite cannot be played, in words."""


class NoTests(NoSuite):
    """The sdist holds no tests, and the repository cannot be reached."""


@dataclass(frozen=True)
class Library:
    """A row of libraries.toml."""

    name: str
    version: str
    tests: Sequence[str]
    needs: Sequence[str]
    wait: int
    tls: Sequence[str] = ()
    secure: str = ""
    without: str = ""
    repository: str = ""

    @property
    def folder(self) -> Path:
        return FOLDER / f"{self.name}-{self.version}"

    @property
    def python(self) -> Path:
        return self.folder / "env" / "bin" / "python"

    @property
    def sources(self) -> Path:
        return self.folder / "sources"


@dataclass(frozen=True)
class Tally:
    """What one suite said of one broker: the outcome of each test by its id, and which needed more than one try."""

    name: str
    version: str
    broker: str
    day: str
    seconds: float
    outcomes: dict[str, str]
    again: list[str]

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


def libraries() -> dict[str, Library]:
    """All of them, in the order of the file."""
    table = tomllib.loads((HERE / "libraries.toml").read_text())
    return {name: Library(name, **row) for name, row in table.items()}


def uv(*words: str | Path) -> None:
    done = subprocess.run([sys.executable, "-m", "uv", *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoSuite(done.stderr.strip())


def prepare(library: Library, checkout: Path | None) -> None:
    """Sources and environment, once."""
    if (library.folder / ".ready").exists():
        return
    shutil.rmtree(library.folder, ignore_errors=True)
    library.folder.mkdir(parents=True)
    if checkout is not None:
        shutil.copytree(checkout, library.sources, ignore=shutil.ignore_patterns(".git"))
    elif library.repository:
        clone(library)
    else:
        unpack(library)
    uv("venv", "--quiet", library.folder / "env", "--python", sys.executable)
    uv("pip", "install", "--quiet", "--python", library.python, f"{library.name}=={library.version}", *library.needs)
    (library.folder / ".ready").touch()


def clone(library: Library) -> None:
    """The library's repository at the tag of this version."""
    words = ["git", "-c", "advice.detachedHead=false", "clone", "--quiet", "--depth=1", f"--branch={library.version}"]
    where = [library.repository, str(library.sources)]
    try:
        done = subprocess.run([*words, *where], capture_output=True, text=True, check=False, timeout=CLONED_WITHIN)
        failed = done.stderr.strip() if done.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as why:
        failed = str(why)
    if failed:
        raise NoTests(
            f"the sdist holds no tests, and {library.repository} at tag {library.version} cannot be had ({failed}); "
            f"name a checkout: --source {library.name}=FOLDER"
        )


def unpack(library: Library) -> None:
    """The sdist of the package index."""
    words = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--no-binary",
        library.name,
        "--dest",
        str(library.folder),
        f"{library.name}=={library.version}",
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoSuite(f"{library.name}: no sdist can be had: {done.stderr.strip()[-500:]}")
    (archive,) = library.folder.glob("*.tar.gz")
    with tarfile.open(archive) as sdist:
        sdist.extractall(library.folder, filter="data")
    (unpacked,) = (path for path in library.folder.iterdir() if (path / "PKG-INFO").exists())
    unpacked.rename(library.sources)


def play(library: Library, broker: Played) -> Tally:
    """All tests; those that fail, twice more."""
    start = time.monotonic()
    outcomes = once(library, broker, library.tests)
    if not outcomes:
        raise NoSuite(f"{library.name} on {broker.name}: no test was run; see {log(library, broker)}")
    again: list[str] = []
    for _ in range(TRIES - 1):
        failed = [test for test, outcome in outcomes.items() if outcome == "failed"]
        if not failed:
            break
        later = once(library, broker, ["--last-failed", *library.tests])
        for test in [test for test in failed if test not in later][:ALONE]:  # one that ends pytest takes others with it
            later |= once(library, broker, [test])
        mended = [test for test in failed if later.get(test) == "passed"]
        again += mended
        outcomes |= dict.fromkeys(mended, "passed")
    return Tally(
        library.name,
        library.version,
        broker.name,
        time.strftime("%Y-%m-%d"),
        round(time.monotonic() - start),
        dict(sorted(outcomes.items())),
        sorted(again),
    )


def log(library: Library, broker: Played) -> Path:
    return library.folder / f"{broker.name.split()[0]}.log"


def once(library: Library, broker: Played, tests: Sequence[str]) -> dict[str, str]:
    """One run of pytest over these tests in the sources' folder: the outcome of each test by its id."""
    report = library.folder / "junit.xml"
    report.unlink(missing_ok=True)
    words = [
        library.python,
        "-m",
        "pytest",
        "-q",
        "-p",
        "lead",
        "-o",
        "log_cli=false",
        "-o",
        "junit_family=xunit1",
        f"--junitxml={report}",
        f"--timeout={library.wait}",
        "--timeout-method=signal",
        *tests,
    ]
    if not configured(library.sources):
        words += ["-c", os.devnull, f"--rootdir={library.sources}"]
    left_out = [library.without, library.secure if 5671 not in broker.ports else ""]
    if any(left_out):
        words += ["-k", " and ".join(f"not {word}" for word in left_out if word)]
    with log(library, broker).open("a") as out:
        try:
            subprocess.run(
                [*map(str, words)],
                cwd=library.sources,
                env=environment(library, broker),
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
                check=False,
                timeout=SUITE_WITHIN,
            )
        except subprocess.TimeoutExpired:
            raise NoSuite(f"{library.name} on {broker.name}: not done within {SUITE_WITHIN} s") from None
    return outcomes_of(report) if report.exists() else {}


def configured(sources: Path) -> bool:
    """Has the suite settings of its own? Else pytest would take those of the folder above, which are ours."""
    marks = {
        "pytest.ini": "[pytest]",
        "tox.ini": "[pytest]",
        "setup.cfg": "[tool:pytest]",
        "pyproject.toml": "[tool.pytest",
    }
    return any(mark in (sources / name).read_text() for name, mark in marks.items() if (sources / name).exists())


def environment(library: Library, broker: Played) -> dict[str, str]:
    """What the suites read: where the broker is, and who may log in."""
    known = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "VIRTUAL_ENV"))}
    return known | {
        "PYTHONPATH": f"{HERE / 'lead'}{os.pathsep}{library.sources}",
        "LEAD": broker.lead,
        "AMQP_HOST": "127.0.0.1",
        "AMQP_USERNAME": "guest",
        "AMQP_PASSWORD": "guest",
        "AMQP_URI": "amqp://guest:guest@127.0.0.1:5672/%2F",
        "AMQP_HTTP_URL": "http://127.0.0.1:15672",
        "AMQP_SSL_HOST": "127.0.0.1",
        "RABBITMQ_HOST": "127.0.0.1",
        "AMQP_SSL_URI": "amqps://guest:guest@127.0.0.1:5671/%2F",
    }


def outcomes_of(report: Path) -> dict[str, str]:
    """passed, failed or skipped by id; a test that fails while it sets up or tears down has failed."""
    found: dict[str, str] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        name = f"{case.get('file') or case.get('classname')}::{case.get('name')}"
        holder = str(case.get("classname")).rpartition(".")[2]
        if case.get("file") and not str(case.get("file")).removesuffix(".py").endswith(holder):
            name = f"{case.get('file')}::{holder}::{case.get('name')}"
        found[name] = "failed" if found.get(name) == "failed" else outcome
    return found


def read(text: Mapping[str, Any]) -> Tally:
    """A tally as written."""
    return Tally(**text)
