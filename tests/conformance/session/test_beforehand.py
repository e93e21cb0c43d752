"""A run does not begin beside a policy that changes what its queues do, and lets all others be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from conformance.cli import main
from conformance.drive.drivers.admin import Admin
from conformance.session import beforehand
from conformance.session.exits import WRONG_USE, Refused
from reference_broker import ReferenceBroker


@pytest.fixture
def broker() -> Iterator[ReferenceBroker]:
    with ReferenceBroker(http_port=0) as started:
        yield started


def policy(pattern: str, apply_to: str = "all", **definition: Any) -> dict[str, object]:
    named = {key.replace("_", "-"): value for key, value in definition.items()}
    return {"pattern": pattern, "definition": named, "apply-to": apply_to, "priority": 0}


@pytest.mark.parametrize("operator", [False, True])
def test_a_run_does_not_begin_beside_a_policy_for_all_queues(
    broker: ReferenceBroker,
    operator: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    Admin(broker.admin_url).set_policy("/", "short", policy(".*", "queues", max_length=1), operator=operator)
    words = ["run", broker.url, "--broker-admin", broker.admin_url, "--rules", "ACK-001", "--depth", "smoke"]
    assert main(words) == WRONG_USE
    said = " ".join(capsys.readouterr().err.split())
    assert f"{'operator policy' if operator else 'policy'} 'short' of the virtual host '/' sets max-length" in said
    assert "Name a virtual host without such a policy in the URL" in said


@pytest.mark.parametrize(
    "harmless",
    [
        policy("^orders[.]", max_length=1),
        policy(".*", ha_mode="all"),
        policy(".*", "streams", max_length_bytes=1),
        policy("(", max_length=1),
    ],
)
def test_other_policies_are_let_be(harmless: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    shown = {"p": harmless}
    monkeypatch.setattr(Admin, "policies", lambda self, vhost, *, operator=False: {} if operator else shown)
    beforehand.check(Admin("http://127.0.0.1:1"), "/")


def test_a_policy_of_another_virtual_host_is_let_be(broker: ReferenceBroker) -> None:
    admin = Admin(broker.admin_url)
    admin.make_vhost("other", "guest")
    admin.set_policy("other", "short", policy(".*", "queues", max_length=1))
    beforehand.check(admin, "/")
    with pytest.raises(Refused, match="'short' of the virtual host 'other'"):
        beforehand.check(admin, "other")


def test_a_broker_without_such_policies_is_examined() -> None:
    """Nothing answers there, as at a broker whose API has no operator policies."""
    beforehand.check(Admin("http://127.0.0.1:1"), "/")
