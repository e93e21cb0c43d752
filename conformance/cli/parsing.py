"""What the parsers of all verbs share: complaints in our words, formats, and what a shell may complete."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from conformance.session.exits import WRONG_USE, Refused


class Parser(argparse.ArgumentParser):
    """Complaints of argparse, in our words and with our exit code. Options of a verb may stand between its words."""

    _mixing = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse has it, and where that can be, words and options in any order."""
        fixed = any(action.nargs in (argparse.PARSER, argparse.REMAINDER) for action in self._get_positional_actions())
        if fixed or self._mixing:
            return super().parse_known_args(args, namespace)
        self._mixing = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._mixing = False

    def error(self, message: str) -> NoReturn:
        raise Refused(WRONG_USE, f"{message[:1].upper()}{message[1:]}. See: {self.prog} --help.")


def printed(added: argparse.ArgumentParser, about: str) -> None:
    """What most verbs print: a summary, or data."""
    added.add_argument("--format", choices=("text", "json"), default="text", help=about)


def port(said: str) -> int:
    """The number of a port, as argparse takes it."""
    if said.isdecimal() and 0 < int(said) < 1 << 16:
        return int(said)
    raise argparse.ArgumentTypeError(f"{said} is not a port; there are 1 to 65535")


def workers(said: str | None) -> str | None:
    """A number of processes, or 'auto'. Raises Refused."""
    if said is None or said == "auto" or (said.isdecimal() and said != "0"):
        return said
    raise Refused(WRONG_USE, f"-n {said} is not a number of processes; give at least 1, or 'auto'.")


def completed(action: argparse.Action) -> None:
    """What a shell may complete here, where argcomplete asks for it."""
    known = {"rule": _rules, "rules": _rules, "mutant": _mutants, "profile": _profiles, "set": _sets, "depth": _depths}
    if action.dest in known:
        action.completer = known[action.dest]  # type: ignore[attr-defined]


def _rules(**_: object) -> list[str]:
    from conformance.catalogue import rules

    return list(rules.CATALOGUE)


def _mutants(**_: object) -> list[str]:
    from reference_broker.mutants import MUTANTS

    return list(MUTANTS)


def _depths(**_: object) -> list[str]:
    from conformance.drive.run.size import DEPTHS

    return list(DEPTHS)


def _sets(**_: object) -> list[str]:
    from conformance.catalogue import sets

    return list(sets.SETS)


def _profiles(**_: object) -> list[str]:
    from conformance.catalogue import profiles

    return list(profiles.NAMES)
