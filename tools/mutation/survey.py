"""Which checks reach which statements of the core, and with which subjects: one run on the honest broker tells.

A check that does not reach a place cannot tell whether it is wrong, so an exam plays only those that do; and a trigger
is drawn only where it can hold. The core runs code that notes each statement before it is executed.
"""

from __future__ import annotations

import ast
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from conformance.campaigns.hunt import control, embedded
from conformance.catalogue import profiles
from conformance.drive.around import Around
from conformance.drive.run.plays import Play, plays
from conformance.drive.run.runner import revisited
from tools.mutation.child import Send
from tools.mutation.install import running
from tools.mutation.past import Past
from tools.mutation.source import CORE, Functions, codes, parsed
from tools.mutation.subjects import Subjects, around
from tools.mutation.triggers import WRITE

SURVEY = "_survey_"
DEADLINE = 5.0
"""Seconds that a broker gets for what it owes: machines on which a campaign runs are busy."""
LOOKS = 16
"""This many checks are asked with which subjects they reach a statement."""
TIMES = 8
"""So often in each of them: which subjects come there more than once?"""
At = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class ExamSettings:
    """How brokers are examined."""

    depth: str = "ci"
    seed: int = 0
    dialect: str = "documented"
    machines_alone: bool = False
    """Without scenes."""

    def __str__(self) -> str:
        return f"{self.depth} {self.dialect}{' machines alone' if self.machines_alone else ''}"


def chosen(settings: ExamSettings) -> list[Play]:
    """What is played at this depth: scenes, then machines, then each scene once more."""
    profile, clock = profiles.load(settings.dialect), Around(advance=lambda seconds: None)
    wanted = [play for play in plays() if play.suits(profile, settings.depth)]
    machines = [play for play in wanted if not play.scenic]
    if settings.machines_alone:
        return machines
    again = [
        once_more
        for play in wanted
        if play.machine and play.scenic
        for once_more in revisited(dict(play.arguments)["part"], profile, play.queue_type, settings.depth, clock)
    ]
    return [*(play for play in wanted if not play.machine), *machines, *again]


@dataclass
class Reach:
    """Of one statement."""

    plays: dict[str, None] = field(default_factory=dict)
    present: set[str] = field(default_factory=set)


class Survey:
    """What was reached, by module, function and line."""

    def __init__(self) -> None:
        self.reached: dict[At, Reach] = {}
        self.play = ""
        self.past = Past()
        self._met: dict[At, list[Subjects]] = {}
        """In the play that is on, so often at most."""

    def begin(self, play: str) -> None:
        self.play = play
        self._met.clear()

    def note(self, module: str, function: str, line: int) -> None:
        at = module, function, line
        reach = self.reached.setdefault(at, Reach())
        reach.plays[self.play] = None
        if len(reach.plays) > LOOKS:
            return
        met = self._met.setdefault(at, [])
        if len(met) < TIMES:
            about = around(sys._getframe())
            reach.present |= about.present() | about.again(met)
            if self.past.together:
                reach.present.add(WRITE)
            met.append(about)

    def plain(self) -> dict[str, Any]:
        return {
            " ".join(map(str, at)): {"plays": list(reach.plays), "present": sorted(reach.present)}
            for at, reach in self.reached.items()
        }


def read(kept: dict[str, Any]) -> dict[At, Reach]:
    """A survey as it was kept."""
    reached = {}
    for at, reach in kept["reached"].items():
        module, function, line = at.split(" ")
        reached[module, function, int(line)] = Reach(dict.fromkeys(reach["plays"]), set(reach["present"]))
    return reached


def survey(settings: ExamSettings, send: Send) -> None:
    """Plays everything on the honest broker. What breaks there is an alarm, and such a check takes no part."""
    noted, alarms = Survey(), list[str]()
    with ExitStack() as stack:
        stack.enter_context(noted.past.watching())
        for module in CORE:
            stack.enter_context(running(module, codes(_noting(module), module), SURVEY, noted))
        bench = stack.enter_context(embedded(settings.dialect, settings.seed, settings.depth, deadline=DEADLINE))
        for play in chosen(settings):
            noted.begin(play.key)
            broken = control(play, bench).broken
            if broken:
                alarms += broken
                for reach in noted.reached.values():
                    reach.plays.pop(play.key, None)
        send({"reached": noted.plain(), "alarms": alarms})


def _noting(module: str) -> ast.Module:
    tree = parsed(module)
    _Noting(module).visit(tree)
    return tree


class _Noting(Functions):
    """Puts a note before every statement."""

    def __init__(self, module: str) -> None:
        super().__init__()
        self.module = module

    def visit(self, node: ast.AST) -> ast.AST:
        found = super().visit(node)
        if self.depth and not isinstance(node, ast.FunctionDef):
            for part in ("body", "orelse", "finalbody"):
                held = getattr(found, part, None)
                if isinstance(held, list):
                    setattr(found, part, self._noted(held))
        return found

    def body(self, statements: Any) -> list[ast.stmt]:
        found = super().body(statements)
        return self._noted(found) if self.depth else found

    def _noted(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        return [each for one in statements for each in (self._note(one), one)]

    def _note(self, statement: ast.stmt) -> ast.stmt:
        what = [ast.Constant(each) for each in (self.module, self.function, statement.lineno)]
        note = ast.Attribute(ast.Name(SURVEY, ast.Load()), "note", ast.Load())
        return ast.copy_location(ast.Expr(ast.Call(note, list(what), [])), statement)
