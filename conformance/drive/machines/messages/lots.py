"""What a history of the life machine is about: some features, and the arguments of its queues.

A history draws a few features, and uses no others. So two features meet often, and a third one seldom hides what they
do to each other. Of what makes a queue's content uncertain it has one at most, and mostly none. The first queue has all
that is drawn, the others have some of it. Times are short or far away: what is neither would prove nothing.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from conformance.drive.machines.shape import Lot, Terms

TTL, LENGTH, OCTETS, REFUSING, DEAD = "message ttl", "length", "octets", "refusing", "dead letters"
PRIORITIES, SINGLE, LEASE, LIMITED = "priorities", "single active", "lease", "delivery limit"
EXPIRATION, RANKS, TRANSACTIONS = "expiration", "consumer priorities", "transactions"
PUBLISHERS, SPREAD, REPLIES, ENDS, SERVED = "several publishers", "fanout", "replies", "ends", "consumers"
OF_QUEUES = (TTL, LENGTH, OCTETS, REFUSING, DEAD, PRIORITIES, SINGLE, LEASE, LIMITED)
OF_CLIENTS = (EXPIRATION, RANKS, SERVED)
UNREST = (TRANSACTIONS, PUBLISHERS, SPREAD, REPLIES, ENDS)
"""After these less is certain of what a queue holds."""
TRAITS = (*OF_QUEUES, *OF_CLIENTS)
DRAWN = (*TRAITS, TTL, LENGTH, REFUSING, DEAD, DEAD, DEAD, PRIORITIES, EXPIRATION, SERVED)
LEAST_TRAITS, MOST_TRAITS = 2, 4
QUEUES = 3
LONG, HOURS = 60_000, 7_200_000
"""Milliseconds that no history lasts."""
TIMES = (50, 50, 150, 400, LONG, 0)
FANOUT = "by an exchange"
WAYS: tuple[tuple[Any, ...], ...] = (
    (1, None, None),
    (1, None, None),
    (1, 2, None),
    (1, 2, None),
    (1, 0, None),
    (1, 0, None),
    (1, 2, 0),
    (0, None, None),
    (FANOUT, None, None),
)
"""Where the dead of each queue go: into which other, or nowhere."""
KEY = "x-dead-letter-routing-key"


def _terms(traits: frozenset[str], drawn: dict[str, Any]) -> Terms:
    """The arguments of one queue, without those of its dead letters."""
    found: dict[str, Any] = {}
    if TTL in traits:
        found["x-message-ttl"] = drawn["ttl"]
    if LENGTH in traits or (REFUSING in traits and OCTETS not in traits):
        found["x-max-length"] = drawn["length"]
    if OCTETS in traits:
        found["x-max-length-bytes"] = drawn["octets"]
    if REFUSING in traits:
        found["x-overflow"] = drawn["overflow"] if DEAD in traits else "reject-publish"
    if PRIORITIES in traits:
        found["x-max-priority"] = drawn["levels"]
    if SINGLE in traits:
        found["x-single-active-consumer"] = True
    if LEASE in traits:
        found["x-expires"] = HOURS
    if LIMITED in traits:
        found["x-delivery-limit"] = drawn["returns"]
    return tuple(found.items())


def _lot(
    drawn_traits: list[str],
    unrest: str,
    way: tuple[Any, ...],
    drawn: tuple[dict[str, Any], ...],
    kept: list[list[bool]],
) -> Lot:
    traits = frozenset((*drawn_traits, unrest) if unrest else drawn_traits)
    terms = []
    for place in range(QUEUES):
        rest = [trait for trait, keeps in zip(TRAITS, kept[place], strict=True) if trait in traits and keeps]
        found = _terms(traits if place == 0 else frozenset(rest), drawn[place])
        heir = way[place] if DEAD in traits else None
        if heir is not None:
            found = (*found, ("x-dead-letter-exchange", FANOUT if heir == FANOUT else ""), (KEY, heir))
        terms.append(found)
    return Lot(traits, tuple(terms))


_drawn = st.fixed_dictionaries(
    {
        "ttl": st.sampled_from(TIMES),
        "length": st.sampled_from((1, 2, 2, 3, 4)),
        "octets": st.sampled_from((30, 60, 100)),
        "overflow": st.sampled_from(("reject-publish", "reject-publish-dlx")),
        "levels": st.sampled_from((1, 2, 9)),
        "returns": st.sampled_from((1, 2, 4)),
    }
)
LOTS: st.SearchStrategy[Lot] = st.builds(
    _lot,
    st.lists(st.sampled_from(DRAWN), min_size=LEAST_TRAITS, max_size=MOST_TRAITS),
    st.sampled_from((*("",) * 7, *UNREST)),
    st.sampled_from(WAYS),
    st.tuples(*(_drawn for _ in range(QUEUES))),
    st.lists(st.lists(st.booleans(), min_size=len(TRAITS), max_size=len(TRAITS)), min_size=QUEUES, max_size=QUEUES),
)
