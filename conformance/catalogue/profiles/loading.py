"""From profile files to `Profile`s. Every choice is checked against `choices.toml`, and none may be left open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from conformance.catalogue.rules.fields import BadData, Fields, near, parse

ORDERS = ("original", "returns-first", "tail")
AS_DELIVERED, BY_TEXT = "as-delivered", "by-text"
SYNCS = ("always", "consumer", "never")
QUEUE_TYPES = ("classic", "quorum")
CIRCLES = "circles of dead letters"
SPARABLE = (CIRCLES,)
"""What a profile may say that machines keep from doing, because it takes this broker down for all."""


class BadProfile(BadData):
    """A profile is unknown or wrong; the message names file and place."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One doubt: what is asked, which readings there are and what each means, where the doubt comes from."""

    name: str
    question: str
    alternatives: Mapping[str, str]
    doubt: str
    per_queue: bool


@dataclass(frozen=True, slots=True)
class QueueSemantics:
    """What the monitors may conclude for queues of one type.

    `cancel_any_time`: a consumer may be cancelled while deliveries are under way to it.
    `cancelok_ends`, `closeok_ends`: after this answer the consumer takes nothing more from the queue.
    `closeok_sync`: does close-ok prove that the channel's unacked messages are back: always, only where the channel
    still had a live consumer on their queue, or never.
    `same_channel_order`: what one channel sends reaches the queue in that order, settlements and publishes alike.
    `unconfirmed_may_vanish`: a publish that is not confirmed when its channel closes may be lost.
    `requeue_order`: where a returned message goes; the other two say so for queues declared with a delivery limit,
    and with the limit switched off by -1.
    `gets_return`: in which order the end of a channel returns what it had got: as it was delivered, or by the text of
    the tags.
    `messages_expire`: messages may have a time to live.
    """

    cancel_any_time: bool
    cancelok_ends: bool
    closeok_ends: bool
    closeok_sync: str
    same_channel_order: bool
    unconfirmed_may_vanish: bool
    requeue_order: str
    requeue_order_limited: str
    requeue_order_unlimited: str
    gets_return: str
    messages_expire: bool

    def order(self, delivery_limit: int | None = None) -> str:
        """Where a returned message goes in a queue declared with this `x-delivery-limit` (None: without)."""
        if delivery_limit is None:
            return self.requeue_order
        return self.requeue_order_limited if delivery_limit >= 0 else self.requeue_order_unlimited


