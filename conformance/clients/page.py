"""The document of `amqp-conformance clients` in words: a summary for the terminal, a page for docs/clients.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from conformance.catalogue import rules
from conformance.clients.rules import CANNOT, CHANGED, HIDDEN, NOT_MET, PARTLY, SHOWN
from conformance.outcome.markdown import link, table

Library = Mapping[str, Any]

STATUSES = {
    SHOWN: "an application sees everything that the rule is about",
    PARTLY: "the library leaves out something that the rule needs, always or in some scenes",
    HIDDEN: "an application sees nothing by which it could judge the rule",
    CHANGED: "the library shows something that did not come, so an application would blame the broker",
    CANNOT: "the library cannot send what the rule's scene sends",
    NOT_MET: "the rule was not exercised on this broker",
}

ASKED: Sequence[tuple[str, str, str | None]] = (
    ("a confirm's delivery tag", "basic.ack", "delivery_tag"),
    ("a confirm's multiple flag", "basic.ack", "multiple"),
    ("that a publish was refused", "basic.nack", None),
    ("which publish was refused", "basic.nack", "delivery_tag"),
    ("that a message was returned", "basic.return", None),
    ("why it was returned", "basic.return", "reply_code"),
    ("a delivery's tag", "basic.deliver", "delivery_tag"),
    ("a delivery's redelivered flag", "basic.deliver", "redelivered"),
    ("the redelivered flag of a get", "basic.get-ok", "redelivered"),
    ("that a get found nothing", "basic.get-empty", None),
    ("that the broker cancelled a consumer", "basic.cancel", None),
    ("which consumer that was", "basic.cancel", "consumer_tag"),
    ("that a channel was closed", "channel.close", None),
    ("which channel was closed", "channel.close", "channel"),
    ("the reply code of that", "channel.close", "reply_code"),
    ("that the connection was closed", "connection.close", None),
    ("the reply code of that", "connection.close", "reply_code"),
    ("that the connection was lost", "end", None),
)
"""What client authors ask: is this shown? In words, the method, and the field."""


def markdown(document: Mapping[str, Any]) -> str:
    """The page."""
    libraries = document["libraries"]
    parts = [
        _head(document),
        _glance(libraries),
        _methods(libraries),
        *map(_habits, libraries),
        _rules(libraries),
        *map(_reasons, libraries),
        _broker(document),
    ]
    return "\n".join(parts)


def text(document: Mapping[str, Any]) -> str:
    """The summary."""
    lines = [f"broker: {document['broker']['name']}, profile {document['profile']}"]
    for library in document["libraries"]:
        counts = Counter(one["status"] for one in library["rules"].values())
        told = ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status])
        lines += ["", f"{name_of(library)}: {library['scenes']} scenes; of {len(library['rules'])} rules {told}"]
        for status in (CHANGED, HIDDEN, PARTLY, CANNOT):
            lines += [f"  {status}: {why}: {', '.join(found)}" for why, found in _by_reason(library, status)]
    wrong = sorted({(one["rule"], one["observed"]) for library in document["libraries"] for one in library["broker"]})
    lines += ["", *(f"the broker broke {rule}: {observed}" for rule, observed in wrong)] if wrong else []
    return "\n".join(lines) + "\n"


def name_of(library: Library) -> str:
    words = f"{library['library']} {library['version']}"
    return f"{words}, {library['way']}" if library.get("way") else words


def _head(document: Mapping[str, Any]) -> str:
    names = "\n".join(f"- {name_of(library)}" for library in document["libraries"])
    legend = "\n".join(f"- **{status}**: {words}" for status, words in STATUSES.items())
    return f"""# What client libraries show of each rule

Made by `amqp-conformance clients URL --format markdown` from a run on {document["broker"]["name"]} at depth
{document["depth"]}, by version {document["suite"]} of the suite. To test a library of your own, see
[Test a client](test-a-client.md). This page is about:

{names}

The suite played its directed checks through each library. It judges the broker only by what passed on the wire. It also
records what the library showed its application in callbacks, return values and exceptions. When the two differ, the
library is the cause, and never the broker: the library has hidden something or changed it. To decide whether a
difference matters to a rule, the suite judges the history a second time, as the application saw it.

