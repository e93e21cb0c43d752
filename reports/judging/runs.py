"""What is known of a run beside its verdicts, and a digest of all that judges."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance import __version__, oracle
from conformance.catalogue import profiles, rules
from conformance.history import events
from reports.objects import origin

if TYPE_CHECKING:
    from reports.pipeline.inputs import Inputs


@cache
def judging() -> str:
    """A digest of the code and the rules that judge."""
    folders = [Path(__file__).parent, *(Path(str(one.__file__)).parent for one in (oracle, rules, profiles))]
    files = [Path(events.__file__)]
    files += [path for folder in folders for path in sorted(folder.rglob("*")) if path.suffix in (".py", ".toml")]
    return digest(__version__, *(path.read_text("utf-8") for path in files))


def about(inputs: Inputs, run: str, counted: Mapping[str, Any]) -> dict[str, Any]:
    """What the lake keeps of a run. A capture begins with its first packet."""
    header = inputs.headers[run]
    began = datetime.fromtimestamp(int(counted.get("began", 0)) // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        **header,
        **counted,
        "started": header.get("started") or began,
        "files": [origin(path) for path in inputs.held[run]],
    }


def held_to(about: Mapping[str, Any], profile: str | None) -> dict[str, Any]:
    """What is known of a run, with the profile that it is held to: the one that is asked for, else its own."""
    kept = {key: value for key, value in about.items() if key != "choices" or profile is None}
    return {**kept, "profile": profile or profiles.spec(about)}


def line(run: str, about: Mapping[str, Any], profile: str) -> dict[str, Any]:
    """One row of marts.RUNS."""
    said = about.get("server_properties") or {}
    return {
        "run": run,
        "broker": str(about.get("broker", "")),
        "product": str(said.get("product", "")),
        "version": str(said.get("version", "")),
        "profile": profile,
        "started": str(about.get("started", "")),
        "kind": str(about.get("kind", "")),
        "suite": str(about.get("suite", "")),
        **{name: int(about.get(name, 0)) for name in ("events", "histories", "connections")},
    }


def digest(*parts: object) -> str:
    return hashlib.blake2b(json.dumps([str(part) for part in parts]).encode(), digest_size=12).hexdigest()
