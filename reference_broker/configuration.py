"""What a broker is to be, in one object: whom it imitates, how it is wrong and free, and whom it serves.

Every door makes a `Configuration` of what it was told and hands it on as a whole; where it listens is the door's own.
A core is made of it, and the parts of one that is to go on otherwise. The parts are made from below: what a store
needs, the dialect, mutants, a personality, variations, and a tap that overhears all of it.
"""

from __future__ import annotations

import random
import secrets
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import metadata

from reference_broker import nondeterminism as lawful
from reference_broker import personalities
from reference_broker.core.access import SALT
from reference_broker.core.broker import Broker
from reference_broker.core.connections.limits import Limits
from reference_broker.core.parts import Parts
from reference_broker.core.tap import Tap
from reference_broker.dialects import DOCUMENTED, Dialect
from reference_broker.mutants import parts_with
from reference_broker.nondeterminism import Charter
from reference_broker.personalities import Personality
from reference_broker.store.keeper import Store

NAME_LETTERS = string.ascii_letters + string.digits + "-_"
Nondeterminism = int | Sequence[str] | None
"""The seed by which variations are drawn, or the names of some, or none."""


@cache
def installed_version() -> str:
    try:
        return metadata.version("amqp-conformance")
    except metadata.PackageNotFoundError:
        return "0"


def random_names(seed: int | None) -> Callable[[], str]:
    chance = random.Random(seed)
    return lambda: "".join(chance.choices(NAME_LETTERS, k=22))


def charter(nondeterminism: int | Sequence[str], chance: random.Random | None = None) -> Charter:
    """The variations that a seed draws, or that have these names; `str` tells them. Raises UnknownVariation."""
    if isinstance(nondeterminism, int):
        return lawful.drawn(chance or random.Random(nondeterminism))
    return lawful.of(nondeterminism, chance or random.Random(0))


@dataclass(frozen=True, slots=True)
class Configuration:
    """`product` and `version`: as what it introduces itself, if not as its dialect or personality does; `seed`: of the
    names that it makes, None for others each time; `consumer_timeout`: its own, in milliseconds; `external`: a
    certificate alone may log in; `users`: names and passwords of who may do anything, instead of guest."""

    mutants: Sequence[str] = ()
    nondeterminism: Nondeterminism = None
    dialect: Dialect = DOCUMENTED
    personality: Personality | None = None
    tap: Tap | None = None
    product: str | None = None
    version: str | None = None
    seed: int | None = 0
    users: Mapping[str, str] | None = None
    limits: Limits | None = None
    consumer_timeout: int | None = None
    external: bool = False

    @property
    def connections(self) -> int | None:
        """After how many it is gone; None: never."""
        return self.personality.connections if self.personality is not None else None

    def otherwise(self, mutants: Iterable[str], nondeterminism: Nondeterminism) -> Configuration:
        """The same broker, wrong and free in these ways."""
        return replace(self, mutants=tuple(mutants), nondeterminism=nondeterminism)

    def parts(self, store: Store | None = None) -> Parts:
        """What it is made from. Raises UnknownMutant or UnknownVariation."""
        parts = parts_with(self.mutants, self.dialect.apply(store.parts() if store is not None else Parts()))
        if self.personality is not None:
            self.personality.apply(parts)
        wanted = self.nondeterminism
        if wanted is not None:
            parts.nondeterminism = wanted if isinstance(wanted, int) else list(wanted)
            chance = random.Random(wanted if isinstance(wanted, int) else 0)
            charter(wanted, chance).apply(parts, chance)
        if self.tap is not None:
            self.tap.into(parts)
        return parts

    def core(self, store: Store | None = None) -> Broker:
        """A broker, empty. Raises as `parts` does."""
        product, version = self.product, self.version
        if self.personality is not None:
            product, version = product or personalities.PRODUCT, version or personalities.VERSION
        broker = Broker(
            product=product,
            version=version or self.dialect.version or installed_version(),
            limits=self.limits,
            users=self.users,
            salt=partial(secrets.token_bytes, SALT),
            parts=self.parts(store),
            unique=random_names(self.seed),
        )
        broker.vhost.settings.consumer_timeout = self.consumer_timeout
        broker.access.external = self.external
        return broker

    def remaking(self, core: Broker, store: Store | None) -> Callable[[Sequence[str], Nondeterminism], None]:
        """What makes another broker of this one, for what begins from then on. It raises as `parts` does."""
        return lambda mutants, nondeterminism: core.remake(self.otherwise(mutants, nondeterminism).parts(store))
