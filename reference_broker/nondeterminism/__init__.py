"""Lawful chaos: where the texts leave a choice, the broker chooses differently each time.

A *variation* is a way to behave that some sentence grants, kept as data: its name, what a broker may do, and who says
so. A `Charter` is a combination of them with their parameters, drawn from a source of chance that comes in from
outside, like time. It is applied to the `Parts` a broker is made from, as mutants are: nothing of it is on the path
of a broker without variations. The same seed draws the same charter, and `str(charter)` tells it.

What only *might* be granted is not in here: a redelivered flag on a first delivery (a hint to the XML, exact to the
guide), gaps between delivery tags (not forbidden, never seen), another order for a batch of requeues than the profile
`documented` reads out of the guide, and frames of a channel after its own close.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from reference_broker.core.parts import Parts
from reference_broker.nondeterminism.kinds import ENTERED, Chance, Free, Later, Variation, ticks

FAMILIES = ("announcing", "confirming", "serving", "settling", "leaving", "refusing", "writing", "timing")
"""In the order in which they are applied: what works on octets comes late, and what keeps silent comes last."""
for _family in FAMILIES:
    import_module(f"{__name__}.{_family}")
VARIATIONS: Mapping[str, Variation] = ENTERED


class UnknownVariation(ValueError):
    """A name that is not in `VARIATIONS`."""


@dataclass(frozen=True)
class Charter:
    """Lawful variations that a broker takes, each with the parameters that were drawn for it."""

    granted: Mapping[str, Mapping[str, Any]]

    def __str__(self) -> str:
        """One variation a line, with its parameters."""
        return "\n".join(
            " ".join([name, *(f"{key}={value}" for key, value in given.items())])
            for name, given in self.granted.items()
        )

    def apply(self, parts: Parts, chance: Chance) -> None:
        later = Later()
        ticks(parts, later)
        for name, given in self.granted.items():
            VARIATIONS[name].apply(Free(parts, chance, later, given))


def drawn(chance: Chance) -> Charter:
    """Any combination, from one variation to all of them."""
    few = chance.randint(1, 4)
    count = chance.choice((few, chance.randint(1, len(VARIATIONS)), len(VARIATIONS)))
    return of(chance.sample(list(VARIATIONS), count), chance)


def of(names: Sequence[str], chance: Chance) -> Charter:
    """These variations, with parameters by chance. Raises UnknownVariation."""
    unknown: Iterable[str] = [name for name in names if name not in VARIATIONS]
    for name in unknown:
        raise UnknownVariation(f"no variation is called '{name}'; there are {', '.join(VARIATIONS)}")
    return Charter(
        {
            name: {key: chance.choice(values) for key, values in one.parameters.items()}
            for name, one in VARIATIONS.items()
            if name in names
        }
    )
