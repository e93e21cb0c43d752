"""The published JSON Schemas of everything we write, for those who read it with programs of their own."""

from __future__ import annotations

import argparse
import json
from importlib import resources
from typing import Any

from conformance.session.exits import GATE_OPEN, WRONG_USE, Refused

FOLDER = resources.files("conformance") / "schemas"


def arguments(added: argparse.ArgumentParser) -> None:
    added.add_argument("name", nargs="?", help="results, case, recording, deviations, ...; default: list all schemas")


def run(options: argparse.Namespace) -> int:
    print(text(options.name) if options.name else listing(), end="")
    return GATE_OPEN


def names() -> list[str]:
    """Of what there are schemas."""
    return sorted(entry.name.removesuffix(".json") for entry in FOLDER.iterdir() if entry.name.endswith(".json"))


def text(name: str) -> str:
    """The schema as it is shipped. Raises Refused."""
    if name not in names():
        raise Refused(WRONG_USE, f"There is no schema of {name!r}; there are {', '.join(names())}.")
    return (FOLDER / f"{name}.json").read_text(encoding="utf-8")


def listing() -> str:
    """Name, title and version of each, one a line."""
    documents: dict[str, dict[str, Any]] = {name: json.loads(text(name)) for name in names()}
    wide = max(map(len, documents))
    return "".join(f"{name:<{wide}}  {one['title']} ({one['$id']})\n" for name, one in documents.items())