{legend}
"""


def _glance(libraries: Sequence[Library]) -> str:
    rows = [
        [words, *(_answer(library["methods"].get(method), field) for library in libraries)]
        for words, method, field in ASKED
    ]
    return f"## At a glance\n\nDoes an application see ...?\n\n{table(['', *map(name_of, libraries)], rows)}"


def _answer(method: Mapping[str, Any] | None, field: str | None) -> str:
    if method is None:
        return "was not sent"
    shown = method["shown"] - (method["absent"].get(field, 0) if field else 0)
    wrong = method["changed"].get(field, 0) if field else 0
    if wrong:
        return f"wrong in {wrong} of {method['came']}"
    if shown in (0, method["came"]):
        return "yes" if shown else "**no**"
    return f"{shown} of {method['came']} times"


def _methods(libraries: Sequence[Library]) -> str:
    names = sorted({name for library in libraries for name in library["methods"]})
    rows = [
        [
            f"`{name}`" if name != "end" else "loss of the connection",
            *(_share(library["methods"].get(name)) for library in libraries),
        ]
        for name in names
    ]
    return (
        f"## What the broker sent, and what the libraries showed\n\nThe figures are for all scenes together.\n\n"
        f"{table(['', *map(name_of, libraries)], rows)}"
    )


def _share(method: Mapping[str, Any] | None) -> str:
    if method is None:
        return "was not sent"
    words = [] if method["shown"] == method["came"] else [f"{method['shown']} of {method['came']}"]
    if method["shown"] == 0:
        return "never"
    for field, times in method["absent"].items():
        often = "" if times == method["shown"] else f" ({times} times)"
        words.append(f"without `{field}`{often}")
    words += [f"with another `{field}` ({times} times)" for field, times in method["changed"].items()]
    return ", ".join(words) or "all"


def _habits(library: Library) -> str:
    """What a library does of its own accord, and does not do."""

    def counted(name: str, words: str) -> Iterator[str]:
        found = library[name]
        if found:
            yield f"- {words}: {', '.join(f'`{what}` ({times})' for what, times in found.items())}"

    lines = [
        *(
            f"- hides: {'the loss of a connection' if name == 'end' else f'`{name}`'} "
            f"({method['came'] - method['shown']} of {method['came']}), in scenes of {', '.join(method['hidden'])}"
            for name, method in library["methods"].items()
            if method["hidden"]
        ),
        *counted("itself", "sends without being asked"),
        *counted("unsent", "was asked to send, and did not"),
        *counted("altered", "sends with another value than asked"),
        *counted("refused", "refuses to send"),
        *counted("invented", "shows twice, or shows though it was not sent"),
        *counted("disorder", "shows in another order than they came"),
        *(f"- cannot: it {why} ({', '.join(methods)})" for why, methods in _incapable(library)),
        *(f"- never returns: {words}" for words in library["stuck"]),
    ]
    return (
        f"## What {name_of(library)} hides, does by itself, and cannot do\n\n" + ("\n".join(lines) or "Nothing.") + "\n"
    )


def _incapable(library: Library) -> Iterable[tuple[str, list[str]]]:
    """What it cannot do, with the methods that this concerns."""
    found: dict[str, list[str]] = {}
    for method, why in library["cannot"].items():
        found.setdefault(why, []).append(f"`{method}`")
    return found.items()


def _rules(libraries: Sequence[Library]) -> str:
    rows = []
    for rule in rules.CATALOGUE.values():
        seen = [library["rules"].get(rule.id) for library in libraries]
        if any(seen):
            rows.append([link(rule), rule.title, *(one["status"] if one else "" for one in seen)])
    counts = [[status, *(_tally(library, status) for library in libraries)] for status in STATUSES]
    heads = list(map(name_of, libraries))
    return f"## Rule by rule\n\n{table(['rules', *heads], counts)}\n{table(['rule', '', *heads], rows)}"


def _tally(library: Library, status: str) -> str:
    return str(sum(one["status"] == status for one in library["rules"].values()))


def _reasons(library: Library) -> str:
    lines = [
        f"- **{status}**: {why}: {', '.join(found)}"
        for status in (CHANGED, HIDDEN, PARTLY, CANNOT)
        for why, found in _by_reason(library, status)
    ]
    return f"## Why {name_of(library)} does not show all of a rule\n\n" + ("\n".join(lines) or "It does.") + "\n"


def _by_reason(library: Library, status: str) -> list[tuple[str, list[str]]]:
    """Reasons with their rules, the most frequent first."""
    found: dict[str, list[str]] = {}
    for rule, one in library["rules"].items():
        if one["status"] == status:
            found.setdefault("; ".join(one["why"]), []).append(rule)
    return sorted(found.items(), key=lambda pair: (-len(pair[1]), pair[0]))


def _broker(document: Mapping[str, Any]) -> str:
    wrong = sorted({(one["rule"], one["observed"]) for library in document["libraries"] for one in library["broker"]})
    told = "\n".join(f"- {rule}: {observed}" for rule, observed in wrong)
    return (
        "## The broker\n\n"
        + (told or ("Apart from known deviations of this version, the broker broke no rule in these histories."))
        + "\n"
    )
