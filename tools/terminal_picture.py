"""What a command prints on a terminal, as a page that can be photographed: colours and all.

    python -m tools.terminal_picture --out docs/look/explain.webp -- explain RQ-001

The command runs in a terminal of its own, so it prints what people see; of its escape codes those are known that
`conformance.outcome.terminal` writes.
"""

from __future__ import annotations

import argparse
import html
import os
import pty
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from conformance.session.exits import GATE_OPEN, HARNESS_ERROR
from tools.chrome import BrowserFailed
from tools.screenshots import browser

COLUMNS = 100
CODE = re.compile(r"\x1b\[([\d;]*)m")
COLOURS = {"1;31": "bad", "1;32": "good", "33": "warn", "2": "dim", "1": "strong"}
STYLE = """body{margin:0;background:#0e1215;color:#e8ebe9;font:13px/1.35 "DejaVu Sans Mono",monospace}
pre{margin:0;padding:18px 22px;width:max-content;font:inherit}.bad{color:#ff7a5f;font-weight:700}
.good{color:#6fd6bd;font-weight:700}.warn{color:#e3b04a}.dim{color:#8a959a}.strong{font-weight:700}"""


def printed(words: Sequence[str], columns: int = COLUMNS) -> str:
    """What the command prints on a terminal of this width; progress and complaints aside."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(
        [sys.executable, "-m", "conformance.cli", *words], stdout=theirs, stderr=subprocess.DEVNULL, env=environment
    ) as child:
        os.close(theirs)
        said = bytearray()
        while data := _read(ours):
            said += data
        child.wait()
    os.close(ours)
    return said.decode("utf-8", "replace").replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    """Nothing where the other side has hung up."""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


def page(text: str, command: str) -> str:
    """The page: what was typed, and what was printed."""
    body = [f'<span class="strong">$ amqp-conformance {html.escape(command)}</span>\n']
    style = ""
    for place, part in enumerate(CODE.split(text)):
        if place % 2:
            style = COLOURS.get(part, "")
        elif part:
            body.append(f'<span class="{style}">{html.escape(part)}</span>' if style else html.escape(part))
    return f"<!doctype html><meta charset=utf-8><title>terminal</title><style>{STYLE}</style><pre>{''.join(body)}</pre>"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.terminal_picture")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--from", dest="start", default="", help="leave out what comes before the line that begins so")
    parser.add_argument("words", nargs="+", help="the command, after --")
    options = parser.parse_args(arguments)
    text = printed(options.words)
    begin = next(
        (
            place
            for place, line in enumerate(text.splitlines())
            if options.start and CODE.sub("", line).startswith(options.start)
        ),
        0,
    )
    shown = "\n".join(["...", *text.splitlines()[begin:]] if begin else text.splitlines())
    try:
        picture(page(shown, " ".join(options.words)), options.out)
    except BrowserFailed as problem:
        print(f"no picture: {problem}", file=sys.stderr)
        return HARNESS_ERROR
    print(options.out)
    return GATE_OPEN


def picture(document: str, out: Path) -> None:
    """The page in a window that just holds it."""
    with tempfile.TemporaryDirectory() as folder, browser() as chrome:
        path = Path(folder) / "terminal.html"
        path.write_text(document, encoding="utf-8")
        chrome.open(f"file://{path}")
        width, height = (
            int(chrome.js(f"Math.ceil(document.querySelector('pre').getBoundingClientRect().{side})"))
            for side in ("width", "height")
        )
        chrome.open(f"file://{path}", width=width, height=height)
        chrome.picture(out)


if __name__ == "__main__":
    sys.exit(main())
