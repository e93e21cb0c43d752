"""The life machine: one message's life over everything that may become of it, at once.

Its queues expire, drop, refuse, rank and hand on what they hold; clients publish, take, settle and ask for replies as
in other machines. What a history is about, its lot says: limits, deaths, policies, or anything. Time passes in lockstep
only, for there alone everything is at rest meanwhile: on the broker's own clock a second in a whole history, on ours as
much as dead letters need.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from conformance.catalogue.profiles import Profile
from conformance.drive.machines import search
from conformance.drive.machines.alphabet import (
    Barrier,
    Cancel,
    Get,
    Recover,
    Reopen,
    Settle,
    SettleAll,
    SettleBadly,
    SettleEach,
)
from conformance.drive.machines.confirms import Begin, End, Purge
from conformance.drive.machines.messages.acts import (
    Anew,
    Answer,
    Await,
    Decline,
    Dismiss,
    Elapse,
    Leave,
    Linger,
    Mumble,
    Only,
    Send,
    Serve,
    Sweep,
)
from conformance.drive.machines.messages.courses import Afresh, Compete, Count, Course, Follow, Overfill, Pursue
from conformance.drive.machines.messages.governing import SHORT, TO_THE_LAST, Govern
from conformance.drive.machines.messages.lifetimes import Lifetimes
from conformance.drive.machines.messages.lots import (
    DEATHS,
    ENDS,
    HOURS,
    LIMITS,
    LONG,
    LOTS,
    OF_THEMES,
    REPLIES,
    RULED,
    TRANSACTIONS,
)
from conformance.drive.machines.messages.restarting import Outlive
from conformance.drive.machines.swarm import Alphabet, Choice, weighted
from conformance.drive.machines.world import Command

RARELY = (*(False,) * 7, True)


def only(trait: str, weight: int, kind: type[Command], *arguments: st.SearchStrategy[Any]) -> Choice:
    return Choice(weight, st.builds(kind, *arguments).map(lambda command: Only(trait, command)), kind.__name__)


_channel, _queue, _publisher = st.sampled_from((1, 1, 2)), st.sampled_from((0, 0, 0, 1, 1, 2)), st.integers(0, 2)
_rarely = st.sampled_from((False, False, False, True))
_how = st.sampled_from(("ack", "nack", "reject"))
_life = st.sampled_from((None, 0, 50, 50, 150, 400, LONG))
_priority = st.sampled_from((None, 0, 1, 2, 3, 9, 200))
_octets = st.sampled_from((10, 10, 0, 1, 29, 50))


_size = st.sampled_from((10, 10, 10, 0, 1, 29, 30, 31, 101))
_before = st.sampled_from(("", "swept", "swept", "purged"))
_fate = st.sampled_from((*("give up",) * 5, "leave", "leave", "return", "return", "ack", "ack"))
_fates = st.lists(_fate, min_size=2, max_size=7).map(tuple) | st.integers(2, 7).map(lambda most: ("give up",) * most)
_limit, _rank = st.integers(1, 3), st.integers(-1, 2)
_send = (
    _publisher,
    _queue,
    st.sampled_from((1, 2, 3, 4, 7)),
    _life,
    _priority,
    _octets,
    st.booleans(),
    _rarely,
    _rarely,
)


def commands(profile: Profile, queue_type: str) -> Alphabet:
    return (
        weighted(9, Send, *_send),
        weighted(3, Serve, _channel, _queue, _limit, _rank, _rarely),
        weighted(3, Get, _channel, _queue, st.integers(1, 3), _rarely),
        weighted(5, Settle, _channel, _how, st.integers(0, 5), st.booleans(), st.booleans()),
        weighted(2, SettleAll, _channel, _how, st.booleans()),
        weighted(1, SettleEach, _channel, _how, _how, st.booleans()),
        weighted(2, Cancel, _channel, st.integers(0, 1)),
        weighted(1, Purge, _channel, _queue),
        weighted(1, Barrier, _channel),
        only(TRANSACTIONS, 2, Begin, _channel),
        only(TRANSACTIONS, 3, End, _channel, st.booleans(), st.just(False)),
        only(REPLIES, 3, Await, _publisher),
        only(REPLIES, 4, Answer, _publisher, st.integers(0, 2), st.booleans()),
        only(ENDS, 1, SettleBadly, _channel, _how, st.just("future"), st.integers(0, 2), st.just(False)),
        only(ENDS, 1, Mumble, _publisher, _queue, st.sampled_from(("soon", "", "5 s"))),
        only(ENDS, 1, Recover, _channel),
        only(ENDS, 1, Reopen, _publisher, st.just(True)),
        only(ENDS, 1, Leave, _channel),
    )


_sends = st.lists(st.builds(Send, *_send), min_size=1, max_size=3).map(tuple)
_first = st.sampled_from((0, 0, 0, 0, 1))
_follow = st.builds(
    Follow,
    _sends,
    _channel,
    _first,
    _before,
    st.sampled_from((1, 1, 2, 3)),
    st.sampled_from((0, 0, 1, 2)),
    st.sampled_from((0, 0, 300)),
    st.sampled_from(("ack", "return", "give up", "give up")),
    st.sampled_from((0, 100, 300, 1300, 1300, 1300)),
)
_overfill = st.builds(
    Overfill,
    _channel,
    _first,
    _before,
    st.lists(st.tuples(_size, _priority), min_size=1, max_size=3).map(tuple),
    st.sampled_from((0, 1, 1, 2, 3, 11, -1)),
    st.sampled_from(("", "", "", "held", "returned", "served", "room again")),
    _limit,
    st.booleans(),
    st.booleans(),
)
_pursue = st.builds(
    Pursue,
    _sends,
    _channel,
    _first,
    _before,
    _fates,
    st.sampled_from((0, 100, 1300, 1300)),
)
_few, _after_death = st.sampled_from((0, 1, 2)), st.sampled_from((0, 300, 1300))
_definition = st.sampled_from(
    (
        *((("max-length", most),) for most in (0, 1, 2, 3, 5)),
        (("max-length", 2), ("message-ttl", HOURS)),
        (("max-length", 2), ("overflow", "reject-publish")),
        *((("message-ttl", SHORT),),) * 2,
        *((("dead-letter-exchange", ""), ("dead-letter-routing-key", TO_THE_LAST)),) * 2,
        (("expires", HOURS),),
        *((),) * 6,
    )
)
_govern = st.builds(
    Govern,
    _channel,
    _first,
    st.sampled_from((0, 0, 0, 1)),
    _definition,
    _rarely,
    st.sampled_from((0, 1, 4, 7)),
    st.sampled_from((0, 3, 7)),
    _rarely,
)


def _of(theme: str, made: st.SearchStrategy[Command]) -> st.SearchStrategy[tuple[str, Command]]:
    """A course for histories about this, some of them with queues of their own."""
    return (made | st.builds(Afresh, OF_THEMES[theme], made)).map(lambda command: (theme, command))


_courses = st.tuples(_of(LIMITS, _overfill), _of(DEATHS, _pursue), _of(DEATHS, _follow), _of(RULED, _govern))
_competition = _queue, st.tuples(_limit, _limit), st.tuples(_rank, _rank), st.builds(Send, *_send)
_compete = st.builds(Compete, *_competition)
PATIENT: Alphabet = (
    weighted(5, Sweep, _channel, _queue, st.booleans()),
    weighted(3, Linger, st.sampled_from((100, 300, 1300)), _channel, _queue, st.booleans()),
    weighted(2, Elapse, st.sampled_from((30, 100, 300))),
    weighted(4, Decline, _channel, _queue, st.booleans(), _rarely),
    weighted(5, Compete, *_competition),
    weighted(3, Dismiss, _channel, st.booleans()),
    weighted(1, Anew, _channel, _queue),
    weighted(1, Count, _channel, _queue),
    weighted(24, Course, _courses, st.integers(0, 11)),
    weighted(24, Course, _courses, st.integers(0, 11)),
)
RESTARTING: Alphabet = (
    weighted(
        *(4, Outlive, _channel, _first, _sends, _sends, _few, _after_death, _few, _after_death),
        *(_overfill, _follow, _compete),
    ),
)
LIFE = search.Machine(
    "life",
    commands,
    (1,),
    Lifetimes,
    wide=(1,),
    apart=RARELY,
    small=True,
    times=1.5,
    patient=PATIENT,
    restarting=RESTARTING,
    lots=LOTS,
)
