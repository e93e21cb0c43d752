"""A badge of one run: as SVG that needs nothing else, and as the JSON that shields' endpoint badges read.

It says the share of MUST rules held, rounded down, and shows an open or a closed gate by a sign as well as by colour. A
run that was cut short says so instead of a share.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from conformance.evidence.words import share
from reports.html import visible

LABEL = "AMQP 0-9-1"
_COLOURS = {"open": "#135e52", "closed": "#b3301b", "cut short": "#6b7075"}
_WIDTH = 6.7
"""Of one character at 11 px, on average."""


def endpoint(results: Mapping[str, Any]) -> str:
    """`{schemaVersion, label, message, color, isError}`."""
    state, message = _label_and_words(results)
    document = {
        "schemaVersion": 1,
        "label": LABEL,
        "message": message,
        "color": _COLOURS[state].lstrip("#"),
        "isError": state != "open",
    }
    return json.dumps(document) + "\n"


def badge(results: Mapping[str, Any]) -> str:
    """The badge as SVG."""
    state, message = _label_and_words(results)
    left, right = (round(len(text) * _WIDTH) + 14 for text in (LABEL, message))
    title = f"{LABEL}: {visible(results['broker']['name'])}, {message}"
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" \
aria-label={quoteattr(title)}>
<title>{escape(title)}</title>
<clipPath id="r"><rect width="{left + right}" height="20" rx="4"/></clipPath>
<g clip-path="url(#r)"><rect width="{left}" height="20" fill="#3b4045"/>
<rect x="{left}" width="{right}" height="20" fill="{_COLOURS[state]}"/></g>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">
<text x="{left / 2:g}" y="14">{LABEL}</text>
<text x="{left + right / 2:g}" y="14">{escape(message)}</text></g>
</svg>
"""


def _label_and_words(results: Mapping[str, Any]) -> tuple[str, str]:
    """What is shown, and its words."""
    if not results.get("complete", True):
        return "cut short", "cut short"
    state = "open" if results["gate"]["open"] else "closed"
    kept = share("must", results["rules"])
    sign = "\N{CHECK MARK}" if state == "open" else "\N{MULTIPLICATION X}"
    return state, f"{sign} {f'{kept.percent}% of MUST' if kept.of else f'gate {state}'}"
