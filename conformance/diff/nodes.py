"""A broker of the matrix: where it is, how it is administered, and what no client can find out about it.

    NAME=amqp://...[,admin=http://...][,consumer-timeout=MILLISECONDS][,rules=GLOB]

`.ci/brokers.py nodes` prints brokers in this form.
"""

from __future__ import annotations

from dataclasses import dataclass

FORM = "NAME=URL[,admin=URL][,consumer-timeout=MS][,rules=GLOB]"
KEYS = ("admin", "consumer-timeout", "rules")


class BadNode(ValueError):
    """This names no broker of the matrix; the message says how to."""


@dataclass(frozen=True, slots=True)
class Node:
    """`consumer_timeout`: in the broker's configuration; `rules`: what it is there for, if not for all; `mutant`: in
    what way it is wrong on purpose."""

    name: str
    url: str
    admin: str | None = None
    consumer_timeout: int | None = None
    rules: str | None = None
    mutant: str | None = None

    @classmethod
    def parse(cls, text: str) -> Node:
        """Raises BadNode."""
        first, *rest = text.split(",")
        name, _, url = first.partition("=")
        more = dict(pair.partition("=")[::2] for pair in rest)
        timeout = more.get("consumer-timeout")
        if not name or not url or set(more) - set(KEYS) or not (timeout is None or timeout.isdecimal()):
            raise BadNode(f"a broker is named {FORM}, not {text!r}")
        return cls(name, url, more.get("admin"), None if timeout is None else int(timeout), more.get("rules"))
