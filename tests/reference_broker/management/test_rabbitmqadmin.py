"""Both of RabbitMQ's tools, unchanged: the old one as a running node gives it out, the new one as Debian packs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from reference_broker import ReferenceBroker

Tool = Callable[..., str]
REAL = os.environ.get("AMQP_RABBITMQ_URL", "")
ROOT = Path(__file__).resolve().parents[3]
NEWEST = Path(os.environ.get("AMQP_BROKERS_DIR", ROOT / "build" / "brokers"), "roots", "forky")
"""Where `make brokers NAMES=rmq43` unpacks a Debian that packages it."""


def running(*command: object, port: int | None) -> Tool:
    def do(*words: str) -> str:
        line = [*map(str, command), "-H", "127.0.0.1", "-P", str(port), *words]
        done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, (words, done.stdout + done.stderr)
        return done.stdout

    return do


@pytest.fixture
def old(broker: ReferenceBroker, tmp_path: Path) -> Tool:
    if not REAL:
        pytest.skip("AMQP_RABBITMQ_URL is not set")
    real = urlsplit(REAL)
    place = f"http://{real.hostname}:{(real.port or 5672) + 10000}/cli/rabbitmqadmin"
    try:
        answer = urllib.request.urlopen(place, timeout=60)
    except (OSError, urllib.error.HTTPError):
        pytest.skip("the node of AMQP_RABBITMQ_URL does not hand it out")
    path = tmp_path / "rabbitmqadmin"
    path.write_bytes(answer.read())
    return running(sys.executable, path, port=broker.http_port)


@pytest.fixture
def new(broker: ReferenceBroker) -> Tool:
    tool, linker = NEWEST / "usr/bin/rabbitmqadmin", NEWEST / "lib64/ld-linux-x86-64.so.2"
    if not tool.exists() or not linker.exists():
        pytest.skip("no Debian that packages it is unpacked here")
    libraries = NEWEST / "usr/lib/x86_64-linux-gnu"
    return running(linker, "--library-path", libraries, tool, "--non-interactive", port=broker.http_port)


def names(manager: Any, path: str) -> list[str]:
    return sorted(one["name"] for one in manager.do("GET", path)[1])


@pytest.mark.rabbitmq
def test_the_old_one(old: Tool, manager: Any, tmp_path: Path) -> None:
    old("declare", "vhost", "name=v", "tracing=false")
    old("declare", "user", "name=anna", "password=pw", "tags=management")
    old("declare", "permission", "vhost=v", "user=anna", "configure=.*", "write=.*", "read=.*")
    old("-V", "v", "declare", "queue", "name=q", "durable=true", "auto_delete=false", 'arguments={"x-max-length":5}')
    old("-V", "v", "declare", "exchange", "name=ex", "type=topic", "durable=true", "internal=false")
    old("-V", "v", "declare", "binding", "source=ex", "destination=q", "routing_key=a.#")
    for kind in ("policy", "operator_policy"):
        old("-V", "v", "declare", kind, "name=p", "pattern=^q", 'definition={"max-length":7}', "priority=3")
    old("declare", "vhost_limit", "vhost=v", "name=max-connections", "value=100")
    assert "published" in old("-V", "v", "publish", "exchange=ex", "routing_key=a.b", "payload=hello")
    assert "hello" in old("-V", "v", "get", "queue=q", "count=2", "ackmode=ack_requeue_true")
    for kind in (
        "connections",
        "channels",
        "consumers",
        "exchanges",
        "bindings",
        "users",
        "vhosts",
        "permissions",
        "nodes",
        "parameters",
        "policies",
        "operator_policies",
        "vhost_limits",
    ):
        old("-V", "v", "list", kind)
    assert "reference@localhost" in old("show", "overview")
    assert json.loads(old("-f", "raw_json", "-V", "v", "list", "queues", "name", "messages")) == [
        {"name": "q", "messages": 1},
    ]
    exported = tmp_path / "exported"
    old("export", str(exported))
    for gone in (("vhost", "name=v"), ("user", "name=anna")):
        old("delete", *gone)
    old("import", str(exported))
    assert names(manager, "/api/queues/v") == ["q"]
    assert manager.do("GET", "/api/vhost-limits/v")[1] == [{"vhost": "v", "value": {"max-connections": 100}}]
    assert "p" in names(manager, "/api/operator-policies/v")
    for gone in (("queue", "name=q"), ("exchange", "name=ex"), ("policy", "name=p"), ("operator_policy", "name=p")):
        old("-V", "v", "delete", *gone)
    old("delete", "vhost_limit", "vhost=v", "name=max-connections")


def test_the_new_one(new: Tool, manager: Any, broker: ReferenceBroker, tmp_path: Path) -> None:
    inside = ("-V", "v")
    new("vhosts", "declare", "--name", "v", "--description", "mine", "--default-queue-type", "quorum")
    new("users", "declare", "--name", "anna", "--password", "pw", "--tags", "management")
    new(*inside, "permissions", "declare", "--user", "anna", "--configure", ".*", "--read", ".*", "--write", ".*")
    new(*inside, "queues", "declare", "--name", "q", "--type", "classic", "--arguments", '{"x-max-length":5}')
    new(*inside, "exchanges", "declare", "--name", "ex", "--type", "topic", "--durable", "true")
    new(
        *inside,
        "bindings",
        "declare",
        "--source",
        "ex",
        "--destination-type",
        "queue",
        "--destination",
        "q",
        "--routing-key",
        "a.#",
    )
    for kind in ("policies", "operator_policies"):
        new(
            *inside,
            kind,
            "declare",
            "--name",
            "p",
            "--pattern",
            "^q",
            "--apply-to",
            "queues",
            "--priority",
            "3",
            "--definition",
            '{"max-length": 7}',
        )
    new(*inside, "vhost_limits", "declare", "--name", "max-queues", "--value", "100")
    new("user_limits", "declare", "--user", "anna", "--name", "max-channels", "--value", "9")
    new("global_parameters", "set", "--name", "g", "--value", '{"a": 1}')
    assert "routed" in new(*inside, "publish", "message", "--routing-key", "q", "--payload", "hello")
    assert "hello" in new(*inside, "get", "messages", "--queue", "q", "--count", "1", "--ack-mode", "ack_requeue_true")
    for kind in (
        "queues",
        "exchanges",
        "bindings",
        "channels",
        "connections",
        "consumers",
        "vhosts",
        "users",
        "permissions",
        "policies",
        "operator_policies",
        "parameters",
        "feature_flags",
        "nodes",
        "vhost_limits",
        "user_limits",
        "deprecated_features",
    ):
        new(*inside, "list", kind)
    assert "reference" in new("show", "overview")
    for check in (
        ("port_listener", "--port", str(broker.port)),
        ("protocol_listener", "--protocol", "amqp"),
        ("local_alarms",),
        ("cluster_wide_alarms",),
        ("node_is_quorum_critical",),
    ):
        assert "passed" in new("health_check", *check)
    exported = tmp_path / "exported"
    new("definitions", "export", "--file", str(exported))
    for gone in (("vhosts", "v"), ("users", "anna")):
        new(gone[0], "delete", "--name", gone[1])
    new("definitions", "import", "--file", str(exported))
    assert names(manager, "/api/queues/v") == ["q"]
    assert manager.do("GET", "/api/user-limits")[1] == [{"user": "anna", "value": {"max-channels": 9}}]
    assert manager.do("GET", "/api/vhosts/v")[1]["default_queue_type"] == "quorum"
    new(*inside, "queues", "delete", "--name", "q")
    new("global_parameters", "clear", "--name", "g")
    assert manager.do("GET", "/api/global-parameters")[1] == []
