"""What a trait is: one decision that deviates, and the truth about it, rule by rule.

    @around("queue.publish", "losing.every-publish", "...", breaks="RQ-011", may="CNF-010")
    def every_publish(earlier: Publish, self: Queue, message: Message) -> bool: ...

reads: in a broker with this trait `Queue.publish` is the function below, which may call what was there `earlier`. So
traits build on each other, where a mutant starts from the honest part: mutants are applied first (see `Personality`).

The truth is read out of the texts of the rules, never out of what a suite happens to find. Of a rule, a trait says that
it *breaks* it (a fair examiner finds that, and never calls it held), that it *may* break it (a direct consequence of
the same decision, or seen only at times: either word is right), or that it *hides* it: there is nothing left to see
it by, so that who calls it held though another trait breaks it is excused. All other rules it keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal, TypedDict, TypeVar, Unpack

import codec
from reference_broker.core.parts import Parts

Change = Callable[[Parts], None]
F = TypeVar("F", bound=Callable[..., Any])
Word = Literal["breaks", "may", "hides", "keeps"]


def patterns(text: str) -> frozenset[str]:
    """Ids of rules, or patterns of them, with blanks in between."""
    return frozenset(text.split())


def fits(rule: str, wanted: Iterable[str]) -> bool:
    return any(fnmatchcase(rule, pattern) for pattern in wanted)


@dataclass(frozen=True, slots=True)
class Truth:
    """Patterns of rule ids. A rule that fits several is what the first of them says."""

    breaks: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()
    hides: frozenset[str] = frozenset()

    def of(self, rule: str) -> Word:
        if fits(rule, self.breaks):
            return "breaks"
        if fits(rule, self.may):
            return "may"
        return "hides" if fits(rule, self.hides) else "keeps"


def together(truths: Iterable[Truth]) -> Truth:
    """Of a broker with all of these traits: what one breaks and another one hides may be found, or not."""
    truths = list(truths)
    hides = frozenset().union(*(one.hides for one in truths))
    breaks, may = set[str](), set(frozenset().union(*(one.may for one in truths)))
    for one in truths:
        others = frozenset().union(*(other.hides for other in truths if other is not one))
        hidden = {rule for rule in one.breaks if fits(rule, others)}
        breaks |= one.breaks - hidden
        may |= hidden
    return Truth(frozenset(breaks), frozenset(may), hides)


@dataclass(frozen=True, slots=True)
class Trait:
    """`says` completes "a broker in which ..."; `about` names the decisions that it takes: two traits about the same
    one do not meet. `connections`: the server gives up after so many."""

    name: str
    says: str
    truth: Truth
    apply: Change
    about: frozenset[str] = field(default_factory=frozenset)
    replaces: bool = False
    """Is it a mutant, which starts from the honest part?"""
    connections: int | None = None

    @property
    def breaks_down(self) -> bool:
        return "*" in self.truth.hides


ENTERED: dict[str, Trait] = {}
"""All of them, in the order in which they are applied: those that start from the honest part come first."""


def enter(one: Trait) -> None:
    ENTERED[one.name] = one


class Words(TypedDict, total=False):
    """What a trait says of rules, and which decisions it is about: see `Truth` and `Trait`."""

    breaks: str
    may: str
    hides: str
    about: str


def changes(
    name: str, says: str, *, connections: int | None = None, **words: Unpack[Words]
) -> Callable[[Change], Change]:
    """The decorated function changes the parts."""
    breaks, may, hides = words.get("breaks", ""), words.get("may", ""), words.get("hides", "")
    truth = Truth(patterns(breaks), patterns(may), patterns(hides))

    def add(apply: Change) -> Change:
        enter(Trait(name, says, truth, apply, patterns(words.get("about") or name), connections=connections))
        return apply

    return add


def around(target: str, name: str, says: str, **words: Unpack[Words]) -> Callable[[F], F]:
    """The decorated function takes the place of a method ("part.method"), and is given the earlier one first."""

    def add(wrong: F) -> F:
        changes(name, says, **words)(lambda parts: wrap(parts, target, wrong))
        return wrong

    return add


def around_handler(method: type[codec.Method], name: str, says: str, **words: Unpack[Words]) -> Callable[[F], F]:
    """The decorated function handles a method of the client, and is given the earlier handler first."""

    def add(wrong: F) -> F:
        changes(name, says, **words)(lambda parts: wrap_handler(parts, method, wrong))
        return wrong

    return add


def wrap(parts: Parts, target: str, wrong: Callable[..., Any]) -> None:
    """`wrong(earlier, self, ...)` takes the place of a method of a part."""
    part, method = target.split(".")
    earlier = getattr(getattr(parts, part), method)
    parts.override(part, **{method: lambda self, *given, **named: wrong(earlier, self, *given, **named)})


def wrap_handler(parts: Parts, method: type[codec.Method], wrong: Callable[..., None]) -> None:
    """`wrong(earlier, channel, method)` handles it."""
    earlier = parts.handlers[method]
    parts.handlers[method] = lambda channel, asked: wrong(earlier, channel, asked)


def memory(thing: object, name: str, make: Callable[[], Any]) -> Any:
    """What a trait has to remember, kept on the object that it is about."""
    return vars(thing).setdefault(f"trait_{name}", make())


def count(thing: object, name: str) -> int:
    """One more; how often this was said of the thing."""
    seen = memory(thing, name, lambda: [0])
    seen[0] += 1
    return int(seen[0])
