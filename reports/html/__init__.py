"""The HTML report: one self-contained page about one or more brokers, made from their results.json alone.

Everything is rendered here: text, squares, pictures, frames. The page can be read without its script: a permalink
`#/RULE` or `#/RULE/BROKER` is a plain fragment, and the panel that it opens is the `:target`, or contains it. The
script adds search, filters and keys. Nothing is loaded from anywhere. The content security policy allows exactly the
one style sheet and the one script, by their hashes, so markup that a broker smuggles into its strings could do
nothing. Nor does it get that far: control and direction characters are written out first, and templates escape.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from conformance.evidence.words import SIGNS, count, describe_side, duration, results_for_display
from reports.html.view import page

__all__ = ["digest", "environment", "policy", "render", "render_many", "visible"]

FOLDER = Path(__file__).parent
FEW, NARROW = 4, 640
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def render(
    results: Mapping[str, Any],
    trust: Mapping[str, Any] | None = None,
    before: Mapping[str, Any] | None = None,
    earlier: Sequence[Mapping[str, Any]] = (),
) -> str:
    """The page for the results of one run, what has changed since the run `before`, and how it went in `earlier` ones
    (`reports.kept`). Equal results give an equal page."""
    return render_many([results], trust=trust, before=[before], earlier=earlier)


def render_many(
    results: Sequence[Mapping[str, Any]],
    compare: Sequence[Mapping[str, Any]] = (),
    trust: Mapping[str, Any] | None = None,
    before: Sequence[Mapping[str, Any] | None] = (),
    earlier: Sequence[Mapping[str, Any]] = (),
) -> str:
    """The page for these runs side by side, one or more. `compare` is what compare.json lists: where a real broker
    and the reference broker that imitates it differ; `trust` what trust.json says of the suite itself, if known;
    `before` the results of the run before each of these, None where there was none."""
    if not results:
        raise ValueError("a page needs the results of at least one run")
    documents = [{**results_for_display(visible(one)), "sha256": digest(one)} for one in results]
    differences = visible(compare)
    previous = [None if one is None else results_for_display(visible(one)) for one in before]
    css, js = style(len(documents)), (FOLDER / "page.js").read_text("utf-8")
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            page=page(documents, differences, previous, visible(earlier)),
            signs=SIGNS,
            css=Markup(css),
            js=Markup(js),
            policy=policy(css, js),
            trust=visible(trust or {}),
        )
    )


def style(brokers: int) -> str:
    """The style sheet of a page with so many columns: few of them stay columns on narrower screens."""
    text = (FOLDER / "page.css").read_text("utf-8")
    return text.replace("(max-width:861px)", f"(max-width:{NARROW}px)") if brokers <= FEW else text


def policy(css: str, js: str) -> str:
    """A content security policy under which nothing but these two texts has any effect."""
    return "; ".join(
        [
            "default-src 'none'",
            f"style-src '{_hash(css)}'",
            f"script-src '{_hash(js)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def digest(results: Mapping[str, Any]) -> str:
    """SHA-256 of results.json as a run writes it, in hexadecimal."""
    written = {name: value for name, value in results.items() if name != "gate_without_deviations"}
    text = json.dumps(written, sort_keys=True, indent=1, ensure_ascii=False) + "\n"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def visible(value: Any) -> Any:
    """The document with control characters, direction overrides and lone surrogates written out in all its strings."""
    if isinstance(value, str):
        return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", value)
    if isinstance(value, Mapping):
        return {visible(name): visible(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [visible(item) for item in value]
    return value


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def environment() -> Environment:
    """The templates of this folder, with the words that they use."""
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals.update(count=count, duration=duration, told=describe_side)
    return environment
