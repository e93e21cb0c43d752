"""The tables of the lake as a page: `python -m tools.pages.lake` writes docs/lake-tables.md.

The page is committed, so that people can read it without an installation. A test proves that it is fresh.
"""

from __future__ import annotations

from pathlib import Path

from reports.lake.columns import TABLES

PAGE = Path(__file__).parents[2] / "docs" / "lake-tables.md"

_HEAD = """\
# The tables of the lake

`python -m tools.pages.lake` writes this page from `reports/lake/columns.py`; change that file, not this page.
[query-the-lake.md](query-the-lake.md) shows queries. Delta tables have the same descriptions as comments on their
columns. `trace watch` writes `judgements`; `trace check` writes the other tables.
"""
_COLUMNS = ("| column | type | meaning |", "|---|---|---|")


def page() -> str:
    """The whole page."""
    lines = [_HEAD]
    for table in TABLES.values():
        parts = f" Partitioned by {' and '.join(table.parts)}." if table.parts else ""
        lines += [f"## {table.name}", "", f"A row is {table.row}.{parts}", "", *_COLUMNS]
        lines += [f"| `{name}` | {table.kind(name)} | {table.comment(name)} |" for name in table.arrow.names]
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
