"""What two brokers do differently, as a Markdown note with the exchange that shows it.

Each exchange was played on both brokers, and the note shows what each of them answered. The rows of a reproducer are in
the words of the protocol, without the names of one run. What brokers say is shown unchanged, in fences or escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance.evidence.words import count
from reports import diff
from reports.html import visible
from reports.summary import fenced, text

Doc = Mapping[str, Any]
_ELSEWHERE = re.compile(r"amqpconf\.[\w.-]+")
_OURS = re.compile(r"amqpconf\.[0-9a-f]{12}\.(\w+)")
"""A name of the reproducer as it was in one performance."""
_HIDDEN = (
    "n",
    "who",
    "on",
    "channel",
    "method",
    "decisive",
    "seconds",
    "first",
    "after",
    "words",
    "counts",
    "routing_key",
    "message",
    "properties",
    "body",
    "delivery_tag",
    "queue",
    "exchange",
    "capabilities",
    "reserved_1",
    "consumer_tag",
)


def markdown(document: Doc) -> str:
    """The note."""
    document = visible(document)
    before, after = document["before"]["name"], document["after"]["name"]
    lines = [f"# Compatibility note: {text(before)} and {text(after)}", "", text(_summary(document)), ""]
    for number, entry in enumerate(document["disagreements"], 1):
        lines += _entry(number, entry, document["played"])
    if document["choices"]:
        lines += ["## Open questions that are answered differently", "", text(diff.ABOUT["choices"]), ""]
        lines += [line for choice in document["choices"] for line in diff.answered(document, choice)]
    if document["untold"]:
        lines += [
            "## Seen, but not reproduced",
            "",
            "No reproducer was found that shows these differences each time on one "
            "broker and never on the other. They may be races, or need time or settings.",
            "",
        ]
        lines += [
            f"- **{one['rule']}** {text(one['title'])}: on {text(one['broker'])} {text(one['observed'])}. "
            f"{text(_sentence(one['why']))}"
            for one in document["untold"]
        ]
    return "\n".join(lines).rstrip() + "\n"


def _summary(document: Doc) -> str:
    found, open_ones = document["disagreements"], document["untold"]
    rest = f" {count(len(open_ones), 'further contradiction')} could not be reproduced." if open_ones else ""
    if not found:
        return f"In {count(document['scenes'], 'scene')} no exchange was found on which the two differ.{rest}"
    return (
        f"The two differ in {count(len(found), 'exchange')}, each made as short as possible and played "
        f"{document['played']} times on both.{rest}"
    )


def _entry(number: int, entry: Doc, played: int) -> Iterator[str]:
    rules = entry["rules"]
    yield f"## {number}. {text(rules[0]['title'])}"
    yield ""
    yield f"{text(rules[0]['clause'])} ({', '.join(one['rule'] for one in rules)})"
    yield ""
    yield from fenced(list(describe_rows(entry["story"])))
    yield ""
    for name, answers in entry["answers"].items():
        yield f"**{text(name)}** answers:"
        yield ""
        yield from fenced([_OURS.sub(r"\1", line) for line in answers])
        yield ""
    for one in rules:
        observed, allowed = (text(_bare(one[name])) for name in ("observed", "allowed"))
        yield (
            f"- By the profile {text(one['profile'])} {text(one['broker'])} contradicts {one['rule']} on "
            f"{one['queue_type']} queues: {observed}. Allowed: {allowed}."
        )
    yield ""


def describe_rows(reproducer: Sequence[Doc]) -> Iterator[str]:
    """The rows of a reproducer in words, up to the last of the client; answers that only say `-ok` are left out."""
    last = max((place for place, row in enumerate(reproducer) if row["who"] != "<"), default=0)
    came = {row["n"]: row.get("message") for row in reproducer}
    for row in reproducer[: last + 1]:
        if row["method"].endswith("-ok") and row["who"] == "<" and row["method"] != "basic.get-ok":
            continue
        yield f"{row['who']} {_where(row):<8} {_words(row, came)}".rstrip()


def _where(row: Doc) -> str:
    return f"{row['on']}.{row['channel']}" if row.get("channel") else str(row["on"])


def _words(row: Doc, came: Mapping[int, str | None]) -> str:
    if row["who"] == "-":
        return str(
            {
                "connect": "connects",
                "hang_up": "hangs up",
                "pause": f"waits {row.get('seconds')} s",
                "silence": f"waits: {row.get('about')}",
                "drain": f"empties {_bare(row.get('queue'))} by basic.get",
            }.get(row["method"], row["method"])
        )
    words = [row["method"]]
    tag = row.get("delivery_tag")
    if isinstance(tag, str) and tag[1:].isdecimal():
        words.append(f"of {came.get(int(tag[1:]))}")
    elif tag is not None:
        words.append(str(tag))
    words.append(str(row.get("message") or row.get("properties", {}).get("message_id") or row.get("body") or ""))
    words += [f"to {_bare(row['routing_key'])}"] if row["method"] == "basic.publish" else []
    words += [_bare(row[name]) for name in ("exchange", "queue", "consumer_tag") if row.get(name)]
    words += [_field(name, value) for name, value in row.items() if name not in _HIDDEN and value not in (False, "", 0)]
    return " ".join(filter(None, words))


def _bare(name: object) -> str:
    """`q1` for {q1}; a queue that the reproducer does without has no number."""
    return _ELSEWHERE.sub("another-queue", str(name)).removeprefix("{").removesuffix("}")


def _field(name: str, value: object) -> str:
    name = name.rstrip("_").replace("_", "-")
    if isinstance(value, Mapping):
        return " ".join(f"{key}={_bare(inner)}" for key, inner in value.items())
    return name if value is True else f"{name}={_bare(value)}"


def _sentence(said: str) -> str:
    return said[:1].upper() + said[1:].rstrip(".") + "."
