"""How two profiles read what the texts leave open: the choices in which they differ. Pure.

A choice is a named doubt with its alternatives (`profiles/choices.toml`). Rules that are tied to one reading apply to
the brokers that are read so, and to no other; so a choice that differs says why rules come and go. What may be
concluded of queues differs by queue type.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from conformance.catalogue import profiles, rules
from conformance.catalogue.profiles import CHOICES, Profile
from conformance.catalogue.profiles.loading import WEAKEST
from conformance.outcome.results import Results


@dataclass(frozen=True, slots=True)
class Reading:
    """How one side reads a choice: the value, and what it means."""

    value: str
    meaning: str


@dataclass(frozen=True, slots=True)
class ChoiceDifference:
    """A doubt that the two profiles resolve differently, and the rules that apply under one reading alone."""

    name: str
    queue_type: str
    question: str
    doubt: str
    before: Reading
    after: Reading
    rules_before: tuple[str, ...]
    rules_after: tuple[str, ...]


class Readings:
    """The choices in which the two profiles differ."""

    def __init__(self, before: Results, after: Results) -> None:
        self.missing = tuple(run.profile for run in (before, after) if run.profile not in profiles.NAMES)
        self.choices: tuple[ChoiceDifference, ...] = ()
        self.profiles = tuple(
            profiles.load(run.profile).choices if run.profile in profiles.NAMES else {} for run in (before, after)
        )
        if not self.missing and before.profile != after.profile:
            selected = {rule.id for run in (before, after) for rule in run.rules if rule.selected}
            self.choices = between(profiles.load(before.profile), profiles.load(after.profile), selected)
        self.rules = {rule for choice in self.choices for rule in (*choice.rules_before, *choice.rules_after)}


def between(old: Profile, new: Profile, selected: Collection[str]) -> tuple[ChoiceDifference, ...]:
    """The choices in which two profiles differ, with the rules among `selected` that are tied to them."""
    return (*_choices(old, new, selected), *_of_queues(old, new))


def _choices(old: Profile, new: Profile, selected: Collection[str]) -> Iterator[ChoiceDifference]:
    for name in CHOICES:
        if name in old.choices and old.choices[name] != new.choices.get(name):
            one, other = old.choices[name], new.choices[name]
            yield _choice(name, "", one, other, tuple(_tied(name, one, selected)), tuple(_tied(name, other, selected)))


def _tied(choice: str, reading: str, selected: Collection[str]) -> Iterator[str]:
    for rule in rules.CATALOGUE.values():
        if rule.id in selected and rule.judged and reading in dict(rule.where).get(choice, ()):
            yield rule.id


def _of_queues(old: Profile, new: Profile) -> Iterator[ChoiceDifference]:
    """What differs between queues of one type that both know."""
    for queue_type in old.queue_types:
        if queue_type not in new.queue_types:
            continue
        for name in WEAKEST.__slots__:
            one, other = (_value(getattr(profile.queue(queue_type), name)) for profile in (old, new))
            if one != other:
                yield _choice(name, queue_type, one, other)


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _choice(
    name: str,
    queue_type: str,
    old: str,
    new: str,
    rules_old: tuple[str, ...] = (),
    rules_new: tuple[str, ...] = (),
) -> ChoiceDifference:
    known = CHOICES[name]
    return ChoiceDifference(
        name,
        queue_type,
        known.question,
        known.doubt,
        Reading(old, known.alternatives[old]),
        Reading(new, known.alternatives[new]),
        rules_old,
        rules_new,
    )
