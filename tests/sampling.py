"""Tests that are many of a kind, or cost much: `make test` plays some of them, drawn anew each time.

A function marked `sampled(n)` stands for one claim about many wrong brokers, variations or sizes, and each of its tests
costs seconds. With `--sample SEED` one in n of them is played; the seed is printed with the command, and brings the
same ones again. Of the files that cost most, and of what needs Spark, a share is played in the same way. Without the
option, or with an empty one as in `make test SAMPLE=`, all are played.
"""

from __future__ import annotations

from collections import defaultdict
from random import Random

import pytest

COSTLY = frozenset(
    f"tests/{name}.py"
    for name in (
        "benchmarks/test_broker",
        "benchmarks/test_suite_steps",
        "benchmarks/test_traffic",
        "codec/test_emit",
        "conformance/campaigns/test_detection",
        "conformance/campaigns/test_excuses",
        "conformance/campaigns/test_legal",
        "conformance/cli/test_bad_input",
        "conformance/cli/test_baseline",
        "conformance/cli/test_cli",
        "conformance/cli/test_exit_codes",
        "conformance/cli/test_published",
        "conformance/cli/test_strangers",
        "conformance/cli/test_watch",
        "conformance/clients/test_clients",
        "conformance/diff/test_differential",
        "conformance/drive/machines/messages/test_life",
        "conformance/drive/machines/messages/test_routes",
        "conformance/drive/machines/protocol/test_content",
        "conformance/drive/machines/protocol/test_rights",
        "conformance/drive/machines/protocol/test_wire",
        "conformance/drive/machines/test_cancellation",
        "conformance/drive/machines/test_confirms",
        "conformance/drive/machines/test_prefetch",
        "conformance/drive/machines/test_requeueing",
        "conformance/drive/machines/test_settlement",
        "conformance/drive/machines/test_shapes",
        "conformance/drive/machines/test_timeouts",
        "conformance/drive/test_crash",
        "conformance/drive/test_probes",
        "conformance/drive/test_restart",
        "conformance/drive/test_rights",
        "conformance/drive/test_suite",
        "conformance/oracle/monitors/test_state",
        "conformance/oracle/test_blame",
        "conformance/outcome/test_allured",
        "conformance/outcome/test_cases",
        "conformance/session/test_fixture",
        "conformance/session/test_hunting",
        "conformance/session/test_keeping",
        "conformance/session/test_plugin",
        "conformance/trace/test_trace",
        "reference_broker/test_breadth",
        "reference_broker/test_durability",
        "reference_broker/test_invariants",
        "reference_broker/test_main",
        "reference_broker/test_personalities",
        "reference_broker/test_tls",
        "reports/capture/test_programs",
        "reports/capture/test_retries",
        "reports/capture/test_tshark",
        "reports/html/test_browser",
        "reports/html/test_html",
        "reports/html/test_matrix",
        "reports/html/test_trend",
        "reports/judging/test_compiled",
        "reports/judging/test_soundness",
        "reports/pipeline/test_blocks",
        "reports/pipeline/test_sql_oracle",
        "tools/mutation/test_campaign",
        "tools/mutation/test_exam",
        "tools/mutation/test_sites",
        "tools/mutation/test_triggers",
        "tools/test_action",
        "tools/test_captures",
        "tools/test_matrix",
        "tools/test_packages",
        "tools/test_personalities",
        "tools/test_repeat",
        "tools/test_restarts",
        "tools/test_rewriting",
    )
)
"""Files that take more than twenty seconds; of their tests one in `SHARE` is played."""
SHARE, OF_SPARK = 5, 6


def add_option(parser: pytest.Parser) -> None:
    parser.addoption("--sample", metavar="SEED", help="of tests that are many of a kind, play those that this draws")


def header(config: pytest.Config) -> str | None:
    seed = config.getoption("--sample")
    return f"tests that are many of a kind, or cost much: some, drawn by --sample {seed}" if seed else None


def keep_drawn(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects those of `items` that the seed of this run does not draw; nothing where none was given."""
    seed = config.getoption("--sample")
    if not seed:
        return
    kinds: dict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        share = share_of(item)
        if share > 1:
            kinds[item.nodeid.partition("[")[0], share].append(item)
    left_out = {item for (name, n), those in kinds.items() for item in _left_out(those, n, f"{seed} {name}")}
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def share_of(item: pytest.Item) -> int:
    """One in so many like this is played."""
    mark, spark = item.get_closest_marker("sampled"), item.get_closest_marker("spark") is not None
    costly = item.nodeid.partition("::")[0] in COSTLY
    return (mark.args[0] if mark is not None else 1) * (OF_SPARK if spark else SHARE if costly else 1)


def _left_out(items: list[pytest.Item], n: int, seed: str) -> list[pytest.Item]:
    """All but one in n; what does not divide is rounded by chance, so that a test that is alone has its turn, too."""
    drawing = Random(seed)
    kept = int(len(items) / n + drawing.random())
    return drawing.sample(items, len(items) - kept)
