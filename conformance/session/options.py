"""What a user may say: one table of options, from which pytest's options, its ini keys and the command line are made.

Precedence: what was typed, then the ini file, then the environment, then the default. Nothing is checked while options
are merely registered, because the plugin is loaded in every project that has it installed; `Options.checked` does that
once the suite is really wanted, and refuses in words.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from conformance.drive.run.size import DEPTHS
from conformance.outcome.results import Selection
from conformance.session.exits import WRONG_USE, Refused
from conformance.session.places import writable

LEVELS = ("must", "should", "may")
MIN_COVERAGE = 75
"""Per cent. On the brokers that we know all of them are exercised, at any depth: see docs/compatibility.md."""
LONGEST = 60 * 24 * 365
"""Minutes of a hunt."""
MINUTES = {"smoke": 10, "ci": 15, "deep": 240}


@dataclass(frozen=True, slots=True)
class Option:
    """One option: `--name`, ini key `amqp_name`."""

    name: str
    help: str
    metavar: str = ""
    flag: bool = False
    many: bool = False
    hunts: bool = False
    """Of a hunt alone."""
    env: str = ""

    @property
    def dest(self) -> str:
        return "amqp_" + self.name.replace("-", "_")


TABLE = (
    Option("broker-url", "amqp or amqps URL; default: the embedded reference broker", "URL", many=True, env="AMQP_URL"),
    Option("mutant", "test the embedded broker with these mutants (amqp-conformance mutants lists them)", "NAME,..."),
    Option(
        "broker-admin", "management API of RabbitMQ's kind, to set policies; without it fewer rules are judged", "URL"
    ),
    Option(
        "consumer-timeout",
        "the consumer timeout that the broker is configured with, in milliseconds, if it is short",
        "MS",
    ),
    Option("profile", "profile: a name or a file; default: detected", "NAME|FILE"),
    Option("deviations", "known deviations: a name or a file; default: the profile's own", "NAME|FILE"),
    Option("level", "lowest level of rules to play: must, should or may (default)", "LEVEL"),
    Option("strict", "a broken SHOULD also closes the gate", flag=True),
    Option(
        "min-coverage",
        f"close the gate if a smaller share of the MUST rules was exercised (default {MIN_COVERAGE})",
        "PERCENT",
    ),
    Option("rules", "play only these rules: comma-separated patterns, e.g. 'ACK-*'", "GLOB"),
    Option(
        "set",
        "play only the rules of these named lists, which stay as they are: guides-1, protocol-1, extensions-1 "
        "(amqp-conformance list --set NAME)",
        "NAME,...",
    ),
    Option("depth", "how much to play: smoke, ci (default) or deep", "DEPTH"),
    Option("examples", "number of examples for each machine; overrides that of --depth", "N"),
    Option("seed", "seed of all random choices (default 0)", "N"),
    Option(
        "restart",
        "shell command that restarts the broker if it hangs or crashes; if it shuts the broker down in good order and "
        "keeps its data, also to judge DUR-*",
        "COMMAND",
    ),
    Option(
        "kill",
        "shell command that kills the broker (kill -9, no clean shutdown) and starts it again, to judge CNF-013",
        "COMMAND",
    ),
    Option("block", "shell command that raises a resource alarm, to judge BLOCK-*", "COMMAND"),
    Option("unblock", "shell command that clears that alarm", "COMMAND"),
    Option("spare-vhosts", "vhosts to continue in if the vhost of the URL hangs", "NAME,..."),
    Option(
        "time-limit", "minutes after which the run stops and writes its report; default by depth: 10, 15 or 240", "MIN"
    ),
    Option("hunt", "minutes: hunt for so long, with the hunting checks (amqp-conformance hunt)", "MIN", hunts=True),
    Option("again", "play one round of an earlier hunt again; a case names its round", "ROUND", hunts=True),
    Option("recording", "write every wire event into this directory", "DIR"),
    Option(
        "report",
        "write the report into this directory: html, json, junit, ctrf, allure, badge, markdown summary, cases",
        "DIR",
    ),
    Option(
        "history",
        "keep the results of each run in this directory; the report then shows earlier runs and flaky rules",
        "DIR",
    ),
)


@dataclass(frozen=True, slots=True)
class Options:
    """The checked wishes of one run."""

    url: str | None = None
    mutants: tuple[str, ...] = ()
    admin: str | None = None
    consumer_timeout: int | None = None
    profile: str | None = None
    deviations: str | None = None
    level: str = "may"
    strict: bool = False
    min_coverage: int = MIN_COVERAGE
    rules: str = "*"
    set: str = ""
    depth: str = "ci"
    examples: int | None = None
    seed: int = 0
    restart: str | None = None
    kill: str | None = None
    block: str | None = None
    unblock: str | None = None
    spare_vhosts: tuple[str, ...] = ()
    time_limit: int | None = None
    hunt: float = 0.0
    again: str = ""
    recording: Path | None = None
    report: Path | None = None
    history: Path | None = None

    @property
    def minutes(self) -> int:
        """The run must be over after so many."""
        return self.time_limit or MINUTES[self.depth] + ceil(self.hunt)

    @property
    def revived(self) -> bool:
        """Is there a way to go on after a breakdown?"""
        return bool(self.restart or self.spare_vhosts or self.admin)

    @property
    def selection(self) -> Selection:
        return Selection(self.level, self.rules, self.strict, self.min_coverage, self.set)

    @classmethod
    def checked(cls, said: Callable[[str], object], environment: Mapping[str, str] = os.environ) -> Options:
        """Options from whatever answers by name; raises Refused."""
        text = {option.name: _value_given(option, said(option.name), environment) for option in TABLE}
        rules = str(text["rules"] or "*")
        level = _one_of("level", text["level"] or "may", LEVELS)
        of = ",".join(_names(text["set"]))
        _known_rules(rules, level, of)
        url = _url(text["broker-url"])
        return cls(
            url=url,
            mutants=_mutants(text["mutant"], url),
            admin=_text(text["broker-admin"]),
            consumer_timeout=_number("consumer-timeout", text["consumer-timeout"], 0),
            profile=_text(text["profile"]),
            deviations=_text(text["deviations"]),
            level=level,
            strict=bool(text["strict"]),
            rules=rules,
            set=of,
            min_coverage=_percent("min-coverage", text["min-coverage"], MIN_COVERAGE),
            depth=_one_of("depth", text["depth"] or "ci", DEPTHS),
            examples=_number("examples", text["examples"], 1),
            seed=_number("seed", text["seed"], 0) or 0,
            restart=_text(text["restart"]),
            kill=_text(text["kill"]),
            block=_text(text["block"]),
            unblock=_text(text["unblock"]),
            spare_vhosts=_names(text["spare-vhosts"]),
            time_limit=_number("time-limit", text["time-limit"], 1),
            hunt=_minutes("hunt", text["hunt"]),
            again=_round(text["again"]),
            recording=_directory("recording", text["recording"]),
            report=_directory("report", text["report"]),
            history=_directory("history", text["history"]),
        )


def _value_given(option: Option, value: object, environment: Mapping[str, str]) -> object:
    if value in (None, "", [], False) and option.env:
        return environment.get(option.env) or None
    return value or None


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _url(value: object) -> str | None:
    """The one broker of this run. `NAME=URL` names it; the name is not needed for one."""
    urls = [value] if isinstance(value, str) else list(value) if isinstance(value, (list, tuple)) else []
    if len(urls) > 1:
        raise Refused(
            WRONG_USE,
            f"--broker-url was given {len(urls)} times, but one run tests one broker. Run the "
            "suite once for each broker, with a --report directory of its own.",
        )
    return re.sub(r"^[\w.-]+=(?=amqps?:)", "", str(urls[0]).strip()) if urls else None


def _names(value: object) -> tuple[str, ...]:
    return tuple(name.strip() for name in str(value or "").split(",") if name.strip())


def _mutants(value: object, url: str | None) -> tuple[str, ...]:
    """The names of what is wrong with the embedded broker."""
    from reference_broker.mutants import UnknownMutant, parts_with

    names = _names(value)
    if names and url is not None:
        raise Refused(WRONG_USE, "--mutant is a wrong behaviour of the embedded broker. Leave out the URL.")
    try:
        parts_with(names)
    except UnknownMutant as unknown:
        raise Refused(WRONG_USE, f"--mutant: {unknown} See: amqp-conformance mutants.") from None
    return names


def _one_of(name: str, value: object, known: tuple[str, ...]) -> str:
    text = str(value).lower()
    if text not in known:
        raise Refused(WRONG_USE, f"--{name} {value} is not known; use one of {', '.join(known)}.")
    return text


def _number(name: str, value: object, least: int) -> int | None:
    if value is None:
        return None
    try:
        number = int(str(value))
    except ValueError:
        number = least - 1
    if number < least:
        raise Refused(WRONG_USE, f"--{name} {value} is not a whole number of at least {least}.")
    return number


def _minutes(name: str, value: object) -> float:
    try:
        minutes = float(str(value or 0))
    except ValueError:
        minutes = -1.0
    if not 0 <= minutes < LONGEST:
        raise Refused(WRONG_USE, f"--{name} {value} is not a number of minutes.")
    return minutes


def _round(value: object) -> str:
    """The text of a round that there is."""
    if not value:
        return ""
    from conformance.session.hunting import BadRound, Round

    try:
        return str(Round.read(str(value)))
    except BadRound as bad:
        raise Refused(WRONG_USE, f"--again: {bad}. Copy the round from a finding.") from None


def _percent(name: str, value: object, default: int) -> int:
    number = _number(name, value, 0)
    if number is not None and number > 100:
        raise Refused(WRONG_USE, f"--{name} {value} is not a whole number from 0 to 100.")
    return default if number is None else number


def _directory(name: str, value: object) -> Path | None:
    return None if value is None else writable(name, value)


def _known_rules(rules: str, level: str, of: str) -> None:
    """A pattern that selects nothing is a slip of the pen, and a run without rules would prove nothing."""
    from conformance.catalogue import rules as catalogue
    from conformance.catalogue import sets

    try:
        if sets.select(of, rules, level):
            return
    except sets.UnknownSet as wrong:
        raise Refused(WRONG_USE, f"--set: {wrong}. See: amqp-conformance list --set NAME.") from None
    if of and catalogue.select(rules, level):
        raise Refused(
            WRONG_USE, f"no rule of --set {of} matches --rules {rules}. See: amqp-conformance list --set {of}."
        )
    unknown = [part for part in rules.split(",") if part.strip() and not catalogue.select(part)]
    why = f"no rule of level {level} or higher matches --rules {rules}."
    if unknown:
        families = ", ".join(catalogue.FAMILIES)
        why = f"--rules {','.join(unknown)} matches no rule. Families are {families}; write 'ACK-*' or 'ACK-010'."
    raise Refused(WRONG_USE, f"{why} See: amqp-conformance list.")