@dataclass(frozen=True)
class Profile:
    """What one broker is held to.

    `interpolated_from`: nobody ran these versions. Their readings are those of this profile, except for what was looked
    up in what `basis` names; empty where they were measured.
    """

    name: str
    title: str
    product: str
    versions: tuple[str, ...]
    queue_types: tuple[str, ...]
    queues: Mapping[str, QueueSemantics]
    choices: Mapping[str, str]
    timing_slack: float
    deviations: str | None
    interpolated_from: str = ""
    basis: str = ""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Features that the broker was found not to offer, each with the words of its refusal."""
    spares: tuple[str, ...] = ()
    """What machines keep from doing, because it takes this broker down for all. A script shows it."""
    shunned: Mapping[str, str] = field(default_factory=dict)
    """Features of which a trial came to no lawful end, each with what came instead."""
    crowd: int | None = None
    """So many connections at once are let in; None: as many as the suite needs."""
    body: int | None = None
    """Bodies of so many octets are taken, and larger ones may be refused; None: nobody has asked."""

    @property
    def typed(self) -> bool:
        """Does the broker know types of queues, so that a type must be asked for?"""
        return len(self.queue_types) > 1

    def has(self, feature: str) -> bool:
        """May it be counted on? It was not refused, and its trial came to a lawful end."""
        return feature not in self.refused and feature not in self.shunned

    @property
    def measured(self) -> bool:
        """Was a broker of these versions run?"""
        return not self.interpolated_from

    def queue(self, queue_type: str) -> QueueSemantics:
        """What may be concluded for queues of this type; a type we do not know gets the weakest reading."""
        return self.queues.get(queue_type) or WEAKEST

    @property
    def requeue_order(self) -> Mapping[str, str]:
        """Queue type to the place where a returned message goes."""
        return {name: semantics.requeue_order for name, semantics in self.queues.items()}


WEAKEST = QueueSemantics(
    cancel_any_time=True,
    cancelok_ends=False,
    closeok_ends=False,
    closeok_sync="never",
    same_channel_order=False,
    unconfirmed_may_vanish=True,
    requeue_order="tail",
    requeue_order_limited="tail",
    requeue_order_unlimited="tail",
    gets_return=BY_TEXT,
    messages_expire=False,
)


def read(path: Path, library: Path) -> Profile:
    """The profile in this file; what it extends comes from `library`."""
    content = _flattened(path, library, ())
    fields = Fields(content, path.name, BadProfile)
    fields.raw("extends")
    queues = Fields(fields.raw("queue", {}), f"{path.name}, [queue]", BadProfile)
    semantics = {
        name: _semantics(Fields(queues.raw(name), f"{path.name}, [queue.{name}]", BadProfile)) for name in queues
    }
    profile = Profile(
        name=path.stem,
        title=fields.text("title"),
        product=fields.text("product", ""),
        versions=fields.texts("versions"),
        queue_types=fields.choices("queue_types", QUEUE_TYPES),
        queues=semantics,
        choices=_choices(Fields(fields.raw("choices", {}), f"{path.name}, [choices]", BadProfile)),
        timing_slack=fields.number("timing_slack", 1.0, 0.0),
        deviations=_beside(path, fields.text("deviations", "")),
        interpolated_from=fields.text("interpolated_from", ""),
        basis=fields.text("basis", ""),
        spares=fields.choices("spares", SPARABLE),
    )
    fields.done()
    _with_a_basis(profile, fields, library)
    for name in profile.queue_types:
        if name not in profile.queues:
            raise fields.fail(f"lists the queue type {name} but has no [queue.{name}]")
    return profile


def _beside(path: Path, deviations: str) -> str | None:
    """A deviations file that a profile names lies beside it, wherever the suite is started; a name is one of ours."""
    return str(path.parent / deviations) if deviations.endswith(".toml") else deviations or None


def _with_a_basis(profile: Profile, fields: Fields, library: Path) -> None:
    """A profile that nobody measured says from which one it comes, and what that rests on."""
    if bool(profile.interpolated_from) != bool(profile.basis):
        raise fields.fail("'interpolated_from' and 'basis' come together: which profile, and what it rests on")
    if profile.interpolated_from and not (library / f"{profile.interpolated_from}.toml").exists():
        raise fields.fail(f"'interpolated_from' names {profile.interpolated_from!r}, which is no profile")


def _flattened(path: Path, library: Path, above: tuple[str, ...]) -> dict[str, object]:
    content = parse(path, BadProfile)
    base = content.get("extends")
    if base is None:
        return content
    if not isinstance(base, str):
        raise BadProfile(f"{path.name}: 'extends' must be the name of one other profile, not {base!r}")
    if base in above:
        raise BadProfile(f"{path.name}: 'extends' goes in a circle: {' -> '.join([*above, base])}")
    under = library / f"{base}.toml"
    if not under.exists():
        known = [found.stem for found in library.glob("*.toml") if found.stem != "choices"]
        raise BadProfile(f"{path.name}: extends {base!r}, which is no profile{near(base, known)}")
    inherited = _flattened(under, library, (*above, base))
    return _merged({key: value for key, value in inherited.items() if key not in _OWN}, content)


_OWN = ("title", "product", "versions", "deviations", "interpolated_from", "basis", "spares")
"""What a profile says of itself alone, and hands down to nobody."""


def _merged(under: Mapping[str, object], over: Mapping[str, object]) -> dict[str, object]:
    merged = dict(under)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = _merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return merged


def _semantics(fields: Fields) -> QueueSemantics:
    order = fields.choice("requeue_order", ORDERS)
    semantics = QueueSemantics(
        cancel_any_time=fields.flag("cancel_any_time"),
        cancelok_ends=fields.flag("cancelok_ends"),
        closeok_ends=fields.flag("closeok_ends"),
        closeok_sync=fields.choice("closeok_sync", SYNCS),
        same_channel_order=fields.flag("same_channel_order"),
        unconfirmed_may_vanish=fields.flag("unconfirmed_may_vanish"),
        requeue_order=order,
        requeue_order_limited=fields.choice("requeue_order_limited", ORDERS, order),
        requeue_order_unlimited=fields.choice("requeue_order_unlimited", ORDERS, order),
        gets_return=fields.choice("gets_return", (AS_DELIVERED, BY_TEXT)),
        messages_expire=fields.flag("messages_expire"),
    )
    fields.done()
    return semantics


def _choices(fields: Fields) -> dict[str, str]:
    chosen = {
        name: fields.choice(name, tuple(choice.alternatives))
        for name, choice in CHOICES.items()
        if not choice.per_queue
    }
    fields.done()
    return chosen


def _catalogue_of_choices(path: Path) -> dict[str, Choice]:
    file = Fields(parse(path, BadProfile), path.name, BadProfile)
    found: dict[str, Choice] = {}
    for name in file:
        fields = Fields(file.raw(name), f"{path.name}, [{name}]", BadProfile)
        meanings = Fields(fields.raw("alternatives"), f"{path.name}, [{name}.alternatives]", BadProfile)
        found[name] = Choice(
            name,
            fields.text("question"),
            {value: meanings.text(value) for value in meanings},
            fields.text("doubt"),
            fields.flag("per_queue"),
        )
        fields.done()
    return found


CHOICES: Mapping[str, Choice] = MappingProxyType(_catalogue_of_choices(Path(__file__).parent / "choices.toml"))
