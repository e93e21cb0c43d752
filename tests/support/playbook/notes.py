"""What the driver or an observer notes: the lines of a playbook that begin with a dash."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from conformance.history.events import EventBuilder
from tests.support.playbook.words import Words, rights_of

if TYPE_CHECKING:
    from tests.support.playbook.book import Playbook

Note = Callable[["Playbook", list[str]], None]
SECOND = 10**9


def note(book: Playbook, kind: str, words: list[str]) -> None:
    """One such line; what is none of the words below is the type of the queue of a scene."""
    noted = NOTES.get(kind)
    if noted is None:
        book.local("scene", name="play", rules=[], queue_type=words[0])
    else:
        noted(book, words)


def _wait(book: Playbook, words: list[str]) -> None:
    book.now += int(float(words[0]) * SECOND)


def _rule(book: Playbook, words: list[str]) -> None:
    _policy(book, words, "setting", "set", pattern=words[1], definition=json.loads(words[2]))


def _unrule(book: Playbook, words: list[str]) -> None:
    _policy(book, words, "clearing", "cleared")


def _policy(book: Playbook, words: list[str], *states: str, **about: object) -> None:
    """It is set or removed, and heeded; `pending`: it is not known yet whether that is done."""
    said = Words([word for word in words if not word.startswith("{")]).pairs
    about |= {"vhost": said.get("vhost", "/"), "name": words[0], "operator": said.get("operator") == "1"}
    if "definition" in about:
        about |= {"priority": int(said.get("priority", 0)), "apply_to": said.get("apply_to", "queues")}
    for state in states[: 1 if "pending" in words else 2]:
        book.local("policy", state=state, **about)
    book.now += 0 if "busy" in words else 2 * SECOND


def _header(book: Playbook, words: list[str], direction: str = ">") -> None:
    raw = bytes.fromhex(words[1])
    book.step(book.builder(words[0]).note(direction, "protocol" if raw.startswith(b"AMQP") else "malformed", raw))


def _known(book: Playbook, words: list[str]) -> None:
    book.builder(words[0])
    book.local("known", of=words[0], **{name: value == "1" for name, value in (word.split("=") for word in words[1:])})


def _oversize(book: Playbook, words: list[str]) -> None:
    about = {"offset": 0, "expected": "at most 5000 octets of frame_max", "found": "6000 octets"}
    book.step(book.builder(words[0]).note("<", "malformed", b"", **about))


def _joined(book: Playbook, words: list[str]) -> None:
    builder: EventBuilder = book.new_builder(words[0])
    book.step(builder.local("joined", reason="it was there before"))


def _observed(book: Playbook, words: list[str]) -> None:
    book.local("observed", by="capture", others="others" in words, ordered="unordered" not in words)


def _deadline(book: Playbook, words: list[str]) -> None:
    about = {"queue": words[1]} if len(words) > 1 else {}
    book.local("deadline", **{"for": words[0], "waited_ms": 1, **about})


def _of(book: Playbook, kind: str, connection: str, **about: object) -> None:
    """Noted of one connection."""
    book.step(book.builder(connection).local(kind, **about))


NOTES: Mapping[str, Note] = {
    "wait": _wait,
    "policy": lambda book, words: book.local("policy", queue=words[0], consumer_timeout=int(words[1])),
    "rule": _rule,
    "unrule": _unrule,
    "setting": lambda book, words: book.local("settings", consumer_timeout=int(words[0]) if words else None),
    "alarm": lambda book, words: book.local("alarm", state=words[0]),
    "killed": lambda book, words: book.local("killed"),
    "restarted": lambda book, words: book.local("restarted", state=words[0]),
    "octets": lambda book, words: book.send(words[0], bytes.fromhex(words[1])),
    "rights": lambda book, words: book.local("rights", of=words[0], queue=words[1]),
    "permit": lambda book, words: book.local("rights", **rights_of(words)),
    "header": _header,
    "answer": lambda book, words: _header(book, words, "<"),
    "beat": lambda book, words: book.step(book.builder(words[0])._row(words[1], "heartbeat", 0, raw=b"")),
    "known": _known,
    "oversize": _oversize,
    "heartless": lambda book, words: book.local("deadline", **{"for": "heartbeats", "connection": words[0]}),
    "still": lambda book, words: book.local("deadline", **{"for": "end", "connection": words[0]}),
    "joined": _joined,
    "gap": lambda book, words: _of(book, "gap", words[0], reason="lost", direction=words[1], octets=None),
    "cut": lambda book, words: _of(book, "cut", words[0], reason="lost"),
    "observed": _observed,
    "end": lambda book, words: _of(book, "end", words[0], cause=words[1], **dict.fromkeys(words[2:], True)),
    "deadline": _deadline,
}
