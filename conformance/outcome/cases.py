"""Each contradiction as files that can be handed on: what was said, a capture of it, and scripts that say it again.

For the case ACK-002-1 the folder `cases` holds `ACK-002-1.json` (schemas/case.json, enough for `replay`), a transcript
(`.txt`), the exchange as a capture (`.pcap`), and a script for each client that can tell it (`.raw.py`, `.pika.py`,
`.py-amqp.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from conformance.evidence import emit, pcap
from conformance.outcome.ledger import ExchangeStep
from conformance.outcome.results import Case, Results, RuleResult

SCHEMA = "amqp-conformance/case/1"
ARROWS = {">": "->", "<": "<-", "-": " ."}


def files(results: Results) -> Iterator[tuple[str, str | bytes]]:
    """(path in the report, content) for all cases."""
    for rule in results.rules:
        for case in rule.cases:
            yield from _files(results, rule, case)


def _files(results: Results, rule: RuleResult, case: Case) -> Iterator[tuple[str, str | bytes]]:
    scripts, absent = scripts_of(rule, case)
    content = {
        "schema": SCHEMA,
        "run": results.run,
        "seed": results.seed,
        "suite": results.suite,
        "broker": results.broker.name,
        "profile": results.profile,
        "title": rule.title,
        "level": rule.level,
        "source": rule.source,
        "clause": rule.clause,
        **asdict(case),
        "absent": absent,
        "scripts": {library: f"{case.id}.{library}.py" for library in scripts},
    }
    yield f"cases/{case.id}.json", json.dumps(content, sort_keys=True, indent=1, ensure_ascii=False) + "\n"
    if case.steps:
        yield f"cases/{case.id}.txt", transcript(rule, case)
        yield f"cases/{case.id}.pcap", pcap.capture([asdict(step) for step in case.steps])
    for library, text in scripts.items():
        yield f"cases/{case.id}.{library}.py", text


def scripts_of(rule: RuleResult, case: Case) -> tuple[dict[str, str], dict[str, str]]:
    """The scripts of a case by library, and why there is none for the others."""
    if not case.story:
        why = case.untold or "this run made no script of this exchange"
        return {}, dict.fromkeys((emit.RAW, emit.PIKA, emit.AMQP), why)
    about = {
        "id": case.id,
        "title": rule.title,
        "clause": rule.clause,
        "allowed": case.allowed,
        "observed": case.observed,
        "reproduced": case.reproduced,
    }
    scripts, absent = emit.scripts(case.story, about)
    return {library: text for library, text in scripts.items() if library not in case.absent}, {**absent, **case.absent}


def transcript(rule: RuleResult, case: Case) -> str:
    """The exchange in words, with the state beside it."""
    head = [
        f"{rule.id} {rule.title}",
        f"clause    {rule.clause}",
        f"allowed   {case.allowed}",
        f"observed  {case.observed}",
        f"evidence  {case.reproduced}",
        "",
    ]
    return "\n".join([*head, *_lines(case.steps, case.at)]) + "\n"


def _lines(steps: Sequence[ExchangeStep], at: int) -> list[str]:
    rows = [
        (
            f"{'x' if at and step.seq == at else ' '} {step.n}",
            f"{step.connection}.{step.channel}",
            ARROWS[step.direction],
            step.text,
            step.state,
        )
        for step in steps
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return [
        "  ".join(f"{word:<{width}}" for word, width in zip(row[:4], widths, strict=True))
        + (f"  | {row[4]}" if row[4] else "")
        for row in rows
    ]
