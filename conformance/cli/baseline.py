"""`baseline RESULTS...`: a deviations file that fits what runs saw, made from the one there is.

The file is edited, never written anew: an entry that remains keeps its comments, note, owner, evidence and expiry to
the letter. What the runs saw and no entry covers becomes a new entry; an entry whose rule holds now is stale and goes;
one that is contradicted in other words, or whose pattern fits anything, gets a new `reason`, with the old one in a
comment, for its owner to look at. An expired entry stays expired unless a new date is given: that somebody looks again
is what the date is for. Where runs do not tell enough, an entry stays.
"""

from __future__ import annotations

import argparse
import datetime
import getpass
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import tomlkit
from tomlkit.items import String

from conformance.catalogue import deviations, profiles, rules
from conformance.catalogue.deviations import BadDeviations, Deviation, excuse
from conformance.diff.differences import renamed
from conformance.diff.files import results_in, write
from conformance.oracle.verdicts import Verdict
from conformance.outcome.gate import over_broad, pattern
from conformance.outcome.results import Case, Results, RuleResult
from conformance.session.exits import GATE_CLOSED, GATE_OPEN, WRONG_USE, Refused
from conformance.session.places import local

HEAD = """# Known deviations of {name}. Each entry excuses one rule, for the given reason, with evidence.
# Written by amqp-conformance baseline; you may edit it, and later runs keep what you write.
"""
_LEVELS = ("must", "should", "may")
_SETTLED = (Verdict.HELD, Verdict.DEVIATES, Verdict.UNSEEN)


@dataclass
class Draft:
    """A file in the making: what stands before the first entry, the text of each entry, and what was done."""

    head: str
    blocks: list[str]
    entries: tuple[Deviation, ...]
    done: list[str] = field(default_factory=list)

    def text(self) -> str:
        parts = [part for part in (self.head, *self.blocks) if part.strip()]
        return "\n\n".join(part.strip("\n") for part in parts) + "\n"


@dataclass(frozen=True, slots=True)
class BaselineOptions:
    """Who answers for new entries, and until when; a date also renews what has expired by `today`."""

    owner: str
    expires: datetime.date | None
    today: datetime.date


def arguments(added: argparse.ArgumentParser) -> None:
    added.epilog = "exit codes: 0 done, or nothing to do; 1 with --dry-run: the file would change; 2 wrong use"
    added.add_argument(
        "results",
        nargs="+",
        type=Path,
        metavar="RESULTS",
        help="results.json of one or more runs on one broker, or the directories that hold them",
    )
    added.add_argument(
        "--deviations",
        type=local,
        default=Path("deviations.toml"),
        metavar="FILE",
        help="the file to write or to edit (default: %(default)s)",
    )
    added.add_argument("--owner", metavar="NAME", help="owner of new entries (default: you)")
    added.add_argument("--expires", metavar="DATE", help="when new entries expire; also renews expired entries")
    added.add_argument("--dry-run", action="store_true", help="print the changes, and write nothing")


def run(options: argparse.Namespace) -> int:
    """Reads, edits and writes. Raises Refused."""
    runs = [results_in(path) for path in options.results]
    if len({one.profile for one in runs}) > 1:
        told = ", ".join(sorted({f"{one.broker.name} ({one.profile})" for one in runs}))
        raise Refused(WRONG_USE, f"These runs tested different kinds of brokers: {told}. Give each its own file.")
    wanted = BaselineOptions(options.owner or getpass.getuser(), _date(options.expires), datetime.date.today())
    before = _before(options.deviations, runs[0])
    after, done = update(before, runs, wanted, options.deviations.name)
    changed = after != before or not options.deviations.exists()
    if changed and not options.dry_run:
        write(after, options.deviations, "--deviations")
    print("\n".join(done) if done else "nothing to change: every entry fits, and nothing else is broken")
    return GATE_CLOSED if changed and options.dry_run else GATE_OPEN


