"""A user who may not do what a run needs: the run ends before its first check, by exit code 3, and says what to grant.
And where nearly nothing could be exercised for another reason, the gate is closed."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from conformance.cli import main
from conformance.drive.drivers.admin import Admin, AdminRefused
from conformance.outcome.results import from_json
from reference_broker import ReferenceBroker

REAL = os.environ.get("AMQP_RABBITMQ_URL", "")
QUICK = ("--depth", "smoke", "--examples", "1")
ALL, NONE = ".*", ""


class House:
    """A broker, and one user of it."""

    def __init__(self, admin: Admin, address: str) -> None:
        self._admin, self._user = admin, f"amqpconf-{uuid.uuid4().hex[:8]}"
        self.url = f"amqp://{self._user}:pw@{address}/%2F"
        admin.check()
        self._put(f"/api/users/{self._user}", {"password": "pw", "tags": ""})

    def grant(self, configure: str, write: str, read: str) -> None:
        self._put(f"/api/permissions/%2F/{self._user}", {"configure": configure, "write": write, "read": read})

    def leave(self) -> None:
        self._admin._ask("DELETE", f"/api/users/{self._user}")

    def _put(self, path: str, content: dict[str, Any]) -> None:
        self._admin._ask("PUT", path, content)


@pytest.fixture(params=["ours", pytest.param("theirs", marks=pytest.mark.rabbitmq)])
def house(request: pytest.FixtureRequest) -> Iterator[House]:
    if request.param == "ours":
        with ReferenceBroker(http_port=0) as broker:
            yield House(Admin(broker.admin_url), f"127.0.0.1:{broker.port}")
        return
    if not REAL:
        pytest.skip("AMQP_RABBITMQ_URL is not set")
    real = urlsplit(REAL)
    try:
        made = House(
            Admin(f"http://guest:guest@{real.hostname}:{(real.port or 5672) + 10000}"),
            f"{real.hostname}:{real.port or 5672}",
        )
    except AdminRefused:
        pytest.skip("the node of AMQP_RABBITMQ_URL has no management interface where ours have it")
    yield made
    made.leave()


@pytest.mark.parametrize("rights", [(NONE, NONE, NONE), (NONE, ALL, ALL), (ALL, NONE, ALL), (ALL, ALL, NONE)])
@pytest.mark.parametrize("rules", ["TAG-001", "*"])
def test_a_user_without_a_right_ends_the_run_before_its_first_check(
    house: House,
    rights: tuple[str, str, str],
    rules: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    house.grant(*rights)
    assert main(["run", house.url, *QUICK, "--rules", rules]) == 3
    shown = capsys.readouterr()
    said = " ".join(shown.err.split())
    assert "GATE" not in shown.out
    assert "403" in said
    assert "needs the rights to configure, write and read queues named amqpconf.*" in said


def test_a_gate_that_saw_next_to_nothing_is_closed_and_says_so(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ReferenceBroker(personality="refused.declares-after-40") as broker:
        assert main(["run", broker.url, *QUICK, "--report", str(tmp_path)]) == 1
    gate = from_json((tmp_path / "results.json").read_text()).gate
    (reason,) = gate.reasons
    assert reason.startswith("only ")
    assert "75 % are needed (--min-coverage)" in reason
    assert "GATE CLOSED" in capsys.readouterr().out
