"""Real RabbitMQ brokers of several versions on loopback, each from the Debian release that packages it.

    brokers.py start [NAME...]    install what is missing, start, wait until it answers, print name and URL
    brokers.py kill [NAME...]     kill -9, and start again: what --kill of the suite takes
    brokers.py restart [NAME...]  shut down in good order, and start again with the same data: what --restart takes
    brokers.py stop [NAME...]     stop           brokers.py status [NAME...]   which ones answer
    brokers.py url NAME           its URL, if it answers
    brokers.py pairs [NAME...]    NAME=URL of those that answer
    brokers.py nodes [NAME...]    the same with their management APIs and what `matrix` must know of them
    brokers.py purge [NAME...]    stop and delete everything of it

Each version lives in a chroot of its own (mmdebstrap), each node in its own mount and process namespace, so four
versions with four Erlangs share one machine and nothing of them touches the host. rmq43-short and rmq310-short are
second nodes whose configuration holds what no client can set, a short consumer timeout for the whole node; they start
where they are asked for by name. Needs root on a machine with apt. Everything is kept under AMQP_BROKERS_DIR, by
default build/brokers. A port that another program holds is passed over for the next free one: always ask `url`, never
assume a port.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from debian import Trouble, made, make, possible

BASE = Path(os.environ.get("AMQP_BROKERS_DIR", Path(__file__).resolve().parent.parent / "build" / "brokers")).resolve()
READY_WITHIN, STOPS_WITHIN, FREE_WITHIN = 120.0, 60.0, 20.0
"""Seconds until a node answers, until it has written down what it keeps, and until the ports that it had are free."""


@dataclass(frozen=True)
class Broker:
    """One node: the Debian release it comes from and the port it prefers; the other ports follow from that.

    `timeout`: its consumer timeout in milliseconds, in its configuration. Such a node is for those rules alone, and
    starts only when it is asked for.
    """

    name: str
    suite: str
    preferred: int
    timeout: int | None = None

    @property
    def root(self) -> Path:
        return BASE / "roots" / self.suite

    @property
    def pid_file(self) -> Path:
        return BASE / "run" / f"{self.name}.pid"

    @property
    def port_file(self) -> Path:
        return BASE / "run" / f"{self.name}.port"

    @property
    def log(self) -> Path:
        return BASE / "logs" / f"{self.name}.log"

    @property
    def port(self) -> int:
        return int(self.port_file.read_text()) if self.port_file.exists() else self.preferred

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}/%2F"

    @property
    def node(self) -> str:
        """What `matrix` is told: URL, management API, and what else there is to know."""
        more = "" if self.timeout is None else f",consumer-timeout={self.timeout},rules=TMO-*"
        return f"{self.name}={self.url},admin=http://guest:guest@127.0.0.1:{family(self.port)['management']}{more}"

    @property
    def settings(self) -> Path:
        """The folder of its configuration, as seen from inside the chroot."""
        return Path("/etc/rabbitmq", self.name)


BROKERS = {
    broker.name: broker
    for broker in (
        Broker("rmq38", "bullseye", 5638),  # RabbitMQ 3.8
        Broker("rmq310", "bookworm", 5673),  # RabbitMQ 3.10
        Broker("rmq40", "trixie", 5640),  # RabbitMQ 4.0
        Broker("rmq43", "forky", 5643),  # RabbitMQ 4.3; Debian testing, so it moves on
        Broker("rmq43-short", "forky", 5646, timeout=5000),
        Broker("rmq310-short", "bookworm", 5676, timeout=5000),
    )
}

RABBITMQ_CONF = """\
listeners.tcp.1 = 127.0.0.1:{port}
management.tcp.ip = 127.0.0.1
management.tcp.port = {management}
vm_memory_high_watermark.absolute = 2GiB
disk_free_limit.absolute = 100MB
"""

RABBITMQ_ENV = """\
NODENAME={name}@localhost
NODE_IP_ADDRESS=127.0.0.1
NODE_PORT={port}
DIST_PORT={distribution}
ENABLED_PLUGINS_FILE={settings}/enabled_plugins
CONFIG_FILE={settings}/rabbitmq.conf
MNESIA_BASE=/var/lib/rabbitmq/mnesia
LOG_BASE=/var/log/rabbitmq
SERVER_ADDITIONAL_ERL_ARGS="-kernel inet_dist_use_interface {{127,0,0,1}} +sbwt none +sbwtdcpu none +sbwtdio none"
"""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def shell(*command: str | Path, log: Path | None = None) -> None:
    BASE.joinpath("logs").mkdir(parents=True, exist_ok=True)
    target = log or BASE / "logs" / "setup.log"
    with target.open("ab") as out:
        done = subprocess.run([str(part) for part in command], stdout=out, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        tail = "\n".join(target.read_text(errors="replace").splitlines()[-5:])
        raise Trouble(f"'{command[0]}' failed (see {target}):\n{tail}")


def prepare(broker: Broker) -> None:
    """Build the chroot, once."""
    if made(broker.root):
        return
    if not possible():
        raise Trouble(
            "a real RabbitMQ is installed from Debian packages: that needs root and apt.\n"
            "Elsewhere start any RabbitMQ yourself and set AMQP_RABBITMQ_URL to its URL."
        )
    say(f"{broker.name}: building from Debian {broker.suite} (about half a minute, once)")
    make(broker.suite, broker.root, "rabbitmq-server", shell)


def free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def choose_port(broker: Broker) -> int:
    """The one that it had before, if that gets free in a while: whoever restarts it looks for it there. Else the first
    of preferred, preferred + 100, ... whose whole family of ports is free."""
    if broker.port_file.exists() and until(lambda: all(map(free, family(broker.port).values())), FREE_WITHIN):
        return broker.port
    for port in range(broker.preferred, broker.preferred + 2000, 100):
        if all(map(free, family(port).values())):
            return port
    raise Trouble(f"{broker.name}: no free port near {broker.preferred}")


def family(port: int) -> dict[str, int]:
    """All of them below those that systems give to clients."""
    return {"port": port, "management": port + 10000, "distribution": port + 20000, "epmd": port + 24000}


def configure(broker: Broker, ports: dict[str, int]) -> None:
    etc = broker.root / broker.settings.relative_to("/")
    etc.mkdir(parents=True, exist_ok=True)
    # RabbitMQ names its cluster after the host, and looks that name up for every connection
    (broker.root / "etc" / "hosts").write_text(f"127.0.0.1 localhost {socket.gethostname()}\n::1 localhost\n")
    timeout = "" if broker.timeout is None else f"consumer_timeout = {broker.timeout}\n"
    more = os.environ.get("AMQP_BROKERS_CONF", "")
    (etc / "rabbitmq.conf").write_text(RABBITMQ_CONF.format(**ports) + timeout + more)
    (etc / "rabbitmq-env.conf").write_text(RABBITMQ_ENV.format(name=broker.name, settings=broker.settings, **ports))
    (etc / "enabled_plugins").write_text("[rabbitmq_management].\n")
    for folder in ("var/lib/rabbitmq/mnesia", "var/log/rabbitmq"):
        (broker.root / folder).mkdir(parents=True, exist_ok=True)
    shell(
        "chroot",
        broker.root,
        "chown",
        "-R",
        "rabbitmq:rabbitmq",
        "/var/lib/rabbitmq",
        "/var/log/rabbitmq",
        "/etc/rabbitmq",
    )


def launch(broker: Broker, ports: dict[str, int]) -> None:
    environment = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/var/lib/rabbitmq",
        "LANG": "C.UTF-8",
        "ERL_EPMD_PORT": str(ports["epmd"]),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODENAME": f"{broker.name}@localhost",
        "ERL_CRASH_DUMP_SECONDS": "0",
        "RABBITMQ_CONF_ENV_FILE": f"{broker.settings}/rabbitmq-env.conf",
    }
    inside = 'mount -t proc proc "$0/proc" && exec chroot --userspec=rabbitmq:rabbitmq "$0" env -i "$@"'
    command = [
        "unshare",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--propagation",
        "private",
        "sh",
        "-c",
        inside,
        str(broker.root),
        *(f"{k}={v}" for k, v in environment.items()),
        "/usr/lib/rabbitmq/bin/rabbitmq-server",
    ]
    for path in (broker.pid_file, broker.log):
        path.parent.mkdir(parents=True, exist_ok=True)
    with broker.log.open("wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
    broker.pid_file.write_text(str(process.pid))
    broker.port_file.write_text(str(ports["port"]))


def alive(broker: Broker) -> bool:
    """Is the process that we started still that process?"""
    try:
        command = Path("/proc", broker.pid_file.read_text(), "cmdline").read_bytes()
    except OSError:
        return False
    return str(broker.root).encode() in command.split(b"\0")


def answers(broker: Broker) -> bool:
    """Does it answer a protocol header with a method frame?"""
    try:
        with socket.create_connection(("127.0.0.1", broker.port), timeout=2) as link:
            link.sendall(b"AMQP\0\0\x09\x01")
            return link.recv(1) == b"\x01"
    except OSError:
        return False


def until(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def start(broker: Broker) -> None:
    if not (alive(broker) and answers(broker)):
        prepare(broker)
        if not alive(broker):
            ports = family(choose_port(broker))
            configure(broker, ports)
            launch(broker, ports)
            until(lambda: alive(broker), 5)  # a process that was just made has no command line yet
        up = until(lambda: answers(broker) or not alive(broker), READY_WITHIN)
        if not (up and alive(broker)):
            tail = "\n".join(broker.log.read_text(errors="replace").splitlines()[-10:])
            raise Trouble(f"{broker.name} did not come up; the end of {broker.log}:\n{tail}")
    print(f"{broker.name}\t{broker.url}", flush=True)


def kill(broker: Broker) -> None:
    """The first process of the node's namespace takes all others with it."""
    if alive(broker):
        end(broker)
    start(broker)