def update(
    text: str,
    runs: Sequence[Results],
    wanted: BaselineOptions,
    name: str = "deviations.toml",
) -> tuple[str, list[str]]:
    """The file as it should be, and what was done to it, in words. Raises Refused, with the file's name."""
    draft = _draft(text, name)
    cases = [(one, case) for run in runs for one in _asked(run) for case in one.cases if case.certain]
    blocks = []
    for place, entry in enumerate(draft.entries):
        block = _Entry(draft, place, entry, runs, cases, wanted).edited()
        blocks += [block] if block else []
    covered = _read("\n\n".join(blocks), name)
    draft.blocks = blocks + list(_new(covered, runs, cases, wanted, draft.done))
    fresh = draft.text() if draft.done else text
    _read(fresh, name)
    return fresh, draft.done


def _asked(run: Results) -> list[RuleResult]:
    return [rule for rule in run.rules if rule.selected and rule.status == "judged" and rule.level in _LEVELS]


class _Entry:
    """One entry of the file, and what the runs say of it."""

    def __init__(
        self,
        draft: Draft,
        place: int,
        entry: Deviation,
        runs: Sequence[Results],
        cases: Sequence[tuple[RuleResult, Case]],
        wanted: BaselineOptions,
    ) -> None:
        self._draft, self._block, self._entry = draft, draft.blocks[place], entry
        self._runs, self._wishes = runs, wanted
        self._met, self._free = list[Case](), list[Case]()
        for rule, case in cases:
            if rule.id == entry.rule and case.queue_type in entry.queue_types:
                by = excuse(draft.entries, rule.id, case.observed, case.queue_type, case.where)
                (self._met if by == place else self._free if by is None else []).append(case)

    def edited(self) -> str:
        """The entry's text as it should be; empty where it goes."""
        entry = self._entry
        if over_broad(entry.reason) and self._met:
            self._reword(self._met[0], "fits anything")
        elif not self._met and self._free:
            self._reword(self._free[0], "had drifted")
        elif not self._met and self._stale():
            self._say("removed", "stale, the rule holds now")
            return _tail(self._block)
        if entry.expired(self._wishes.today):
            self._renew()
        return self._block

    def _stale(self) -> bool:
        """Did every run come to the verdict that the rule holds, on the queues of this entry?"""
        entry = self._entry
        asked = [(run, rule) for run in self._runs for rule in _asked(run) if rule.id == entry.rule]
        if entry.intermittent or not asked:
            return False
        return all(run.complete and self._holds(run, rule) for run, rule in asked)

    def _holds(self, run: Results, rule: RuleResult) -> bool:
        if any(
            "is stale" in reason and f"({rule.id}, reason {self._entry.reason!r})" in reason
            for reason in run.gate.reasons
        ):
            return True
        everywhere = set(run.queue_types) & set(rules.get(rule.id).queue_types) <= set(self._entry.queue_types)
        return everywhere and rule.verdict in _SETTLED and rule.exercised >= rule.needed and not rule.cases

    def _reword(self, case: Case, why: str) -> None:
        old, new = self._entry.reason, pattern(case.observed)
        table = tomlkit.parse(self._block)
        entry = table["deviation"][0]
        entry["reason"] = _literal(new)
        kept = f"# was: {' '.join(old.split())}"
        self._block = re.sub(r"(?m)^(?=reason\s*=)", lambda found: f"{kept}\n", tomlkit.dumps(table), count=1)
        self._say("corrected", f"its reason {why}, observed is now {case.observed!r}: read its note again")

    def _renew(self) -> None:
        until = self._wishes.expires
        if until is None:
            self._say("expired", f"on {self._entry.expires}; check it again, then give --expires DATE or delete it")
            return
        table = tomlkit.parse(self._block)
        table["deviation"][0]["expires"] = until
        self._block = tomlkit.dumps(table)
        self._say("renewed", f"until {until}")

    def _say(self, what: str, why: str) -> None:
        self._draft.done.append(f"{what}  {self._entry.rule}  {self._entry.reason!r}: {why}")


