"""Tests that are many of a kind: `make test` plays some of each kind, drawn anew each time.

A function marked `sampled(n)` stands for one claim about many wrong brokers, variations or sizes, and each of its tests
costs seconds. With `--sample SEED` one in n of them is played; the seed is printed with the command, and brings the
same ones again. Without the option, or with an empty one as in `make test SAMPLE=`, all are played.
"""

from __future__ import annotations

from collections import defaultdict
from random import Random

import pytest


def add_option(parser: pytest.Parser) -> None:
    parser.addoption("--sample", metavar="SEED", help="of tests that are many of a kind, play those that this draws")


def header(config: pytest.Config) -> str | None:
    seed = config.getoption("--sample")
    return f"tests that are many of a kind: some, drawn by --sample {seed}" if seed else None


def keep_drawn(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects those of `items` that the seed of this run does not draw; nothing where none was given."""
    seed = config.getoption("--sample")
    if not seed:
        return
    kinds: dict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark is not None:
            kinds[item.nodeid.partition("[")[0], mark.args[0]].append(item)
    left_out = {item for (name, n), those in kinds.items() for item in _left_out(those, n, f"{seed} {name}")}
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def _left_out(items: list[pytest.Item], n: int, seed: str) -> list[pytest.Item]:
    """All but one in n; what does not divide is rounded by chance, so that a test that is alone has its turn, too."""
    drawing = Random(seed)
    kept = int(len(items) / n + drawing.random())
    return drawing.sample(items, len(items) - kept)