def end(broker: Broker) -> None:
    for pid in inner(broker):
        os.kill(pid, signal.SIGKILL)
    until(lambda: not alive(broker), 20)


def restart(broker: Broker) -> None:
    """SIGTERM, as a service manager says it: RabbitMQ tells its clients and writes down what it keeps."""
    stop(broker)
    start(broker)


def inner(broker: Broker) -> list[int]:
    """The processes right inside the node's namespace."""
    outer = int(broker.pid_file.read_text())
    return [int(pid) for pid in Path(f"/proc/{outer}/task/{outer}/children").read_text().split()]


def stop(broker: Broker) -> None:
    if not alive(broker):
        return
    for pid in inner(broker):
        os.kill(pid, signal.SIGTERM)
    if not until(lambda: not alive(broker), STOPS_WITHIN):
        end(broker)
    broker.pid_file.unlink(missing_ok=True)
    say(f"{broker.name}: stopped")


def status(broker: Broker) -> None:
    print(f"{broker.name}\t{'up' if alive(broker) and answers(broker) else 'down'}\t{broker.url}")


def url(broker: Broker) -> None:
    if not answers(broker):
        raise Trouble(f"{broker.name} is not running; start it with: make brokers NAMES={broker.name}")
    print(broker.url)


def pairs(broker: Broker) -> None:
    if alive(broker) and answers(broker):
        print(f"{broker.name}={broker.url}")


