"""The tables of the lake as a page: `python -m tools.pages.lake` writes docs/lake-tables.md.

The page is committed, so that it can be read and linked without installing anything; a test proves that it is fresh.
"""

from __future__ import annotations

from pathlib import Path

from reports.pipeline.columns import TABLES

PAGE = Path(__file__).parents[2] / "docs" / "lake-tables.md"

_HEAD = """\
# The tables of the lake

Written by `python -m tools.pages.lake` from `reports/pipeline/columns.py`; change that, not this page. How to ask them:
[query-the-lake.md](query-the-lake.md). A Delta table tells the same as comments of its columns. `judgements` is written
by `trace watch`, the others by `trace check`.
"""
_COLUMNS = ("| column | type | what |", "|---|---|---|")


def page() -> str:
    """The whole page."""
    lines = [_HEAD]
    for table in TABLES.values():
        parts = f" Laid apart by {' and '.join(table.parts)}." if table.parts else ""
        lines += [f"## {table.name}", "", f"A row is {table.row}.{parts}", "", *_COLUMNS]
        lines += [f"| `{name}` | {table.kind(name)} | {table.comment(name)} |" for name in table.arrow.names]
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
