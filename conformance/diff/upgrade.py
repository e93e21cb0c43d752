"""`run --preset rabbitmq-upgrade A B`: both brokers examined, one after the other, and one page about what changes.

    OUT/index.html                what changes for your applications, as `diff` tells it
    OUT/diff.json                 the same for programs
    OUT/before/, OUT/after/       the report of each

A side is a URL, with what no client can find out behind it: amqp://...[,admin=http://...][,consumer-timeout=MS].
Everything else that is said holds for both runs. The exit code is that of `diff`: 0 nothing differs, 1 something does;
or that of a run that came to no verdicts.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.diff.differences import compare
from conformance.diff.files import formatted, results_in, write
from conformance.diff.nodes import BadNode, Node
from conformance.session.exits import GATE_CLOSED, GATE_OPEN, INTERRUPTED, UNREACHABLE, WRONG_USE, Refused
from conformance.session.interrupts import ending
from reports.html.diff import render

PRESETS = ("rabbitmq-upgrade",)
SIDES = ("before", "after")
OUT = Path("upgrade")
COMMAND = (sys.executable, "-m", "conformance.cli")


@dataclass(frozen=True, slots=True)
class UpgradeOptions:
    """`words`: the options of `run` that hold for both."""

    brokers: Sequence[str]
    out: Path
    words: Sequence[str]
    format: str = "text"
    color: bool = False


Examine = Callable[[Sequence[str]], int]
"""Runs the command line with these words; its exit code. Usually that is a process of its own."""


def upgrade(wanted: UpgradeOptions, examine: Examine | None = None) -> int:
    """The exit code. Raises Refused."""
    nodes = [_node(side, broker) for side, broker in zip(SIDES, wanted.brokers, strict=True)]
    with ending() as end:
        for node in nodes:
            print(f"{node.name} the upgrade: {node.url.rpartition('@')[2]}", file=sys.stderr, flush=True)
            words = [*_words(node, wanted.out / node.name), *wanted.words]
            code = examine(words) if examine else end.run([*COMMAND, *words], subprocess.DEVNULL)
            if end.is_interrupted or code not in (GATE_OPEN, GATE_CLOSED):
                raise Refused(
                    INTERRUPTED if end.is_interrupted else code, _why(node.name, code, interrupted=end.is_interrupted)
                )
    return _compared(wanted)


def _compared(wanted: UpgradeOptions) -> int:
    """The page about both, in words here as well."""
    found = compare(*(results_in(wanted.out / side) for side in SIDES))
    document = json.loads(json.dumps(found.plain()))
    write(formatted(document, "json"), wanted.out / "diff.json", "--report")
    write(render(document, {side: f"{side}/index.html" for side in SIDES}), wanted.out / "index.html", "--report")
    print(formatted(document, wanted.format, color=wanted.color), end="")
    return GATE_OPEN if found.same else GATE_CLOSED


def _node(side: str, broker: str) -> Node:
    named = broker if re.match(r"[\w.-]+=amqps?:", broker) else f"{side}={broker}"
    try:
        found = Node.parse(named)
    except BadNode:
        raise Refused(WRONG_USE, f"A broker is named URL[,admin=URL][,consumer-timeout=MS], not {broker}.") from None
    return Node(side, found.url, found.admin, found.consumer_timeout)


def _words(node: Node, report: Path) -> list[str]:
    """The words of one run."""
    more = {"--broker-admin": node.admin, "--consumer-timeout": node.consumer_timeout, "--report": report}
    return ["run", node.url, *(str(word) for pair in more.items() if pair[1] is not None for word in pair)]


def _why(side: str, code: int, *, interrupted: bool) -> str:
    if interrupted:
        return f"Interrupted while the broker {side} the upgrade was tested. Its report has what was recorded."
    end = "is not there" if code == UNREACHABLE else "could not be tested"
    return f"The broker {side} the upgrade {end}; what was wrong is said above. Nothing was compared."
