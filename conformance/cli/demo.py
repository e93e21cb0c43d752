"""`amqp-conformance demo`: a broker that is wrong on purpose, examined, and the report of it opened."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.cli.running import grief, run
from conformance.session.exits import GATE_CLOSED, GATE_OPEN, HARNESS_ERROR, Refused


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user asked for."""

    mutant: str
    rules: str
    out: Path
    opened: bool
    words: Sequence[str]


def show(wishes: Wishes) -> int:
    """The exit code: 0 where the broker was found wrong, as it must be."""
    print(f"Examining a broker that is wrong on purpose ({wishes.mutant}) ...", file=sys.stderr)
    outcome = run([f"--amqp-mutant={wishes.mutant}", f"--amqp-rules={wishes.rules}", "--amqp-depth=smoke",
                   f"--amqp-report={wishes.out}"], wishes.words)
    if outcome.results is None:
        raise Refused(outcome.code, grief(outcome))
    page = next(path for path in outcome.written if path.name == "index.html")
    print(page)
    if wishes.opened:
        webbrowser.open(page.absolute().as_uri())
    if outcome.code == GATE_OPEN:
        raise Refused(HARNESS_ERROR, f"Nothing was found wrong with {wishes.mutant} by the rules {wishes.rules}.")
    return GATE_OPEN if outcome.code == GATE_CLOSED else outcome.code
