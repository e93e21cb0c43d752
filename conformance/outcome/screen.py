"""The terminal: how wide it is, whether it has colours, and where complaints go."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from typing import IO

ENDLESS = 1 << 16
WIDEST = 110
"""Columns: nobody wants to read a longer line from end to end."""


def complain(message: str) -> None:
    """One paragraph on stderr; what is laid out on purpose stays as it is."""
    text = message
    if "\n" not in message:
        text = textwrap.fill(message, width(), break_long_words=False, break_on_hyphens=False)
    print(text, file=sys.stderr)


def width() -> int:
    """That of the terminal, up to a limit; or what COLUMNS says."""
    columns = shutil.get_terminal_size((100, 24)).columns
    return columns if os.environ.get("COLUMNS", "").isdecimal() else min(columns, WIDEST)


def line_width() -> int:
    """Of what is a line for programs as well: only a terminal, or COLUMNS, asks that it be wrapped."""
    return width() if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal() else ENDLESS


def colored(stream: IO[str]) -> bool:
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