def nodes(broker: Broker) -> None:
    if alive(broker) and answers(broker):
        print(broker.node)


def purge(broker: Broker) -> None:
    """With the chroot goes every node that lives in it."""
    for other in BROKERS.values():
        if other.root == broker.root:
            stop(other)
    shutil.rmtree(broker.root, ignore_errors=True)


VERBS: dict[str, Callable[[Broker], None]] = {
    "start": start,
    "kill": kill,
    "restart": restart,
    "stop": stop,
    "status": status,
    "url": url,
    "pairs": pairs,
    "nodes": nodes,
    "purge": purge,
}
PLAIN = [name for name, broker in BROKERS.items() if broker.timeout is None]
"""Who is meant where nobody is named."""


def main(arguments: list[str]) -> int:
    verb, *names = arguments or ["help"]
    unknown = [name for name in names if name not in BROKERS]
    if verb not in VERBS or unknown:
        say(__doc__ or "")
        say(f"NAMEs: {' '.join(BROKERS)}" + (f"; unknown: {' '.join(unknown)}" if unknown else ""))
        return 2
    try:
        for name in names or (PLAIN if verb in ("start", "pairs") else BROKERS):
            VERBS[verb](BROKERS[name])
    except Trouble as trouble:
        say(str(trouble))
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
