"""Sections of docs/trust.md that have campaigns of their own: each is put into the page, or left as it is.

The rest of the page needs a whole campaign of mutants, which is another matter. A section ends where the next one
begins.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

BEFORE = "## Mutants of the reference broker"
"""What they stand before."""


def measured(source: Path) -> dict[str, Any] | None:
    """The figures of a campaign; None where there was none."""
    if not source.exists():
        return None
    read: dict[str, Any] = json.loads(source.read_text(encoding="utf-8"))
    return read


def found(page: str, title: str) -> str:
    """The section with this title as it stands in the page; empty where there is none."""
    start = page.find(f"{title}\n")
    end = page.find("\n## ", start)
    return "" if start < 0 else page[start : end if end >= 0 else None]


def placed(page: str, title: str, text: str) -> str:
    """The page with this section, in place of the one that it has under this title."""
    start = page.find(f"{title}\n")
    if start >= 0:
        end = page.find("\n## ", start)
        page = page[:start] + (page[end + 1 :] if end >= 0 else "")
    at = page.find(BEFORE)
    if not text:
        return page
    return f"{page[:at]}{text}\n{page[at:]}" if at >= 0 else f"{page.rstrip()}\n\n{text}"


def cell(text: str) -> str:
    """Of a table: one line, no bars, not too long."""
    line = " ".join(text.split()).replace("|", "\\|")
    return line if len(line) <= 160 else f"{line[:159]}…"
