"""Verdicts and runs in words: what the page says, apart from how it looks.

Two rules keep this honest. A number is never rounded up to a hundred per cent, and a rule that was not judged never
counts as kept. The headline consists of counts, so it can be read without the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LEVELS = ("must", "should", "may", "observed")


@dataclass(frozen=True, slots=True)
class Sign:
    """How a verdict is shown: the name of its symbol, a glyph for plain text, and its words; `short` beside a count."""

    symbol: str
    glyph: str
    word: str
    meaning: str
    brief: str = ""

    @property
    def short(self) -> str:
        return self.brief or self.word


SIGNS: Mapping[str, Sign] = {
    "broken": Sign("broken", "✕", "broken", "contradicted by at least one recorded exchange"),
    "deviates": Sign(
        "deviates", "◪", "known deviation", "broken, and listed among the profile's known deviations", "known"
    ),
    "differs": Sign(
        "differs", "≠", "unusual", "no source demands it; it is reported, but does not close the gate", "unusual"
    ),
    "harness-error": Sign("harness", "!", "no verdict", "the suite itself failed; this says nothing about the broker"),
    "inconclusive": Sign(
        "doubt", "?", "inconclusive", "contradicted, but the text or a race may explain it", "in doubt"
    ),
    "under-tested": Sign("thin", "◌", "under-tested", "exercised too rarely to judge it"),
    "unseen": Sign("unseen", "◩", "race not seen", "held in this run; a known race breaks it now and then", "unseen"),
    "held": Sign("held", "✓", "held", "never contradicted"),
    "not-offered": Sign("absent", "–", "not offered", "the broker does not offer what the rule is about"),
    "planned": Sign("planned", "□", "planned", "not judged by this version of the suite"),
    "not-run": Sign("planned", "□", "not in this run", "the run was asked for other rules", "not run"),
    "not-judgeable": Sign("beyond", "∕", "not judgeable", "cannot be decided from outside the broker"),
}
"""Worst first: the order in which verdicts are listed everywhere."""

SILENT = ("planned", "not-run", "not-judgeable")
"""Verdicts that say nothing about the broker, and nothing was tried."""

UNKNOWN = Sign("harness", "!", "unknown verdict", "a verdict that this version does not know")


def sign(verdict: str) -> Sign:
    return SIGNS.get(verdict, UNKNOWN)


def results_for_display(results: Mapping[str, Any]) -> dict[str, Any]:
    """The results as they are shown: what breaks a rule that no source asks for does otherwise, and is no failure."""
    return {
        **results,
        "rules": [
            {**rule, "verdict": "differs"} if rule["verdict"] == "broken" and rule["level"] == "observed" else rule
            for rule in results["rules"]
        ],
    }


def severity(verdict: str) -> int:
    """Sort key: 0 is worst."""
    order = list(SIGNS)
    return order.index(verdict) if verdict in order else len(order)


def gravity(rule: Mapping[str, Any]) -> tuple[int, int, int]:
    """Sort key, worst first: by level, by verdict, and then by how often the contradiction was seen."""
    level = LEVELS.index(rule["level"]) if rule["level"] in LEVELS else len(LEVELS)
    return level, severity(rule["verdict"]), -sum(case.get("seen", 1) for case in rule.get("cases") or ())


@dataclass(frozen=True, slots=True)
class Share:
    """Of the judged rules of one level that the broker offers: how many held."""

    level: str
    held: int
    of: int

    @property
    def percent(self) -> str:
        """One decimal, rounded down: 100 means all of them."""
        if not self.of:
            return "–"
        tenths = 1000 * self.held // self.of
        return str(tenths // 10) if tenths % 10 == 0 else f"{tenths / 10:.1f}"


def share(level: str, rules: Sequence[Mapping[str, Any]]) -> Share:
    """The share of a level. Under-tested, inconclusive and deviating rules count as not held."""
    counted = [rule for rule in rules if rule["level"] == level and examined(rule)]
    return Share(level, sum(rule["verdict"] == "held" for rule in counted), len(counted))


def judged(rule: Mapping[str, Any]) -> bool:
    """Did this run come to a verdict on the rule, whatever it is?"""
    return rule["verdict"] not in SILENT


def examined(rule: Mapping[str, Any]) -> bool:
    """Was it judged on something that the broker offers?"""
    return judged(rule) and rule["verdict"] != "not-offered"


def count(number: int, one: str, many: str = "") -> str:
    """`3 rules`, `1 rule`, `no rules`."""
    noun = one if number == 1 else many or one + "s"
    return f"{f'{number:,}'.replace(',', ' ') if number else 'no'} {noun}"


def series(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def overheard(results: Mapping[str, Any]) -> bool:
    """Is it traffic that nobody provoked, a capture or what a proxy recorded? Then little of it could be judged."""
    return results["depth"] in ("capture", "recording")


def could(results: Mapping[str, Any]) -> str:
    """Of traffic that nobody provoked: against how much of the catalogue it could be held."""
    rules = [rule for rule in results["rules"] if examined(rule)]
    clear = sum(rule["verdict"] in ("held", "broken", "deviates", "unseen") for rule in rules)
    return f"{clear} of {count(len(rules), 'rule')} could be judged"


def headline(results: Mapping[str, Any]) -> tuple[str, str]:
    """The verdict on the broker in two sentences; the second is what is wrong, and may be empty."""
    results = results_for_display(results)
    name = results["broker"]["name"]
    rules = [rule for rule in results["rules"] if examined(rule)]
    tally = {verdict: sum(rule["verdict"] == verdict for rule in rules) for verdict in SIGNS}
    offered = len(rules)
    is_open = bool(results["gate"]["open"])
    if not offered:
        return f"{name} was not judged.", "No rule was selected that this broker offers."
    if tally["broken"]:
        broken = [rule for rule in rules if rule["verdict"] == "broken"]
        worst = min(broken, key=gravity)
        passes = "passes the gate" if is_open else "does not pass the gate"
        return f"{name} {passes}.", _breaks(worst, tally["broken"], offered, results.get("faults") or ())
    if not is_open:
        return f"{name} does not pass the gate.", _sentence(next(iter(results["gate"]["reasons"]), "No reason given"))
    if overheard(results):
        return f"{name} was not seen to break anything.", f"{could(results)}."
    if tally["held"] == offered:
        return f"{name} keeps {'the' if offered == 1 else 'all'} {count(offered, 'rule')} judged.", ""
    return f"{name} passes the gate. {_rest(tally, offered)}", ""


def _breaks(worst: Mapping[str, Any], broken: int, offered: int, faults: Sequence[Mapping[str, Any]]) -> str:
    """How much is broken, and what it looks like: the fault in words, where it is known, else the worst rule."""
    rules = f"one of {count(offered, 'rule')}" if broken == 1 else f"{broken} of {count(offered, 'rule')}"
    like = ", or as if ".join(faults[0]["like"]) if faults else ""
    if like and len(faults) == 1:
        return f"It breaks {rules} judged, as if {like}."
    if like:
        return f"It breaks {rules} judged, probably by {len(faults)} faults. It behaves as if {like}."
    return f"It breaks {rules} judged{',' if broken > 1 else ':'} {'among them ' * (broken > 1)}“{worst['title']}”."


def fault(one: Mapping[str, Any]) -> str:
    """What a group of broken rules looks like, and which rules they are beside the one that names it."""
    like = f"It behaves as if {', or as if '.join(one['like'])}. " if one["like"] else ""
    others = [rule for rule in one["rules"] if rule != one["rule"]]
    return f"{like}{_with(others)}".strip()


def _with(others: Sequence[str]) -> str:
    return f"This also breaks {', '.join(others)}." if others else ""


def _rest(tally: Mapping[str, int], offered: int) -> str:
    counted = {"deviates": ("known deviation", ""), "unseen": ("known race not seen", "known races not seen")}
    names = {
        "differs": "unusual",
        "under-tested": "under-tested",
        "inconclusive": "inconclusive",
        "harness-error": "without verdict",
    }
    parts = [count(tally[key], *words) for key, words in counted.items() if tally[key]]
    parts += [f"{tally[key]} {word}" for key, word in names.items() if tally[key]]
    return f"It keeps {tally['held']} of {count(offered, 'rule')} judged; {', '.join(parts)}."


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def duration(seconds: float) -> str:
    """`3 m 12 s`, `4.2 s`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} m {rest:02d} s"


def describe_side(value: object) -> str:
    """A verdict, or whatever else compare.json says of one side, in words."""
    if isinstance(value, Mapping):
        return ", ".join(describe_side(item) for item in value.values())
    return SIGNS[value].word if isinstance(value, str) and value in SIGNS else str(value)
