"""What a broker and version is held to, beyond the rules themselves.

The texts leave doubts, and brokers resolve them differently. Every such doubt is a named *choice* with its
alternatives and the source of the doubt (`choices.toml`); a *profile* is a product, its versions, the queue types it
knows and one value for each choice. Some choices are made per queue type: they say what the monitors may conclude
from an answer, so a wrong one makes false alarms. `documented` holds a broker to the texts alone.

A profile may build on another (`extends`), stating only what differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance.profiles.loading import (
    AS_DELIVERED,
    CHOICES,
    BadProfile,
    Choice,
    Profile,
    QueueSemantics,
    read,
)
from conformance.rules.fields import near

__all__ = ["AS_DELIVERED", "CHOICES", "NAMES", "BadProfile", "Choice", "Profile", "QueueSemantics", "detect", "load"]

OURS = "amqp-conformance reference"
_FOLDER = Path(__file__).parent
NAMES = ("documented", "rabbitmq-3.8", "rabbitmq-3.10", "rabbitmq-4.0", "rabbitmq-4.3", "lavinmq-2")


def load(name_or_path: str | Path) -> Profile:
    """One of our profiles by name, or a file that somebody wrote."""
    text = str(name_or_path)
    if text in NAMES:
        return read(_FOLDER / f"{text}.toml", _FOLDER)
    path = Path(text)
    if path.suffix == ".toml" or path.exists():
        return read(path, _FOLDER)
    hint = f"known are {', '.join(NAMES)}, or give a .toml file"
    raise BadProfile(f"there is no profile {text!r}{near(text, NAMES)}; {hint}")


def detect(server_properties: Mapping[str, Any]) -> Profile:
    """The profile for the broker that introduced itself like this: same product, same or nearest lower version.

    A product that we do not know is held to the texts, and nobody assumes that it has quorum queues,
    nor the time-outs that the guide describes for them.
    """
    product = str(server_properties.get("product") or "")
    version = _numbers(str(server_properties.get("version") or ""))
    best: tuple[tuple[int, ...], Profile] | None = None
    for profile in map(load, NAMES):
        since = _numbers(profile.versions[0]) if profile.versions else ()
        if profile.product.lower() == product.lower() and since <= version and (best is None or since > best[0]):
            best = since, profile
    if best and product:
        return best[1]
    documented = load("documented")
    if product == OURS:
        return documented
    return replace(documented, queue_types=("classic",), choices={**documented.choices, "consumer_timeout": "none"})


def _numbers(version: str) -> tuple[int, ...]:
    """"3.10.8-rc.1" -> (3, 10, 8): what comes before the first part that is no number."""
    numbers: list[int] = []
    for part in version.split("+")[0].split("-")[0].split("."):
        if not part.isdecimal():
            break
        numbers.append(int(part))
    return tuple(numbers)
