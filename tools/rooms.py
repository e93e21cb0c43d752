"""The plan of the house: its rooms, who may know whom, and what its files import.

The table is HOUSE in one place: a file belongs to the room with the longest matching prefix and may import, of our own
packages, only its room and what the room lists. An entry `package!` means its public door only, not its inside.
`tests/test_house.py` holds every file to it; `tools.pages.house` draws it into ARCHITECTURE.md.
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from conformance.catalogue.rules import Family

ROOT = Path(__file__).resolve().parents[1]
OURS = ("codec", "conformance", "reference_broker", "reports", "tools", "tests", "benchmarks")
SHIPPED = ("codec", "conformance", "reference_broker", "reports")

CATALOGUE, HISTORY, ORACLE = "conformance.catalogue", "conformance.history", "conformance.oracle"
DRIVE, EVIDENCE, OUTCOME = "conformance.drive", "conformance.evidence", "conformance.outcome"
PURE = ("codec", CATALOGUE, HISTORY, ORACLE)
EXAM = (*PURE, DRIVE, EVIDENCE, OUTCOME, "conformance.session")
VERSION = "conformance.__version__"

ROOMS: dict[str, tuple[str, ...]] = {
    "codec": (),
    "reference_broker": ("codec", "reference_broker.core"),
    "reference_broker.core": ("codec",),
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
        (f"{OUTCOME}.deliver", f"{OUTCOME}.earlier", f"{OUTCOME}.allured"),
        (*PURE, OUTCOME, EVIDENCE, "reports"),
    ),
    "reports": ("codec", CATALOGUE, HISTORY, ORACLE, EVIDENCE, VERSION),
    # campaigns on the suite itself, outside of the wheel: they may know anything, and but for tests nobody knows them
    "tools": OURS,
    "tests": OURS,
    "benchmarks": OURS,
}

ENTANGLED: dict[str, tuple[str, ...]] = {
    "what a broker is made of knows what it is part of: a queue its vhost, a channel its connection": (
        "reference_broker.core",
    ),
    "a queue tells the journal what becomes of its messages, and the journal asks it what it holds": (
        "reference_broker.store.definitions",
        "reference_broker.store.journal",
        "reference_broker.store.keeping",
    ),
    "a server drives its peers and its keeper, and they tell it what they have done": (
        "reference_broker.peer",
        "reference_broker.server",
        "reference_broker.store.keeper",
    ),
    "a request knows the node that it is about, and the node refuses in the way of requests": (
        "reference_broker.management.node",
        "reference_broker.management.route",
    ),
    "the records of the model refer to each other": (f"{ORACLE}.model",),
    "a stage is handed to what is around it, and to what ends it": (
        f"{DRIVE}.stage",
        f"{DRIVE}.around",
        f"{DRIVE}.ending",
    ),
    "a Parquet recording has the columns of the pipeline, which reads such recordings": (
        "reports.parquet",
        "reports.pipeline.ingest",
    ),
}
"""Files that may import each other in a circle, by the reason."""
BY_AREA = (
    "conformance/catalogue/rules",
    "conformance/oracle/monitors",
    "conformance/drive/scenes",
    "reference_broker/mutants",
    "tests/conformance/oracle/monitors",
)
"""Folders with a folder for each area, in which lies what its families have there."""
AREAS = {
    "deliveries": "Deliveries",
    "requeueing": "Requeueing",
    "consumers": "Consumers",
    "publishing": "Publishing",
    "contents": "Contents",
    "connections": "Connections and rights",
    "topology": "Names and routes",
    "messages": "Messages",
}
"""The areas by their folders, as the families name them."""
MOST = 20


def folder_of(family: Family) -> str:
    """Where the files of this family lie, in each of `BY_AREA`."""
    return next(folder for folder, area in AREAS.items() if area == family.area)


def python_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
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


def graph(files: list[Path]) -> dict[str, set[str]]:
    """Which of these modules each imports, inside of functions and for types included."""
    paths = {module_name(path): path for path in files}

    def known(name: str) -> str:
        while name and name not in paths:
            name = name.rpartition(".")[0]
        return name

    return {
        module: {found for _, name in imports(path) if (found := known(name)) not in ("", module)}
        for module, path in paths.items()
    }


def circles(knows: Mapping[str, set[str]]) -> list[set[str]]:
    """The sets of modules in which each leads to each (Tarjan's algorithm), those of one module left out."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_: list[str] = []
    found: list[set[str]] = []

    def visit(module: str) -> None:
        number[module] = lowest[module] = len(number)
        open_.append(module)
        for other in sorted(knows[module]):
            if other not in number:
                visit(other)
            if other in open_:
                lowest[module] = min(lowest[module], lowest[other])
        if lowest[module] == number[module]:
            at = open_.index(module)
            found.append(set(open_[at:]))
            del open_[at:]

    for module in sorted(knows):
        if module not in number:
            visit(module)
    return [one for one in found if len(one) > 1]
