"""What a history of the life machine is about: some features, and the arguments of its queues.

A history draws a theme, and of that a few features; it uses no others. In half of them any two features meet, and a
third one seldom hides what they do to each other. The other themes leave out what would make it uncertain how many
messages a queue holds, from which cause a message has died, or what a policy does. Of what makes a queue's content
uncertain a history has one at most, and mostly none. The first queue has all that is drawn, the others have some of it.
Times are short or far away: what is neither would prove nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from conformance.drive.machines.shape import Lot, Terms

TTL, LENGTH, OCTETS, REFUSING, DEAD = "message ttl", "length", "octets", "refusing", "dead letters"
PRIORITIES, SINGLE, LEASE, LIMITED = "priorities", "single active", "lease", "delivery limit"
EXPIRATION, RANKS, TRANSACTIONS, COPIES = "expiration", "consumer priorities", "transactions", "copies"
PUBLISHERS, SPREAD, REPLIES, ENDS, SERVED = "several publishers", "fanout", "replies", "ends", "consumers"
COMMITS = "commits"
"""All is published in transactions, each of which is committed at once."""
LIMITS, DEATHS, RULED = "limits", "deaths", "policies"
"""What a history is about all in all, if it is about one thing."""
OF_QUEUES = (TTL, LENGTH, OCTETS, REFUSING, DEAD, PRIORITIES, SINGLE, LEASE, LIMITED)
OF_CLIENTS = (EXPIRATION, RANKS, SERVED)
UNREST = (TRANSACTIONS, PUBLISHERS, SPREAD, REPLIES, ENDS)
"""After these less is certain of what a queue holds."""
CONFIRMING = {REFUSING, PUBLISHERS, REPLIES, RULED}
"""What goes with confirms alone: a commit to a full queue may fail."""
TRAITS = (*OF_QUEUES, *OF_CLIENTS)
QUEUES = 3
LONG, HOURS = 60_000, 7_200_000
"""Milliseconds that no history lasts."""
TIMES = (50, 50, 150, 400, LONG, 0)
FANOUT, KEYED = "by an exchange", "by an exchange, with another key"
CHAIN, CYCLE, SELF = (1, 2, None), (1, 0, None), (0, None, None)
WAYS: tuple[tuple[Any, ...], ...] = (
    *((1, None, None),) * 2,
    *(CHAIN,) * 2,
    *(CYCLE,) * 2,
    (1, 2, 0),
    SELF,
    (FANOUT, None, None),
)
"""Where the dead of each queue go: into which other, or nowhere."""
KEY = "x-dead-letter-routing-key"
OTHER_KEY = "amqpconf.dead"


@dataclass(frozen=True, slots=True)
class Theme:
    """The features of a history, beside those that it has `always`; `unrest`, or none, and the ways of dead letters.
    Another queue keeps each feature by the chance of `kept`."""

    drawn: st.SearchStrategy[Collection[str]]
    always: tuple[str, ...] = ()
    unrest: tuple[str, ...] = ("",)
    ways: tuple[tuple[Any, ...], ...] = WAYS
    kept: tuple[bool, ...] = (False,)


ANYTHING = Theme(
    st.lists(
        st.sampled_from(
            (*TRAITS, TTL, LENGTH, REFUSING, DEAD, DEAD, DEAD, PRIORITIES, EXPIRATION, SERVED),
        ),
        min_size=2,
        max_size=4,
    ),
    unrest=(*("",) * 7, *UNREST),
    kept=(False, True),
)
OF_LIMITS = Theme(
    st.sampled_from(
        (
            *((LENGTH,),) * 2,
            (LENGTH, DEAD),
            *((LENGTH, PRIORITIES),) * 2,
            *((OCTETS,),) * 2,
            (OCTETS, PRIORITIES),
            (LENGTH, OCTETS),
            (REFUSING,),
            *((REFUSING, DEAD),) * 2,
            (REFUSING, SPREAD),
            (REFUSING, OCTETS),
        )
    ),
    always=(LIMITS,),
    ways=((1, None, None), (1, None, None), (1, 2, None), CYCLE),
)
OF_DEATHS = Theme(
    st.sampled_from(
        (
            *((),) * 2,
            (TTL,),
            (EXPIRATION,),
            (TTL, EXPIRATION),
            (LENGTH,),
            (LENGTH, TTL),
            *((LIMITED,),) * 3,
            (COPIES,),
            (COPIES, EXPIRATION),
        )
    ),
    always=(DEATHS, DEAD),
    ways=((1, None, None), CHAIN, *(CYCLE,) * 3, (1, 2, 0), SELF, *((FANOUT, None, None),) * 2, (KEYED, 0, None)),
    kept=(*(False,) * 5, True),
)
OF_POLICIES = Theme(st.sampled_from(((), (), (LENGTH,), (TTL,), (DEAD,))), always=(RULED,), ways=((1, None, None),))
THEMES = (*(ANYTHING,) * 3, *(OF_LIMITS,) * 3, *(OF_DEATHS,) * 3, OF_POLICIES)


def _terms(traits: frozenset[str], drawn: dict[str, Any]) -> Terms:
    """The arguments of one queue, without those of its dead letters."""
    found: dict[str, Any] = {}
    if TTL in traits:
        found["x-message-ttl"] = drawn["ttl"]
    if LENGTH in traits or (REFUSING in traits and OCTETS not in traits):
        found["x-max-length"] = drawn["refused" if REFUSING in traits else "length"]
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


def _heir(way: Any) -> Terms:
    """Where its dead go."""
    if way is None:
        return ()
    return ("x-dead-letter-exchange", FANOUT if way in (FANOUT, KEYED) else ""), (KEY, way)


def _lot(
    theme: Theme,
    drawn_traits: Collection[str],
    unrest: str,
    commits: str,
    way: tuple[Any, ...],
    drawn: tuple[dict[str, Any], ...],
    kept: list[list[bool]],
) -> Lot:
    traits = frozenset(one for one in (*theme.always, *drawn_traits, unrest) if one)
    traits |= {commits} if commits and traits.isdisjoint(CONFIRMING) else frozenset[str]()
    terms = []
    for place in range(QUEUES):
        rest = frozenset(trait for trait, keeps in zip(TRAITS, kept[place], strict=True) if trait in traits and keeps)
        terms.append((*_terms(rest if place else traits, drawn[place]), *_heir(way[place] if DEAD in traits else None)))
    return Lot(traits, tuple(terms))


_drawn = st.fixed_dictionaries(
    {
        "ttl": st.sampled_from(TIMES),
        "length": st.sampled_from((1, 2, 2, 3, 4)),
        "refused": st.sampled_from((1, 2, 2, 3, 12, 12)),
        "octets": st.sampled_from((30, 60, 100)),
        "overflow": st.sampled_from(("reject-publish", "reject-publish-dlx", "reject-publish-dlx")),
        "levels": st.sampled_from((1, 2, 9)),
        "returns": st.sampled_from((1, 2, 4)),
    }
)


def _lots(theme: Theme) -> st.SearchStrategy[Lot]:
    keeps = st.lists(st.sampled_from(theme.kept), min_size=len(TRAITS), max_size=len(TRAITS))
    return st.builds(
        _lot,
        st.just(theme),
        theme.drawn,
        st.sampled_from(theme.unrest),
        st.sampled_from((*("",) * 5, COMMITS)),
        st.sampled_from(theme.ways),
        st.tuples(*(_drawn for _ in range(QUEUES))),
        st.lists(keeps, min_size=QUEUES, max_size=QUEUES),
    )


OF_THEMES = {theme: _lots(one) for theme, one in ((LIMITS, OF_LIMITS), (DEATHS, OF_DEATHS), (RULED, OF_POLICIES))}
"""Where a history is about one thing, it may go on with another lot about that."""
OF_ANYTHING = _lots(ANYTHING)
LOTS: st.SearchStrategy[Lot] = st.sampled_from(THEMES).flatmap(_lots)
