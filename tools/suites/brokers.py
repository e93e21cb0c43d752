"""The two brokers: ours, started for one suite, with TLS by the suite's own certificate; and RabbitMQ, at its URL."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from reference_broker.configuration import installed_version


@dataclass(frozen=True)
class Played:
    """A broker that listens, and where: by well-known port."""

    name: str
    ports: dict[int, int]

    @property
    def lead(self) -> str:
        """As `lead/sitecustomize.py` reads it."""
        return " ".join(f"{here}={there}" for here, there in self.ports.items())


@contextmanager
def reference(certificates: Sequence[Path]) -> Iterator[Played]:
    """Ours, stand-alone as a user would start it, until the block ends."""
    words = [sys.executable, "-m", "reference_broker", "--port", "0", "--http", "0"]
    if certificates:
        server, key, authority = map(str, certificates)
        words += [
            "--tls-cert",
            server,
            "--tls-key",
            key,
            "--tls-ca",
            authority,
            "--tls-verify",
            "optional",
            "--tls-port",
            "0",
        ]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout
        ports: dict[int, int] = {}
        for line in process.stdout:
            port = urlsplit(line.split()[-1]).port or 0
            ports[15672 if line.startswith("management") else 5671 if "amqps://" in line else 5672] = port
            if 5672 in ports:
                break
        yield Played(f"reference {installed_version()}", ports)
    finally:
        process.terminate()
        process.wait()


@contextmanager
def rabbitmq(url: str, admin: str | None) -> Iterator[Played]:
    """Somebody else's, which stays as it is. Its management API says what it is."""
    ports = {5672: urlsplit(url).port or 5672}
    name = "RabbitMQ"
    if admin:
        ports[15672] = urlsplit(admin).port or 15672
        login = urlsplit(url)
        word = b64encode(f"{login.username or 'guest'}:{login.password or 'guest'}".encode()).decode()
        ask = urllib.request.Request(
            f"http://127.0.0.1:{ports[15672]}/api/overview", headers={"Authorization": f"Basic {word}"}
        )
        with urllib.request.urlopen(ask, timeout=10) as answer:
            name = f"RabbitMQ {json.load(answer)['rabbitmq_version']}"
    yield Played(name, ports)
