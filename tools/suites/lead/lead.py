"""A pytest plugin for suites that want to start their broker in Docker: they get the one under test, as a container.

Two suites have a Docker client of their own, and the conftest of one has fixtures that its sdist lacks. Fixtures of a
suite's own go before those here.
"""

from __future__ import annotations

import dataclasses
import sys
import types
from typing import Any

import pytest


@dataclasses.dataclass
class Container:
    """What the suites' Docker client tells of a container."""

    id: str
    ports: dict[str, int]
    host: str


class Client:
    """Every image is the broker under test; nothing is started, and nothing ended."""

    def __init__(self, *ignored: Any) -> None: ...

    def run(self, image: str, ports: list[str], environment: dict[str, str] | None = None) -> Container:
        return Container(image, {port: int(port.partition("/")[0]) for port in ports}, "127.0.0.1")

    def kill(self, container: str) -> None: ...

    def remove(self, container: str) -> None: ...


@pytest.fixture(scope="session")
def rabbitmq_container() -> Container:
    return Client().run("broker", ["5672/tcp", "5671/tcp"])


@pytest.fixture(scope="session")
def amqp_direct_url() -> Any:
    from yarl import URL

    return URL("amqp://guest:guest@127.0.0.1:5672//")


def pytest_configure(config: Any) -> None:
    config.addinivalue_line("markers", "flaky: known to the suite as such; not repeated here")
    config.addinivalue_line("markers", "env: of the suite's own continuous integration")


docker = types.ModuleType("tests.docker_client")
docker.__dict__.update(
    ContainerInfo=Container,
    DockerClient=Client,
    DockerHostInfo=object,
    DockerNotAvailableError=OSError,
    check_docker_available=lambda: None,
)
sys.modules["tests.docker_client"] = docker
