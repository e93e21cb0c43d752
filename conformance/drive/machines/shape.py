"""What a history is played with, drawn once for the whole history: where, how much, how large, and after what.

This is swarm testing: features that one history does not combine, another one does. Each choice is drawn
independently, so any two of them meet sooner or later. Most values of each choice are the plain one, so most histories
stay small.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

from hypothesis import strategies as st

from conformance.drive.machines.before import FEATURES

WIDE = (1, 1, 1, 1, 1, 1, 9, 70)
APART = (False, False, True)
"""Of most histories nothing is wide, and all channels are on one connection."""
OFTEN = (1, 1, 1, 1, 1, 1, 4, 16)
WINDOW = (1, 1, 1, 1, 1, 1, 1, 1, 1, 16, 65, 260, 1030, 13_000)
"""The last exceeds what a limit can say, with any number but the smallest."""
OCTETS = (*((0, 0),) * 24, *((0, 2**power) for power in range(3, 17)), (1, 0), (2, 0))
"""Frames, and octets beside."""
BESIDE = (-1, 0, 1)
NAMES = (*((0, False),) * 4, (0, True), (33, False), (65, True), (130, False), (200, False))
"""How long they are, and whether the tags on one channel are those on every other. The names of quorum queues are atoms
in RabbitMQ, and must leave room for what it puts before them."""
STOCK = (0,) * 24 + (70, 130, 260, 1100)
DRAWN = tuple(feature for feature in FEATURES if feature != "bind")
"""Machines that are about bindings make their own."""
USED = (*(frozenset[str](),) * 36, *(frozenset(pair) for pair in combinations(DRAWN, 2)))


Terms = tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Lot:
    """Which features a history is about, and the arguments of its queues."""

    traits: frozenset[str] = frozenset()
    terms: tuple[Terms, ...] = ()


@dataclass(frozen=True, slots=True)
class Shape:
    """This many queues, this many times as many messages, gets and slots as the commands say, and each channel on a
    connection of its own, or all on one."""

    queues: int = 1
    wide: int = 1
    apart: bool = False
    behind: bool = False
    """The connection of the channels is not the oldest one."""
    often: int = 1
    """Each command is performed this many times in a row."""
    window: int = 1
    """Limits are at least this many times as large."""
    frames: int = 0
    octets: int = 0
    """Bodies fill this many frames, and have this many octets beside; with 0 and 0 they are as short as can be."""
    length: int = 0
    """Names and tags have at least this many characters."""
    stock: int = 0
    """This many messages are in the first queue before anything is done."""
    quiet: bool = False
    """What has a form without an answer is used in that form."""
    alike: bool = False
    """The consumers of one channel have the tags of those of every other."""
    used: frozenset[str] = frozenset()
    """What the first channel and the first queue were used for before (see `before`)."""
    lot: Lot = Lot()
    """For machines that draw one."""


def shapes(
    queues: tuple[int, ...],
    wide: tuple[int, ...],
    apart: tuple[bool, ...],
    *,
    small: bool,
    only: bool,
) -> st.SearchStrategy[Shape]:
    """`small`: nothing is done by the dozen. `only`: there is no other connection."""
    sizes = st.tuples(st.sampled_from(OCTETS), st.sampled_from(BESIDE))
    return st.builds(
        _shape,
        *map(st.sampled_from, (queues, wide, apart)),
        st.just(False) if only else st.booleans(),
        st.just(1) if small else st.sampled_from(OFTEN),
        st.sampled_from(WINDOW),
        sizes,
        st.sampled_from(NAMES),
        st.just(0) if small else st.sampled_from(STOCK),
        st.sampled_from((False, False, True)),
        st.sampled_from(USED),
    )


def _shape(
    queues: int,
    wide: int,
    apart: bool,
    behind: bool,
    often: int,
    window: int,
    size: tuple[tuple[int, int], int],
    names: tuple[int, bool],
    stock: int,
    quiet: bool,
    used: frozenset[str],
) -> Shape:
    """By the dozen or wide, not both: either is as much as a history should take."""
    ((frames, octets), beside), (length, alike) = size, names
    if wide > 1 or stock:
        often, frames = 1, 0
    if stock:
        wide = 1
    return Shape(
        queues,
        wide,
        apart,
        behind and not apart,
        often,
        window,
        frames,
        octets + beside if frames or octets else 0,
        length,
        stock,
        quiet,
        alike,
        used,
    )
