"""What is known of each version of a broker, as a page: `python -m conformance.front.compatibility`.

Made of the data that the gate itself goes by: profiles say which rules apply to a version and how it reads what the
texts leave open, deviations files say which rules it is known to break, with evidence. That nothing is known is no
verdict: a run is (`make matrix`). The page is committed; a test proves that it is fresh.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from conformance import deviations, profiles, rules
from conformance.deviations import Deviation
from conformance.front.markdown import link, table
from conformance.profiles import Profile
from conformance.rules import Rule

PAGE = Path(__file__).resolve().parents[2] / "docs" / "compatibility.md"
TEXTS = "documented"

HEAD = """# Compatibility, version by version

Made by `python -m conformance.front.compatibility` from `conformance/profiles/` and `conformance/deviations/`; change
those, not this page. A gate goes by the same data: it is closed by a rule that a version breaks and that is not listed
here, and by a deviation that is listed and not there any more. To examine a broker of your own, see
[the README](../README.md); for two versions side by side, run `amqp-conformance diff`.
"""


def page() -> str:
    """The whole page."""
    known = [profiles.load(name) for name in profiles.NAMES if name != TEXTS]
    ordered = sorted(known, key=lambda profile: (profile.product, [*map(_number, profile.versions[0].split("."))]))
    named = {profile.name: _deviations(profile) for profile in ordered}
    return "\n".join([
        HEAD, _broken(ordered, named), _told(ordered, named), _not_asked(ordered), _readings(ordered),
    ])


def _number(word: str) -> int:
    return int(word) if word.isdecimal() else 0


def _deviations(profile: Profile) -> Sequence[Deviation]:
    return deviations.load(profile.deviations) if profile.deviations else ()


def _broken(ordered: Sequence[Profile], named: dict[str, Sequence[Deviation]]) -> str:
    rows = [
        [link(rule), rule.title, rule.level, *cells]
        for rule in rules.CATALOGUE.values()
        if any(cells := [_cell(named[profile.name], rule) for profile in ordered])
    ]
    told = table(["rule", "", "level", *(profile.title for profile in ordered)], rows)
    return (f"## Rules that a version is known to break\n\nOn which queues; *a race* where a run may miss it. An empty "
            f"cell: no deviation is known.\n\n{told}")


def _cell(entries: Iterable[Deviation], rule: Rule) -> str:
    words = dict.fromkeys(
        f"{' and '.join(entry.queue_types)}{', *a race*' if entry.intermittent else ''}"
        for entry in entries if entry.rule == rule.id
    )
    return "; ".join(words)


def _told(ordered: Sequence[Profile], named: dict[str, Sequence[Deviation]]) -> str:
    lines = ["## In words\n"]
    for profile in ordered:
        entries = named[profile.name]
        lines.append(f"### {profile.title}\n")
        lines += map(_sentence, entries) if profile.deviations else ["Nobody has looked for deviations yet."]
        lines.append("")
    return "\n".join(lines)


def _sentence(entry: Deviation) -> str:
    where, note = " and ".join(entry.queue_types), " ".join(entry.note.split())
    return f"- {link(rules.get(entry.rule))} ({where}): {note} Evidence: {entry.evidence}."


def _not_asked(ordered: Sequence[Profile]) -> str:
    rows = []
    for rule in rules.CATALOGUE.values():
        reasons = [rule.ruled_out(profile.choices) for profile in ordered]
        if any(reasons):
            rows.append([link(rule), rule.title, *("does not apply" if reason else "" for reason in reasons)])
    return ("## Rules that a version is not held to\n\nBecause of how it reads a doubt; which, the next table says.\n\n"
            f"{table(['rule', '', *(profile.title for profile in ordered)], rows)}")


def _readings(ordered: Sequence[Profile]) -> str:
    rows = [[choice.question, *_values(choice.name, ordered)]
            for choice in profiles.CHOICES.values() if not choice.per_queue]
    return ("## How a version reads what the texts leave open\n\n"
            f"{table(['', *(profile.title for profile in ordered)], rows)}")


def _values(choice: str, ordered: Sequence[Profile]) -> Iterator[str]:
    return (profile.choices[choice] for profile in ordered)


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
