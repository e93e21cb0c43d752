"""`make native`: model and monitors compiled by mypyc, into build/native, for `reports.judging.compiled` to find.

mypyc compiles what mypy has checked; the sources stay as they are. Of dataclasses it would keep the interpreted
constructor, and it fails on records that know each other in circles, so in the copy that is compiled each becomes a
plain class with the constructor written out. Needs a C compiler. The build is marked as proven when it has judged some
hundred histories (lawful, chaotic, wrong, truncated) word for word as the sources do, and is not used before.
"""

from __future__ import annotations

import ast
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from conformance.catalogue import profiles
from conformance.history.events import Event
from conformance.oracle.monitors import Judge, state
from reports.judging.compiled import BUILDS, PACKAGE, PROVEN, ROOMS, ROOT, digest, load
from reports.pipeline.check import rows_of
from tests.support import mutilation, traces

LEFT_OUT = "state.py"
"""What puts a Judge aside as bytes knows dataclasses by their fields, and does so for compiled ones as well."""
EACH = 5
"""So many traces of each machine, queue type and scheduler."""
MADE_EMPTY = ast.parse("mypyc_attr(allow_interpreted_subclasses=True)", mode="eval").body
"""A state that is taken up makes all objects before it fills them. Such classes alone can be made empty, and are filled
by their constructor whoever calls it."""
SETUP = """
from setuptools import setup
from mypyc.build import mypycify
modules = {modules!r}
options = ["--strict", "--follow-imports=silent", "--ignore-missing-imports", "--explicit-package-bases"]
setup(name={name!r}, packages=[], ext_modules=mypycify([*options, *modules], opt_level="3", multi_file=True))
"""


# -- the copy that is compiled


class Field:
    """One field of a dataclass: a parameter of its constructor, and what sets it."""

    def __init__(self, said: ast.AnnAssign) -> None:
        assert isinstance(said.target, ast.Name)
        self.name, self.type, value = said.target.id, ast.unparse(said.annotation), said.value
        options: dict[str | None, ast.expr | None] = {"default": value}
        if isinstance(value, ast.Call) and ast.unparse(value.func) == "field":
            options = {one.arg: one.value for one in value.keywords}
        self.given, self.by_name = "init" not in options, "kw_only" in options
        default, factory = options.get("default"), options.get("default_factory")
        self.default = None if default is None else ast.unparse(default)
        self.fresh = (
            None
            if factory is None
            else ast.unparse(
                factory.body if isinstance(factory, ast.Lambda) else ast.Call(factory, [], []),
            )
        )

    @property
    def parameter(self) -> str:
        if self.fresh is not None:
            return f"{self.name}: {self.type} | None = None"
        return f"{self.name}: {self.type}" + ("" if self.default is None else f" = {self.default}")

    @property
    def setting(self) -> str:
        value = self.name if self.fresh is None else f"{self.name} if {self.name} is not None else {self.fresh}"
        return f"    self.{self.name} = {value}"


def plain(node: ast.ClassDef, known: dict[str, list[Field]]) -> None:
    """Makes a dataclass a plain class; `known` are those before it, which it may extend."""
    own = [Field(one) for one in node.body if isinstance(one, ast.AnnAssign)]
    known[node.name] = [*(field for base in node.bases for field in known[ast.unparse(base)]), *own]
    given = [field for field in known[node.name] if field.given]
    after = ["    self.__post_init__()"] * any(getattr(one, "name", "") == "__post_init__" for one in node.body)
    named = [field.parameter for field in given if field.by_name]
    parameters = [field.parameter for field in given if not field.by_name] + ["*"] * bool(named) + named
    head = f"def __init__(self, {', '.join(parameters)}) -> None:"
    written = ast.parse("\n".join([head, *(field.setting for field in given), *after]))
    node.decorator_list = []
    for one in node.body:
        if isinstance(one, ast.AnnAssign):
            one.value = None
    node.body = [*(one for one in node.body if not isinstance(one, ast.Expr)), *written.body]


def final(node: ast.stmt) -> list[ast.stmt]:
    """Constants are said to be so: then their values stand where they are used."""
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        return [node, *ast.parse("from typing import Final\nfrom mypy_extensions import mypyc_attr").body]
    if not isinstance(node, ast.Assign):
        return [node]
    target, value = node.targets[0], node.value
    pairs = (
        list(zip(target.elts, value.elts, strict=True))
        if (isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple))
        else [(target, value)]
    )
    if not all(isinstance(one, ast.Constant) and ast.unparse(name).isupper() for name, one in pairs):
        return [node]
    return [said for name, one in pairs for said in ast.parse(f"{ast.unparse(name)}: Final = {ast.unparse(one)}").body]


