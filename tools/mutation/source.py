"""The source of the core: read, walked through function by function, and compiled to code that can take its place."""

from __future__ import annotations

import ast
import gc
import importlib
import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import reference_broker

CORE = (
    "access",
    "arguments",
    "basic",
    "broker",
    "channel",
    "clock",
    "confirms",
    "connection",
    "content",
    "deadletter",
    "deliveries",
    "dialects.confirming",
    "dialects.declaring",
    "dialects.ending",
    "dialects.limiting",
    "dialects.matching",
    "dialects.permitting",
    "dialects.pipeline",
    "dialects.reading",
    "dialects.replying",
    "dialects.returning",
    "dialects.serving",
    "dialects.settling",
    "dialects.watching",
    "intake",
    "lifecycle",
    "limits",
    "message",
    "needs",
    "outbox",
    "policies",
    "prefetch",
    "queue",
    "quorum",
    "quotas",
    "ready",
    "replies",
    "routing",
    "sasl",
    "settings",
    "timeouts",
    "topology",
    "transaction",
    "unacked",
    "vhost",
)
"""Modules of the reference broker: the pure core, without the shell around it and its store."""
_BROKER = Path(reference_broker.__file__).parent
_HOMES = {
    path.stem: ".".join(path.relative_to(_BROKER.parent).with_suffix("").parts)
    for path in (_BROKER / "core").rglob("*.py")
}
"""Of those in the rooms of the core, the full name by the short one."""


def loaded(module: str) -> ModuleType:
    return importlib.import_module(_HOMES.get(module, f"reference_broker.{module}"))


def parsed(module: str) -> ast.Module:
    return ast.parse(inspect.getsource(loaded(module)))


def codes(tree: ast.Module, module: str) -> dict[str, CodeType]:
    """The code of every function and method of a module, by qualified name."""
    path = inspect.getsourcefile(loaded(module)) or module
    return dict(_within(compile(ast.fix_missing_locations(tree), path, "exec")))


def _within(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    for const in code.co_consts:
        if isinstance(const, CodeType):
            if const.co_flags & inspect.CO_OPTIMIZED:
                yield const.co_qualname, const
            else:  # the body of a class
                yield from _within(const)


def functions(module: str) -> dict[str, FunctionType]:
    """The same functions as they are loaded, to be given other code; decorators may hide them from who asks by name.

    The collector knows them all, once it thaws what somebody froze.
    """
    home = vars(loaded(module))
    gc.unfreeze()
    return {
        each.__qualname__: each for each in gc.get_objects() if type(each) is FunctionType and each.__globals__ is home
    }


class Functions(ast.NodeTransformer):
    """Walks through the bodies of functions only, and knows in which function and statement it is."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.depth = 0
        self.statement = 0

    @property
    def function(self) -> str:
        return ".".join(self.names)

    def visit(self, node: ast.AST) -> ast.AST:
        if not self.depth and not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            return node
        with self._in(node):
            found: ast.AST = super().visit(node)
            return found

    @contextmanager
    def _in(self, node: ast.AST) -> Iterator[None]:
        before = self.statement
        self.statement = node.lineno if isinstance(node, ast.stmt) else before
        yield
        self.statement = before

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.names.append(node.name)
        node.body = self.body(node.body)
        self.names.pop()
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        outermost = not self.depth
        if outermost:
            self.names.append(node.name)
        self.depth += 1
        node.body = self.body(node.body)
        self.depth -= 1
        if outermost:
            self.names.pop()
        return node

    def body(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [found for each in statements if isinstance(found := self.visit(each), ast.stmt)]
