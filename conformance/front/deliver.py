"""Results to files: `results.json` first, because everything else can be made of it again."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from conformance.results import Results, to_json
from reports import exports, html


def deliver(results: Results, directory: Path) -> list[Path]:
    """Write the report; tells what was written."""
    text = to_json(results)
    document = json.loads(text)
    files = {
        "results.json": text, "index.html": html.render(document), "junit.xml": exports.junit(document),
        "summary.md": exports.markdown(document),
    }
    for rule in results.rules:
        for case in rule.cases:
            content = {"schema": "amqp-conformance/case/1", "run": results.run, "broker": results.broker.name,
                       "profile": results.profile, "clause": rule.clause, **asdict(case)}
            files[f"cases/{case.id}.json"] = json.dumps(content, sort_keys=True, indent=1, ensure_ascii=False) + "\n"
    return [_written(directory / name, content) for name, content in files.items()]


def _written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
