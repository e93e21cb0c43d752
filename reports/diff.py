"""A comparison of two runs, as release notes: for a terminal, and as Markdown.

It reads only the document that `amqp-conformance diff --format json` prints, which has the sentences. The most
important changes come first, what may be chance comes last. Brokers choose some of these words, so Markdown is
escaped.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from conformance.evidence.folding import exchange
from conformance.evidence.words import count
from reports.html import visible
from reports.summary import fenced, text

Doc = Mapping[str, Any]
Paint = Callable[[str, str], str]

TITLES: Mapping[str, str] = {
    "broken": "Broken: {before} kept these rules, and {after} does not",
    "fixed": "Fixed: {before} broke these rules, and {after} keeps them",
    "changed reason": "Broken by both, in other ways",
    "new rule": "New: {after} is held to these rules, and {before} is not",
    "gone rule": "Gone: {before} is held to these rules, and {after} is not",
    "now offered": "Now offered",
    "no longer offered": "No longer offered",
    "choices": "Done differently: questions that the texts leave open",
    "seen otherwise": "Kept by both, and done in other ways",
    "unclear": "Where one of the two runs cannot say",
}
ABOUT: Mapping[str, str] = {
    "choices": "The texts leave these open. Each broker was judged by its own answer, which its profile states; "
    "programs that rely on the one answer will not get it from the other broker.",
    "seen otherwise": "The texts leave the choice. What was seen only a few times may be chance.",
}
ORDER = (
    "broken",
    "changed reason",
    "new rule",
    "choices",
    "no longer offered",
    "fixed",
    "now offered",
    "gone rule",
    "seen otherwise",
    "unclear",
)


def sections(document: Doc) -> Iterator[tuple[str, str, str, Sequence[Doc]]]:
    """(kind, title, what it is about, changes or choices), in the order of reading; empty ones are left out."""
    names = {side: document[side]["name"] for side in ("before", "after")}
    for kind in ORDER:
        rows = (
            document["choices"]
            if kind == "choices"
            else [change for change in document["changes"] if change["kind"] == kind]
        )
        if rows:
            yield kind, TITLES[kind].format(**names), ABOUT.get(kind, ""), rows


def footing(document: Doc) -> str:
    """How much did not change, and what was compared."""
    sides = [document[side] for side in ("before", "after")]
    runs = " and ".join(
        f"{side['name']}, run {side['run']} of {side['started']} (profile {side['profile']}, depth {side['depth']})"
        for side in sides
    )
    return f"{count(document['unchanged'], 'other rule')} did not change. Compared were {runs}."


def named(rules: Sequence[str]) -> str:
    """`QOS-006 to QOS-008, QOS-011`."""
    runs: list[list[str]] = []
    for rule in rules:
        if runs and _follows(runs[-1][-1], rule):
            runs[-1].append(rule)
        else:
            runs.append([rule])
    parts = (f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)
    return ", ".join(parts)


def _follows(one: str, other: str) -> bool:
    family, _, number = one.partition("-")
    return other == f"{family}-{int(number) + 1:03d}"


def tied(document: Doc, choice: Doc) -> list[str]:
    """Which rules apply under one of the two answers alone."""
    sides = (("rules_before", "before"), ("rules_after", "after"))
    return [f"Rules for {document[side]['name']} alone: {named(choice[key])}." for key, side in sides if choice[key]]


def question(choice: Doc) -> str:
    """`What ...? (quorum queues)`."""
    return f"{choice['question']}{' (' + choice['queue_type'] + ' queues)' if choice['queue_type'] else ''}"


# -- Markdown


def markdown(document: Doc) -> str:
    """The comparison as a page of Markdown."""
    document = visible(document)
    lines = [
        f"# {text(document['before']['name'])} to {text(document['after']['name'])}",
        "",
        text(document["headline"]),
        "",
    ]
    lines += [line for warning in document["warnings"] for line in (f"> {text(warning)}", "")]
    for kind, title, about, rows in sections(document):
        lines += [f"## {text(title)}", ""] + ([text(about), ""] if about else [])
        for row in rows:
            lines += answered(document, row) if kind == "choices" else _change(row)
    return "\n".join([*lines, text(footing(document))]) + "\n"


def _change(change: Doc) -> Iterator[str]:
    yield f"### {change['rule']}: {text(change['title'])} ({change['level'].upper()})"
    yield ""
    yield text(change["clause"])
    yield ""
    for sentence in change["sentences"]:
        yield f"- {text(sentence)}"
    yield ""
    for case in change["shown"]:
        yield f"The exchange on {text(case['broker'])}, {text(case['queue_type'])} queue ({text(case['reproduced'])}):"
        yield ""
        yield from fenced(exchange(case))
        yield ""


def answered(document: Doc, choice: Doc) -> Iterator[str]:
    """An open question and the two answers to it."""
    yield f"### {text(question(choice))}"
    yield ""
    for side in ("before", "after"):
        yield f"- {text(document[side]['name'])}: {text(choice[side]['meaning'])}"
    yield ""
    if tied(document, choice):
        yield text(" ".join(tied(document, choice)))
        yield ""


# -- terminal


def terminal(document: Doc, paint: Paint = lambda style, said: said, width: int = 96) -> str:
    """The comparison as text."""
    document = visible(document)
    lines = _wrapped(document["headline"], width)
    lines[0] = paint("strong", lines[0])
    for warning in document["warnings"]:
        lines += [paint("warn", line) for line in _wrapped(f"note: {warning}", width)]
    for kind, title, about, rows in sections(document):
        lines += ["", paint(_STYLES.get(kind, "strong"), title)]
        lines += _wrapped(about, width, "  ") if about else []
        for row in rows:
            lines += [
                "",
                *(_question(document, row, width) if kind == "choices" else _describe_change(row, paint, width)),
            ]
    return "\n".join([*lines, "", *_wrapped(footing(document), width)]) + "\n"


_STYLES = {"broken": "bad", "fixed": "good", "changed reason": "bad", "no longer offered": "warn"}


def _describe_change(change: Doc, paint: Paint, width: int) -> Iterator[str]:
    yield f"  {paint('strong', change['rule'])}  {change['title']}  [{change['level'].upper()}]"
    for sentence in change["sentences"]:
        yield from _wrapped(sentence, width, "    ")
    for case in change["shown"]:
        yield paint("dim", f"    on {case['broker']}, {case['queue_type']} queue:")
        yield from (f"      {line}" for line in exchange(case))


def _question(document: Doc, choice: Doc, width: int) -> Iterator[str]:
    yield from _wrapped(question(choice), width, "  ")
    for side in ("before", "after"):
        yield from _wrapped(f"{document[side]['name']}: {choice[side]['meaning']}", width, "    ")
    if tied(document, choice):
        yield from _wrapped(" ".join(tied(document, choice)), width, "    ")


def _wrapped(said: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(
        said, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    ) or [indent]
