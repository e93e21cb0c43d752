"""Personalities: brokers that deviate in several ways at once, with the true verdict on each rule.

A *trait* is a single deviating decision (see `kinds`), a *personality* a set of them. Some have names; `drawn(seed)`
puts together others, the same for the same seed, out of traits that may meet. A broker with a personality presents
itself as a product that nobody knows.

What a personality breaks, may break, hides and keeps is computed from its traits: see `kinds.together`.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module

from reference_broker.core.parts import Parts
from reference_broker.personalities.kinds import ENTERED, Trait, Truth, together
from reference_broker.personalities.named import NAMED

FAMILIES = ("borrowed", "refusing", "silent", "losing", "minding", "poor", "curt", "careless")
"""The files with traits, in the order in which those are applied: the ones that start from the honest part first."""
for _family in FAMILIES:
    import_module(f"{__name__}.{_family}")
TRAITS: Mapping[str, Trait] = ENTERED

PRODUCT, VERSION = "Stranger", "1"
FEWEST, MOST = 3, 8
FRAIL = 1 / 3
"""The share of those drawn that may have a trait by which they break down."""


class UnknownPersonality(ValueError):
    """A name that is neither in `PERSONALITIES` nor a seed; the message says so, with near names."""


@dataclass(frozen=True, slots=True)
class Personality:
    """Its traits are in the order in which they are applied."""

    name: str
    traits: tuple[Trait, ...]

    @property
    def truth(self) -> Truth:
        return together(one.truth for one in self.traits)

    @property
    def breaks_down(self) -> bool:
        """Is there a moment after which nothing can be said of it?"""
        return any(one.breaks_down for one in self.traits)

    @property
    def connections(self) -> int | None:
        """After how many the broker is gone; None: never."""
        return min((one.connections for one in self.traits if one.connections is not None), default=None)

    def apply(self, parts: Parts) -> None:
        for one in self.traits:
            one.apply(parts)

    def __str__(self) -> str:
        """One trait a line."""
        return "\n".join(f"{one.name}: {one.says}" for one in self.traits)


def of(name: str, traits: Iterable[str]) -> Personality:
    wanted = set(traits)
    return Personality(name, tuple(one for one in TRAITS.values() if one.name in wanted))


def meet(one: Trait, other: Trait) -> bool:
    """May a broker have both?"""
    return not one.about & other.about


def drawn(seed: int) -> Personality:
    """Three to eight traits that may meet, by this seed. Few break down, for of those the less can be said."""
    chance = random.Random(seed)
    most, lasts, chosen = chance.randint(FEWEST, MOST), chance.random() > FRAIL, list[Trait]()
    pool = [one for one in TRAITS.values() if not (lasts and one.breaks_down)]
    for one in chance.sample(pool, len(pool)):
        if len(chosen) < most and all(meet(one, other) for other in chosen):
            chosen.append(one)
    return of(str(seed), (one.name for one in chosen))


PERSONALITIES: Mapping[str, Personality] = {name: of(name, traits.split()) for name, traits in NAMED.items()}


def personality(called: str | int) -> Personality:
    """The one of this name, or that this seed draws, or with these traits (TRAIT+TRAIT). Raises UnknownPersonality."""
    if isinstance(called, int) or called.isdecimal():
        return drawn(int(called))
    if all(name in TRAITS for name in called.split("+")):
        return of(called, called.split("+"))
    if called not in PERSONALITIES:
        near = get_close_matches(called, [*PERSONALITIES, *TRAITS], n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "names are like minimalist, seeds are numbers"
        raise UnknownPersonality(f"no personality is called '{called}'; {hint}")
    return PERSONALITIES[called]
