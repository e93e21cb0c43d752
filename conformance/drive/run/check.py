"""What the `rule` mark of a check says: its rules, the queue types it is staged on, and from which depth on it runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from conformance.catalogue import rules
from conformance.catalogue.rules import Rule
from conformance.drive.run.size import DEPTHS


@dataclass(frozen=True, slots=True)
class Check:
    """What the mark on a check says. No rules: it may exercise any (the machines)."""

    rules: tuple[str, ...]
    queue_types: tuple[str, ...] = ("classic", "quorum")
    depth: str = "smoke"
    for_families: tuple[str, ...] = ()
    last: bool = False
    """It is played after all that is not."""
    parts: int = 1
    """So many checks are its parts, and share the time that one machine has."""

    @classmethod
    def of(cls, args: Iterable[str], kwargs: Mapping[str, object]) -> Check:
        queue_types = kwargs.get("queue_types", ("classic", "quorum"))
        assert isinstance(queue_types, tuple | list)
        families = kwargs.get("families", ())
        assert isinstance(families, tuple | list)
        return cls(
            tuple(args),
            tuple(queue_types),
            str(kwargs.get("depth", "smoke")),
            tuple(families),
            bool(kwargs.get("last")),
            parts if isinstance(parts := kwargs.get("parts"), int) else 1,
        )

    def within(self, depth: str) -> bool:
        """Does it run at this depth?"""
        return DEPTHS.index(self.depth) <= DEPTHS.index(depth)

    def levels(self) -> set[str]:
        return {rules.get(name).level for name in self.rules}

    def missing(self, capabilities: Iterable[str], refused: Collection[str] = ()) -> str | None:
        """A capability or a feature that the broker does not offer, where all rules of this check need such."""
        offered = set(capabilities)
        absent = [_absent(rules.get(name), offered, refused) for name in self.rules]
        return absent[0] if absent and all(absent) else None

    def ruled_out(self, choices: Mapping[str, str]) -> str | None:
        """Why, by the profile, none of this check's rules applies."""
        reasons = [rules.get(name).ruled_out(choices) for name in self.rules]
        return reasons[0] if reasons and None not in reasons else None


def _absent(rule: Rule, capabilities: Collection[str], refused: Collection[str]) -> str | None:
    if rule.capability is not None and rule.capability not in capabilities:
        return rule.capability
    return next((name for name in rule.needs if name in refused), None)
