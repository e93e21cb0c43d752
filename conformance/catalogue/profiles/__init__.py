"""Profiles: what one product, in some of its versions, is held to.

The texts leave doubts, and brokers resolve them differently. Every such doubt is a named *choice* with its
alternatives and the source of the doubt (`choices.toml`); a *profile* is a product, its versions, the queue types it
knows and one value for each choice. Some choices are made per queue type: they say what the monitors may conclude
from an answer, so a wrong one makes false alarms. `documented` holds a broker to the texts alone.

A profile may build on another (`extends`), stating only what differs. Versions that could not be run have a profile by
interpolation: it says which measured one it is taken from, and on what basis.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance.catalogue.profiles.loading import (
    AS_DELIVERED,
    CHOICES,
    CIRCLES,
    BadProfile,
    Choice,
    Profile,
    QueueSemantics,
    read,
)
from conformance.catalogue.rules.fields import near

__all__ = [
    "AS_DELIVERED",
    "CHOICES",
    "CIRCLES",
    "EXACT",
    "NAMES",
    "NEAREST",
    "TEXTS",
    "BadProfile",
    "Choice",
    "Profile",
    "ProfileMatch",
    "QueueSemantics",
    "detect",
    "load",
    "match",
    "spec",
]

OURS = "amqp-conformance reference"
_WRITTEN_ABOUT = frozenset({OURS, "rabbitmq"})
_FOLDER = Path(__file__).parent
EXACT, NEAREST, TEXTS = "exact", "nearest", "texts"
DOCUMENTED = "documented"


def _in_order(name: str) -> tuple[bool, list[tuple[int, str]]]:
    """The texts first; then by product and version, 3.8 before 3.10."""
    return name != DOCUMENTED, [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name)]


NAMES = tuple(sorted((path.stem for path in _FOLDER.glob("*.toml") if path.stem != "choices"), key=_in_order))
"""Every file of the folder is a profile, except for the catalogue of choices."""


def load(name_or_path: str | Path) -> Profile:
    """One of our profiles by name, or a file that somebody wrote; or what `spec` made of either."""
    text, _, made = str(name_or_path).partition("?")
    if made:
        return _with_choices(load(text), dict(part.split("=", 1) for part in made.split("&") if "=" in part))
    if text in NAMES:
        return read(_FOLDER / f"{text}.toml", _FOLDER)
    path = Path(text)
    if path.suffix == ".toml" or path.exists():
        return read(path, _FOLDER)
    hint = f"known are {', '.join(NAMES)}, or give a .toml file"
    raise BadProfile(f"there is no profile {text!r}{near(text, NAMES)}; {hint}")


def _with_choices(profile: Profile, made: Mapping[str, str]) -> Profile:
    for choice, value in made.items():
        if choice not in profile.choices or value not in CHOICES[choice].alternatives:
            raise BadProfile(f"{profile.name} cannot be read with {choice}={value}: there is no such choice")
    return replace(profile, choices={**profile.choices, **made})


def spec(header: Mapping[str, Any]) -> str:
    """What `load` makes the profile of a recording from: its name, and the choices that were made otherwise for the
    broker at hand, as in `documented?consumer_timeout=none`."""
    name = str(header.get("profile") or DOCUMENTED)
    if name not in NAMES:
        return name
    usual, said = load(name).choices, header.get("choices") or {}
    made = sorted(f"{choice}={value}" for choice, value in said.items() if usual.get(choice, value) != value)
    return f"{name}?{'&'.join(made)}" if made else name


@dataclass(frozen=True, slots=True)
class ProfileMatch:
    """The profile for a broker, and how it was found: EXACT (its version is one of the profile), NEAREST, or TEXTS."""

    profile: Profile
    kind: str
    how: str
    """A sentence for people; empty where the profile was measured on just these versions."""


def told(server_properties: Mapping[str, Any], key: str) -> str:
    """What a broker says of itself, as far as it can be shown: some end their texts as C does. Empty for nothing."""
    return "".join(filter(str.isprintable, str(server_properties.get(key) or ""))).strip()


def match(server_properties: Mapping[str, Any]) -> ProfileMatch:
    """The profile for the broker that introduced itself like this, and a sentence about what is not certain of it.

    A version that nobody knows is examined by the nearest one of its product, lower or higher. A product that we do not
    know is held to the texts, and nobody assumes that it has quorum queues, nor the timeouts that the guide describes
    for them, nor that it follows RabbitMQ where the texts contradict each other.
    """
    product, said = (told(server_properties, key) for key in ("product", "version"))
    version = _numbers(said)
    known = [profile for profile in map(load, NAMES) if product and profile.product.lower() == product.lower()]
    if not known or not version:
        return _by_texts(product, said, bool(known))
    exact = next((one for one in known if any(_within(version, series) for series in one.versions)), None)
    if exact is None:
        near = _nearest(version, known)
        how = f"{product} {said} is not known; examined as {near.title}, the nearest"
        return ProfileMatch(near, NEAREST, f"{how}, which nobody ran either" if not near.measured else how)
    if exact.measured:
        return ProfileMatch(exact, EXACT, "")
    like = load(exact.interpolated_from).title
    how = f"nobody ran {exact.title}; its profile is that of {like}, corrected by the {exact.basis}"
    return ProfileMatch(exact, EXACT, how)


def chosen(wanted: Profile | None, server_properties: Mapping[str, Any]) -> ProfileMatch:
    """The profile that was asked for, or the matching one. Whoever asks for the texts alone means what they promise of
    any broker: what only RabbitMQ's guides describe, queue types and timeouts, is assumed of no other product."""
    product = told(server_properties, "product")
    if wanted is None:
        return match(server_properties)
    if wanted == load(DOCUMENTED) and product.lower() not in _WRITTEN_ABOUT:
        return _by_texts(product, told(server_properties, "version"), False, "is held to")
    return ProfileMatch(wanted, EXACT, "")


def detect(server_properties: Mapping[str, Any]) -> Profile:
    """The profile alone."""
    return match(server_properties).profile


def _by_texts(product: str, version: str, known: bool, done: str = "is not known; examined by") -> ProfileMatch:
    documented = load(DOCUMENTED)
    if product == OURS:
        return ProfileMatch(documented, EXACT, "")
    if known:
        how = f"{product} tells no version; examined by the texts alone"
    else:
        how = f"{f'{product} {version}'.strip() or 'a broker without a name'} {done} the texts alone"
    choices = {**documented.choices, "consumer_timeout": "none"}
    return ProfileMatch(replace(documented, queue_types=("classic",), choices=choices), TEXTS, how)


def _within(version: tuple[int, ...], series: str) -> bool:
    """Is it 4.3.6 of the series 4.3?"""
    numbers = _numbers(series)
    return version[: len(numbers)] == numbers


def _nearest(version: tuple[int, ...], known: Sequence[Profile]) -> Profile:
    """The neighbour in the order of versions that differs less; of two alike the lower one."""
    series = sorted((_numbers(text), place) for place, profile in enumerate(known) for text in profile.versions)
    lower = [one for one in series if one[0] < version][-1:]
    higher = [one for one in series if one[0] > version][:1]
    return known[min(lower + higher, key=lambda one: _distance(version, one[0]))[1]]


def _distance(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(abs(mine - its) for mine, its in zip(one, other, strict=False))


def _numbers(version: str) -> tuple[int, ...]:
    """ "3.10.8-rc.1" -> (3, 10, 8): what comes before the first part that is no number."""
    numbers: list[int] = []
    for part in version.split("+")[0].split("-")[0].split("."):
        if not part.isdecimal():
            break
        numbers.append(int(part))
    return tuple(numbers)
