"""Histories that several tests of blame begin with, and what such a history leaves in doubt."""

from __future__ import annotations

STOCK = """
    @queue q
    @stock q m1 m2 m3 m4
"""
UNKNOWN = "PRECONDITION_FAILED - unknown delivery tag"
WINDOW = (
    STOCK
    + """
    @open 1
    1 > qos 2
    1 < qos-ok
    @consume 1 q c1
    1 < deliver c1 1 m1 q
    1 < deliver c1 2 m2 q
"""
)
SETTLED = (
    STOCK
    + """
    @hold 1 q m1 m2 m3
    1 > ack 2 multiple
    @close 1
    @open 2
    2 > get q
    2 < get-ok 1 m1 q redelivered
"""
)


def doubted(book) -> set[str]:
    """The rules that may be broken."""
    return {one.rule for one in book.judge.judgement.findings if not one.certain}
