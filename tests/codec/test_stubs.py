"""The view for type checkers is the one that the declaration gives."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import codec
from codec import methods
from tools import stubs

STUB = Path(codec.__file__).with_name("methods.pyi")


def test_the_stub_is_fresh() -> None:
    assert STUB.read_text() == stubs.render(), "run: python -m tools.stubs"


def test_the_stub_has_everything_that_the_module_offers() -> None:
    tree = ast.parse(STUB.read_text())
    names = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    offered = {name for name, value in vars(methods).items() if getattr(value, "__module__", "") == methods.__name__}
    assert {name for name in offered if not name.startswith("_")} == names


def test_the_stub_has_the_arguments_of_every_constructor() -> None:
    for cls in ast.parse(STUB.read_text()).body:
        if isinstance(cls, ast.ClassDef):
            init = next(node for node in cls.body if isinstance(node, ast.FunctionDef))
            real = inspect.signature(getattr(methods, cls.name)).parameters
            assert [argument.arg for argument in init.args.args][1:] == list(real), cls.name
