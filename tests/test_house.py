"""The house keeps its own rules: who may import whom, file by file, and what no file may contain.

The table is HOUSE in one place: a file belongs to the room with the longest matching prefix and may import, of our own
packages, only its room and what the room lists. An entry `package!` means its public door only, not its inside.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
OURS = ("codec", "conformance", "reference_broker", "reports", "tools", "tests", "benchmarks")
SHIPPED = ("codec", "conformance", "reference_broker", "reports")

CATALOGUE, HISTORY, ORACLE = "conformance.catalogue", "conformance.history", "conformance.oracle"
DRIVE, EVIDENCE, OUTCOME = "conformance.drive", "conformance.evidence", "conformance.outcome"
PURE = ("codec", CATALOGUE, HISTORY, ORACLE)
EXAM = (*PURE, DRIVE, EVIDENCE, OUTCOME, "conformance.session")
VERSION = "conformance.__version__"

ROOMS: dict[str, tuple[str, ...]] = {
    "codec": (),
    "reference_broker": ("codec",),
    "conformance": (),
    CATALOGUE: (),
    HISTORY: ("codec",),
    ORACLE: ("codec", HISTORY, CATALOGUE),
    EVIDENCE: PURE,
    DRIVE: PURE,
    f"{DRIVE}.machines": (*PURE, DRIVE, EVIDENCE),
    f"{DRIVE}.scenes": (*PURE, DRIVE, EVIDENCE),
    # what a run found, and how it is told; the deeds and waits that it names are those of the drive
    OUTCOME: (*PURE, EVIDENCE, f"{DRIVE}.deeds", f"{DRIVE}.patience", VERSION),
    "conformance.session": (*EXAM, "conformance.campaigns", "reference_broker", VERSION),
    "conformance.campaigns": (*EXAM, "reference_broker"),
    "conformance.clients": EXAM,
    "conformance.diff": (*EXAM, "conformance.campaigns", "reference_broker", "reports"),
    "conformance.trace": (*EXAM, "reports", VERSION),
    # where users come in: these put the rooms together, so they may know them all
    "conformance.cli": SHIPPED,
    "conformance.plugin": SHIPPED,
    "conformance.fixture": ("codec", "reference_broker", HISTORY),
    # what a run leaves behind is written by whoever renders it
    **dict.fromkeys(
        (f"{OUTCOME}.deliver", f"{OUTCOME}.earlier", f"{OUTCOME}.allured"), (*PURE, OUTCOME, EVIDENCE, "reports"),
    ),
    "reports": ("codec", CATALOGUE, HISTORY, ORACLE, EVIDENCE, VERSION),
    # campaigns on the suite itself, outside of the wheel: they may know anything, and but for tests nobody knows them
    "tools": OURS,
    "tests": OURS,
    "benchmarks": OURS,
}

# where users come in: verbs, plugin, checks, brokers, jobs on Spark; and what runs in a process of its own
DOORS = ("conformance.cli", "conformance.plugin", f"{DRIVE}.scenes", f"{DRIVE}.machines", "codec",
         "reference_broker", "reports.pipeline.__main__", "reports.pipeline.cluster", "conformance.clients.libraries",
         "conformance.evidence.scripts")

# shells: the only files that may touch the clock, chance, threads or the operating system
SHELLS = {
    "reference_broker": {"__init__", "__main__", "server", "embedded", "control", "disk", "committer", "keeper"},
    "conformance.oracle.model": set(),
    "conformance.oracle.monitors": set(),
    "codec": set(),
}
WORLD = {"asyncio", "time", "random", "os", "socket", "threading", "select", "selectors", "secrets", "subprocess"}


def python_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()
    return [ROOT / name for name in listed if name.split("/")[0] in OURS and (ROOT / name).exists()]


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    return max((room for room in ROOMS if module == room or module.startswith(room + ".")), key=len)


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of every import; `from a import b` counts as a.b, which is right for modules and names."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def within(name: str, room: str) -> bool:
    return name == room or name.startswith(room + ".")


def allowed(name: str, room: str) -> bool:
    if within(name, room):
        return True
    for entry in ROOMS[room]:
        if entry.endswith("!"):
            if name.count(".") <= 1 and within(name, entry[:-1]):
                return True
        elif within(name, entry):
            return True
    return False


FILES = python_files()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_imports_only_what_its_room_may_know(path: Path) -> None:
    room = room_of(module_name(path))
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {room} must not import {name}"
        for line, name in imports(path)
        if name.split(".")[0] in OURS and not allowed(name, room)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_pure_file_does_not_touch_the_world(path: Path) -> None:
    module = module_name(path)
    for room, shells in SHELLS.items():
        if within(module, room) and path.stem not in shells:
            wrong = [f"{path.name}:{line}: {name}" for line, name in imports(path) if name.split(".")[0] in WORLD]
            assert not wrong, f"{module} is pure, but imports " + ", ".join(wrong)


def test_nothing_ships_that_no_door_leads_to() -> None:
    shipped = {module_name(path): path for path in FILES if module_name(path).split(".")[0] in SHIPPED}
    reached: set[str] = set()
    ahead = [module for module in shipped if any(within(module, door) for door in DOORS)]
    while ahead:
        module = ahead.pop()
        if module in shipped and module not in reached:
            reached.add(module)
            ahead += [name for _, dotted in imports(shipped[module]) for name in (dotted, dotted.rpartition(".")[0])]
            ahead += [word for word in mentioned(shipped[module]) if word in shipped]
            ahead.append(module.rpartition(".")[0])
    lost = sorted(set(shipped) - reached)
    assert not lost, f"what only maintainers use belongs to tools/, outside of the wheel: {lost}"


def mentioned(path: Path) -> Iterator[str]:
    """Strings of a file: modules that are started by name."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_the_room_table_names_only_rooms_that_exist() -> None:
    modules = {module_name(path) for path in FILES}
    missing = [room for room in ROOMS if not any(within(module, room) for module in modules)]
    assert not missing, f"rooms without a file: {missing}"


def test_no_file_names_the_machine_it_was_written_on() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    host = re.compile("py" + r"pi\.(org|python)|files\.python" + r"hosted|registry\.npm" + r"js|deb\.deb" + r"ian\.org")
    place = re.compile("/wo" + r"rk/|\.\./sha" + r"red|\.lib" + "rary")
    for name in tracked:
        if not (ROOT / name).is_file():
            continue
        text = (ROOT / name).read_text(errors="replace")
        for pattern in (host, place):
            hit = pattern.search(text)
            assert hit is None, f"{name} contains {hit.group(0)!r}"


def test_files_stay_small() -> None:
    sizes = sorted((len(path.read_text().splitlines()), str(path.relative_to(ROOT))) for path in FILES)
    large = [f"{lines} {name}" for lines, name in sizes if lines > 400]
    assert len(large) <= len(sizes) // 25, "too many files over 400 lines:\n" + "\n".join(large)
    median = sizes[len(sizes) // 2][0]
    assert median <= 200, f"the median file has {median} lines"
