"""The house keeps its own rules: who may import whom, file by file, and what no file may contain.

The rooms, and what each may know, stand in `tools.rooms`.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.catalogue import rules
from tests.support.schedule import KNOWN
from tools.pages import house
from tools.rooms import (
    AREAS,
    BY_AREA,
    DRIVE,
    ENTANGLED,
    MOST,
    OURS,
    ROOMS,
    ROOT,
    SHIPPED,
    allowed,
    circles,
    folder_of,
    graph,
    imports,
    module_name,
    python_files,
    room_of,
    within,
)

# where users come in: verbs, plugin, checks, brokers, jobs on Spark; and what runs in a process of its own
DOORS = (
    "conformance.cli",
    "conformance.plugin",
    f"{DRIVE}.scenes",
    f"{DRIVE}.machines",
    "codec",
    "reference_broker",
    "reports.pipeline.cluster",
    "conformance.clients.libraries",
    "conformance.evidence.scripts",
    # found by their files
    "conformance.oracle.monitors",
)

# shells: the only files that may touch the clock, chance, threads or the operating system
SHELLS = {
    "reference_broker": {
        "__init__",
        "__main__",
        "peer",
        "server",
        "configuration",
        "embedded",
        "control",
        "disk",
        "committer",
        "keeper",
    },
    "reference_broker.core": set(),
    "conformance.oracle.model": set(),
    "conformance.oracle.monitors": set(),
    "codec": set(),
}
WORLD = {"asyncio", "time", "random", "os", "socket", "threading", "select", "selectors", "secrets", "subprocess"}


OWN_WORDS = {"machines", "scripts", "mutants", "dialects"}
"""Folders of files with words of their own that others do not import: a machine's commands, what a reproducer needs."""

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


def test_no_files_import_each_other_in_a_circle() -> None:
    """Imports inside of functions and for types count. What is excused has its reason, and is still a circle."""
    found = circles(graph([path for path in FILES if path.parts[len(ROOT.parts)] in (*SHIPPED, "tools")]))
    needed = set()
    for one in found:
        reason = next(
            (
                why
                for why, names in ENTANGLED.items()
                if all(any(within(module, name) for name in names) for module in one)
            ),
            None,
        )
        assert reason is not None, f"these import each other in a circle: {', '.join(sorted(one))}"
        needed.add(reason)
    assert needed == set(ENTANGLED), "some are excused without need"


def test_a_circle_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}) == [{"a", "b", "c"}]
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_files_that_take_long_are_still_there() -> None:
    gone = [name for name in KNOWN if not name.startswith("spark ") and not (ROOT / name).exists()]
    assert not gone, f"tests/support/seconds.json names what is gone: {', '.join(gone)}"


@pytest.mark.parametrize("package", SHIPPED)
def test_no_two_classes_have_one_name(package: str) -> None:
    where: dict[str, set[str]] = {}
    for path in FILES:
        if within(module_name(path), package) and OWN_WORDS.isdisjoint(path.parent.parts):
            for name in classes(path):
                where.setdefault(name, set()).add(str(path.relative_to(ROOT)))
    assert not {name: sorted(paths) for name, paths in where.items() if len(paths) > 1}


def classes(path: Path) -> list[str]:
    """Those that other files may import."""
    top = ast.parse(path.read_text("utf-8")).body
    return [one.name for one in top if isinstance(one, ast.ClassDef) and not one.name.startswith("_")]


def test_no_folder_is_an_attic() -> None:
    held = Counter(str(path.parent.relative_to(ROOT)) for path in FILES)
    assert not {folder: files for folder, files in held.items() if files > MOST}


@pytest.mark.parametrize("family", rules.FAMILIES.values(), ids=lambda family: family.code)
def test_a_family_lies_in_the_folder_of_its_area(family: rules.Family) -> None:
    """Its rules, its judge, its scenes and its rows."""
    area, code = folder_of(family), family.code.lower()
    kinds = zip(BY_AREA, ("{}.toml", "{}*.py", "test_{}.py", "", "test_{}.py"), strict=True)
    missing = [
        f"{folder}/{area}/{name.format(code)}"
        for folder, name in kinds
        if name and not any((ROOT / folder / area).glob(name.format(code)))
    ]
    assert not missing, "a family lies in the folder of its area: " + ", ".join(missing)


def test_no_other_folder_stands_beside_the_areas() -> None:
    for room in BY_AREA[:-1]:
        there = {path.parent.name for path in (ROOT / room).glob("*/*.*") if path.suffix in (".py", ".toml")}
        assert there == set(AREAS), f"{room} has a folder for each area of tools/rooms.py"


def test_the_plan_is_drawn_from_the_rooms() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert house.drawn(page) == page, "python -m tools.pages.house draws it anew"
