"""The fixture for authors of clients: the recipes as they stand in the docs, with nothing else installed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[3]
RECIPE = re.compile(r"<!-- recipe: (\w+)\.py -->\n```python\n(.*?)```", re.DOTALL)
PAGES = {"README.md": 1, "docs/reference-broker.md": 3, "docs/recipes.md": 5}
FOREIGN = ("pika", "amqp", "aio_pika", "kombu", "celery", "pyspark", "pyarrow", "pandas", "numpy", "grpc", "duckdb")


@pytest.mark.parametrize("page", PAGES)
def test_recipes_work_as_they_are_copied(pytester: pytest.Pytester, page: str) -> None:
    recipes = dict(RECIPE.findall((ROOT / page).read_text()))
    assert len(recipes) == PAGES[page]
    pytester.makepyfile(**recipes)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert done.ret == 0
    assert "skipped" not in done.stdout.str()


def test_nothing_but_the_distribution_is_needed(pytester: pytest.Pytester) -> None:
    """No client library, no Spark: two processes of pytest, each with its own broker."""
    pytester.makeconftest(f"""
        import sys

        for name in {FOREIGN!r}:
            sys.modules[name] = None
    """)
    pytester.makepyfile("""
        import socket

        import pytest

        @pytest.mark.parametrize("attempt", range(4))
        def test_client(reference_broker, session_reference_broker, attempt):
            for broker in (reference_broker, session_reference_broker):
                with socket.create_connection((broker.host, broker.port)) as line:
                    line.sendall(b"AMQP\\x00\\x00\\x09\\x01")
                    assert line.recv(1) == b"\\x01"
                assert [event.method for event in broker.events[-1:]] == ["connection.start"]
            assert reference_broker.port != session_reference_broker.port
    """)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-n", "2")
    done.assert_outcomes(passed=4)


def test_the_marker_says_how_the_broker_is_made(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pika
        import pytest

        pytestmark = pytest.mark.reference_broker(product="Mine", host="::1")

        @pytest.mark.reference_broker(version="9.9")
        def test_client(reference_broker):
            assert "[::1]" in reference_broker.url
            with pika.BlockingConnection(pika.URLParameters(reference_broker.url)) as connection:
                known = connection._impl.server_properties
                assert (known["product"], known["version"]) == ("Mine", "9.9")
    """)
    pytester.runpytest_subprocess("-p", "no:cacheprovider", "--strict-markers").assert_outcomes(passed=1)


def test_policies_are_a_mapping(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        def test_client(reference_broker):
            policies = reference_broker.policies
            policies.set("short", "^q", {"max-length": 1}, priority=3)
            policies["long"] = {"pattern": ".", "definition": {"expires": 5}}
            assert policies["short"] == {
                "pattern": "^q", "definition": {"max-length": 1}, "apply-to": "all", "priority": 3,
            }
            del policies["long"]
            assert list(policies) == ["short"]
    """)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)
