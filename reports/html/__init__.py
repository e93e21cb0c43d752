"""The report: one self-contained page, made from results.json alone.

Everything is rendered here: text, squares, pictures, frames. The page needs no script to be read, since a permalink
`#/RULE` is a plain fragment and the panel it opens is a `:target`; the script adds search, filters and keys. Nothing is
loaded from anywhere. The content security policy allows exactly the one style sheet and the one script by their
hashes, so that even markup smuggled through a broker's strings could do nothing; and no string gets that far, since
templates escape, and control and direction characters are made visible.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from reports.html.view import page
from reports.html.words import SIGNS, count, duration

__all__ = ["render"]

FOLDER = Path(__file__).parent
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def render(results: Mapping[str, Any]) -> str:
    """The page for the results of one run. Equal results give an equal page."""
    css, js = (FOLDER / "page.css").read_text("utf-8"), (FOLDER / "page.js").read_text("utf-8")
    return _environment().get_template("page.html.j2").render(
        page=page(results), results=results, signs=SIGNS, css=Markup(css), js=Markup(js),
        policy=policy(css, js),
    )


def policy(css: str, js: str) -> str:
    """A content security policy under which nothing but these two texts has any effect."""
    return "; ".join([
        "default-src 'none'", f"style-src '{_hash(css)}'", f"script-src '{_hash(js)}'", "img-src data:",
        "base-uri 'none'", "form-action 'none'",
    ])


def visible(value: object) -> object:
    """Control characters, direction overrides and lone surrogates, written out instead of obeyed."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", value)
    return value


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined, finalize=visible,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )
    environment.globals.update(count=count, duration=duration)
    return environment
