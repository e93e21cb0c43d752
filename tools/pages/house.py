"""The rooms of the house, as ARCHITECTURE.md lists them: `python -m tools.pages.house`.

Each folder says what it is in the first paragraph of its own docstring; what it may know stands in `tools.rooms`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from conformance.catalogue import rules
from tools.rooms import AREAS, BY_AREA, OURS, ROOMS, ROOT

PAGE = ROOT / "ARCHITECTURE.md"
BEGIN, END = "<!-- the rooms: drawn by tools.pages.house -->", "<!-- end of the rooms -->"
SAME = "Rules, monitors, scenes, mutants and rows lie in folders of the same names, one for each area:"
LEFT_OUT = ("tests", "benchmarks")


def drawn(page: str) -> str:
    """The page with its listing as it is now."""
    rooms = ["| room | what it is | may know |", "|---|---|---|", *rows()]
    table = "\n".join([*rooms, "", SAME, "", "| folder | area | families |", "|---|---|---|", *areas()])
    return re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n{table}\n{END}", page, flags=re.DOTALL)


def rows() -> Iterator[str]:
    for top in OURS:
        if top not in LEFT_OUT:
            doors = sorted((ROOT / top).rglob("__init__.py"))
            for door in (door for door in doors if str(door.parent.parent.relative_to(ROOT)) not in BY_AREA):
                yield f"| {_name(door.parent)} | {_about(door)} | {_knows(door.parent)} |"


def areas() -> Iterator[str]:
    for folder, area in AREAS.items():
        codes = [family.code for family in rules.FAMILIES.values() if family.area == area]
        yield f"| `{folder}/` | {area} | {', '.join(codes)} |"


def _name(folder: Path) -> str:
    """Indented by its depth. Areas have a table of their own, so a folder in one is named with it."""
    parts = folder.relative_to(ROOT).parts
    if "/".join(parts[:-2]) in BY_AREA:
        return "&emsp;" * (len(parts) - 2) + f"`{parts[-2]}/{parts[-1]}/`"
    return "&emsp;" * (len(parts) - 1) + f"`{parts[-1]}/`"


def _about(door: Path) -> str:
    text = ast.get_docstring(ast.parse(door.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")


def _knows(folder: Path) -> str:
    """Of the other rooms: short names, everything, nobody, or what the room around it may."""
    room = ".".join(folder.relative_to(ROOT).parts)
    if room not in ROOMS:
        return ""
    known = ROOMS[room]
    if len(known) >= len(set(OURS)) - 3 and set(known) <= set(OURS):
        return "everything"
    names = dict.fromkeys(_short(name) for name in known if "__version__" not in name and name != room)
    return ", ".join(names) or "nobody"


def _short(name: str) -> str:
    parts = name.rstrip("!").split(".")
    return parts[1] if len(parts) > 1 else parts[0]


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