class Collected(ast.NodeTransformer):
    """`one in (*some, other)`: mypyc compares with each item that is written there, and knows no starred ones. So they
    are collected first."""

    def visit_Compare(self, node: ast.Compare) -> ast.Compare:
        self.generic_visit(node)
        if isinstance(node.ops[0], (ast.In, ast.NotIn)):
            node.comparators = [self._collected(one) for one in node.comparators]
        return node

    def _collected(self, among: ast.expr) -> ast.expr:
        written = isinstance(among, (ast.Tuple, ast.List, ast.Set))
        starred = written and any(isinstance(one, ast.Starred) for one in among.elts)
        return ast.Call(ast.Name("tuple"), [among], []) if starred else among


def rewritten(text: str) -> str:
    """A module of model or monitors as it is compiled."""
    for room in ROOMS:
        text = text.replace(f"conformance.oracle.{room}", f"{PACKAGE}.{room}")
    tree, known = Collected().visit(ast.parse(text)), dict[str, list[Field]]()
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and any("dataclass(slots" in ast.unparse(one) for one in node.decorator_list):
            plain(node, known)
            node.decorator_list = [MADE_EMPTY]
        elif isinstance(node, ast.ClassDef) and "__slots__" in ast.unparse(node):
            node.decorator_list = [MADE_EMPTY]
    tree.body = [said for node in tree.body for said in final(node)]
    return ast.unparse(tree)


def copied(build: Path) -> list[str]:
    """Writes the package, and names the modules that are to be compiled."""
    package = build / PACKAGE
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    for room in ROOMS:
        for path in sorted((ROOT / "conformance" / "oracle" / room).rglob("*.py")):
            if path.name != LEFT_OUT:
                copy = package / path.relative_to(ROOT / "conformance" / "oracle")
                copy.parent.mkdir(exist_ok=True)
                copy.write_text(rewritten(path.read_text("utf-8")), "utf-8")
    return [str(path.relative_to(build)) for path in sorted(package.glob("*/**/*.py"))]


def translated(build: Path, *command: str) -> int:
    """Has mypyc translate it to C, and performs this command of setuptools, with what is said meanwhile in a log."""
    (build / "setup.py").write_text(SETUP.format(modules=copied(build), name=PACKAGE), "utf-8")
    environment = {**os.environ, "MYPYPATH": f"{build}:{ROOT}"}
    with (build / "log.txt").open("w") as log:
        return subprocess.run(
            [sys.executable, "setup.py", *command],
            check=False,
            cwd=build,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        ).returncode


def compiled(build: Path) -> None:
    """Compiles it."""
    if translated(build, "build_ext", "--inplace"):
        raise SystemExit(
            f"it cannot be compiled: {build / 'log.txt'} says why. A C compiler is needed "
            "(Debian: apt install gcc). Without a build everything works as before, only slower."
        )


# -- the proof


def histories() -> Iterator[list[Event]]:
    """Lawful, chaotic and wrong ones, each of which again with something missing."""
    wrong = traces.wrong(traces.mutants(8), 1)
    for number, trace in enumerate([*traces.lawful(EACH), *traces.chaotic(EACH), *wrong]):
        yield trace.events
        cut = mutilation.ALL[number % len(mutilation.ALL)]
        yield cut(trace.events, random.Random(number))


def judgements_of(judge: type[Judge], history: list[Event], profile: profiles.Profile) -> list[str]:
    """All that there is to say of a history: at each event, what is owed and its state now and then, and in the end.
    What is written as a state goes on from there."""
    judging = judge(profile)
    words = []
    for number, event in enumerate(history):
        words.append(repr(judging.step(event)))
        if not number % 8:
            words += [repr(judging.owed()), repr(judging.clocks())]
        if not (number + 1) % 25:
            written = state.encode(judging)
            words.append(written.hex())
            judging = state.decode(written, profile, judge)
    return [*words, *map(repr, rows_of("", "", judging.judgement))]


def proven(build: Path) -> int:
    """How many histories were compared; none of them differs."""
    native, held_to, compared = load(build), profiles.load(traces.PROFILE), 0
    for history in filter(None, histories()):
        if judgements_of(native, history, held_to) != judgements_of(Judge, history, held_to):
            raise SystemExit(f"the build judges {history[0].history} in another way; it is not used")
        compared += 1
    return compared


def main() -> None:
    build = BUILDS / digest()
    if (build / PROVEN).exists():
        print(f"{build} is up to date")
        return
    shutil.rmtree(BUILDS, ignore_errors=True)
    print("compiling, which takes some minutes ...", file=sys.stderr, flush=True)
    compiled(build)
    number = proven(build)
    (build / PROVEN).write_text(f"{number}\n", "utf-8")
    print(f"{build}: {number} histories judged as the sources judge them; `trace check` and `trace watch` use it")


if __name__ == "__main__":
    main()
