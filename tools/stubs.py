"""Writes `methods.pyi`, the view of `codec.methods` for type checkers: `python -m tools.stubs`."""

from __future__ import annotations

from pathlib import Path

from codec import methods
from codec.kinds import Method

TYPES = {
    "number": ("int", "0"),
    "bits": ("bool", "False"),
    "text": ("str", '""'),
    "octets": ("bytes", 'b""'),
    "items": ("FieldTable", "..."),
}
HEAD = '''"""Written by `python -m tools.stubs` from the declaration; a test keeps it fresh."""

from collections.abc import Callable
from typing import Final

from codec.kinds import Method
from codec.lower import Op
from codec.values import FieldTable

BY_NAME: Final[dict[str, type[Method]]]
BY_INDEX: Final[dict[int, type[Method]]]
DECODERS: Final[dict[int, Callable[..., Method]]]

def class_name(name: str) -> str: ...
def arguments(ops: list[Op]) -> list[tuple[str, str]]: ...
def method_ops(class_id: int, method_id: int) -> tuple[list[Op], list[Op]]: ...
'''


def render() -> str:
    """The whole stub."""
    return HEAD + "".join(_class(cls) for cls in methods.BY_INDEX.values())


def _class(cls: type[Method]) -> str:
    args = methods.arguments(methods.method_ops(cls.CLASS_ID, cls.METHOD_ID)[1][:-1])
    typed = [(name, *TYPES[kind]) for name, kind in args]
    lines = [f"\nclass {cls.__name__}(Method):"]
    lines += [f"    {name}: {kind}" for name, kind, _ in typed]
    parameters = ["self", "channel: int", *(f"{name}: {kind} = {default}" for name, kind, default in typed)]
    one_line = f"    def __init__({', '.join(parameters)}) -> None: ..."
    if len(one_line) > 110:
        one_line = "    def __init__(\n        " + ",\n        ".join(parameters) + ",\n    ) -> None: ..."
    return "\n".join([*lines, one_line]) + "\n"


def main() -> None:
    Path(methods.__file__).with_suffix(".pyi").write_text(render())


if __name__ == "__main__":
    main()