def _new(
    covered: Sequence[Deviation],
    runs: Sequence[Results],
    cases: Sequence[tuple[RuleResult, Case]],
    wanted: BaselineOptions,
    done: list[str],
) -> Iterator[str]:
    """An entry for each way in which a rule is contradicted that none covers; queues that show the same share one."""
    kinds: dict[tuple[str, str], list[tuple[RuleResult, Case]]] = {}
    for rule, case in cases:
        if excuse(covered, rule.id, case.observed, case.queue_type, case.where) is None:
            kinds.setdefault((rule.id, pattern(case.observed)), []).append((rule, case))
    for (name, reason), seen in kinds.items():
        rule, case = seen[0]
        run = next(one for one in runs if rule in one.rules)
        queues = [queue for queue in rules.get(name).queue_types if queue in {each.queue_type for _, each in seen}]
        table = tomlkit.table()
        table["rule"] = name
        if queues and queues != list(rules.get(name).queue_types):
            table["queue_types"] = queues
        if _now_and_then(name, runs):
            table["intermittent"] = True
        table["reason"] = _literal(reason)
        observed, allowed = renamed([case.observed, case.allowed])
        table["note"] = f"Seen on {run.broker.name}: {observed}. Allowed: {allowed}."
        table["evidence"] = f"cases/{case.id}.json of run {run.run}, {run.started[:10]}"
        table["owner"] = wanted.owner
        if wanted.expires:
            table["expires"] = wanted.expires
        done.append(f"added  {name}  {reason!r}: {case.observed}")
        yield tomlkit.dumps({"deviation": [table]})


def _now_and_then(name: str, runs: Sequence[Results]) -> bool:
    """Did some of several runs see the rule hold?"""
    verdicts = {bool(rule.cases) for run in runs for rule in _asked(run) if rule.id == name}
    return len(verdicts) > 1


def _literal(said: str) -> String:
    """The string as a person writes a pattern: without escapes, where it can be."""
    return tomlkit.string(said, literal="'" not in said)


# -- the file


def _before(path: Path, run: Results) -> str:
    """The file as it is; where there is none, the entries that the profile brings along, because the file replaces
    them."""
    try:
        if path.exists():
            return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise Refused(WRONG_USE, f"--deviations {path} cannot be read: {problem}.") from None
    own = profiles.load(run.profile).deviations if run.profile in profiles.NAMES else None
    return deviations.source(own) if own else HEAD.format(name=run.broker.name)


def _draft(text: str, name: str) -> Draft:
    """The file taken apart: an entry begins with the comments right above it."""
    lines = text.splitlines()
    begins = []
    for number, line in enumerate(lines):
        if deviations.HEADER.match(line):
            while number and lines[number - 1].startswith("#"):
                number -= 1
            begins.append(number)
    ends = [*begins[1:], len(lines)] if begins else []
    blocks = ["\n".join(lines[begin:end]) for begin, end in zip(begins, ends, strict=True)]
    entries = _read(text, name)
    if len(entries) != len(blocks):
        raise Refused(WRONG_USE, "Entries of a deviations file begin with [[deviation]] on a line of its own.")
    return Draft("\n".join(lines[: begins[0]] if begins else lines), blocks, entries)


def _tail(block: str) -> str:
    """Comments that stand below the entry, apart from it: they are about what follows."""
    lines = block.splitlines()
    last = max((number for number, line in enumerate(lines) if line.strip() and not line.startswith("#")), default=-1)
    return "\n".join(lines[last + 1 :]).strip("\n")


def _read(text: str, name: str) -> tuple[Deviation, ...]:
    """The entries of a text that would be a file of this name."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(text, encoding="utf-8")
        try:
            return deviations.read(path)
        except BadDeviations as bad:
            raise Refused(WRONG_USE, f"--deviations: {bad}.") from None


def _date(said: str | None) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(said) if said else None
    except ValueError:
        raise Refused(WRONG_USE, f"--expires {said} is not a date; write it as 2027-06-30.") from None
