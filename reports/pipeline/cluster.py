"""A real Spark cluster on this machine, of what the pip package of PySpark brings: for tests, and to try things out.

    with standalone(folder) as cluster: ...       one master, workers of one core each, spark://127.0.0.1:PORT
    with connect(folder) as address: ...          a Spark Connect server, sc://127.0.0.1:PORT

    python -m reports.pipeline.cluster [--connect] [--workers N]    until interrupted; prints the address

All of it listens on loopback only, without web pages and without the submission server. What the processes say goes to
log files in `folder`. Their Python is this one, so the package needs no installing on the workers.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from reports.pipeline.session import LOOPBACK, QUICK, Unreachable, defaults, environment, java, placed

_PATIENCE = 240.0
_MASTER, _WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
_CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"


@contextlib.contextmanager
def standalone(folder: Path, workers: int = 2, memory: str = "1g") -> Iterator[str]:
    """The address of a cluster with all its workers registered."""
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    address = f"spark://{LOOPBACK}:{port}"
    with contextlib.ExitStack() as running:
        quiet = {"SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false -Dspark.ui.enabled=false"}
        master = folder / "master.log"
        running.enter_context(
            _process([_MASTER, "--host", LOOPBACK, "--port", str(port), "--webui-port", "0"], master, quiet)
        )
        _until(master, "I have been elected leader")
        for number in range(workers):
            running.enter_context(
                _process(
                    [
                        _WORKER,
                        "--host",
                        LOOPBACK,
                        "--cores",
                        "1",
                        "--memory",
                        memory,
                        "--webui-port",
                        "0",
                        "--work-dir",
                        str(folder / f"work{number}"),
                        address,
                    ],
                    folder / f"worker{number}.log",
                    {},
                )
            )
        _until(master, "Registering worker", times=workers)
        yield address


@contextlib.contextmanager
def connect(folder: Path, master: str = "local[2]") -> Iterator[str]:
    """The address of a Spark Connect server over this master."""
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    settings = {
        **defaults(tempfile.gettempdir(), octets=1),
        **placed(master),
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": LOOPBACK,
    }
    words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    log = folder / "connect.log"
    submit = ["org.apache.spark.deploy.SparkSubmit", "--master", master, *words, "--class", _CONNECT, "spark-internal"]
    with _process(submit, log, {"SPARK_DAEMON_MEMORY": "1g"}):
        _until(log, "Spark Connect server started at")
        yield f"sc://{LOOPBACK}:{port}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def _process(words: list[str], log: Path, more: Mapping[str, str]) -> Iterator[None]:
    """A Java process of Spark, ended with all that it started."""
    import pyspark

    java()
    home = str(Path(str(pyspark.__file__)).parent)
    loud = Path(__file__).parent / "conf" / "cluster"
    surroundings = {
        **os.environ,
        **environment("local"),
        "SPARK_HOME": home,
        "SPARK_CONF_DIR": str(loud),
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_DAEMON_MEMORY": "384m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK,
        **more,
    }
    with log.open("ab") as out:
        process = subprocess.Popen(
            [f"{home}/bin/spark-class", *words],
            env=surroundings,
            stdout=out,
            stderr=out,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _until(log: Path, words: str, times: int = 1) -> None:
    deadline = time.monotonic() + _PATIENCE
    while len(re.findall(words, log.read_text(errors="replace"))) < times:
        if time.monotonic() > deadline:
            raise Unreachable(f"the cluster did not come up in {_PATIENCE:.0f} s; see {log}")
        time.sleep(0.1)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m reports.pipeline.cluster", description="a Spark cluster, here")
    parser.add_argument("--connect", action="store_true", help="a Spark Connect server instead of a cluster")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="amqp-conformance-cluster-"))
    running = connect(folder) if options.connect else standalone(folder, options.workers)
    with running as address, contextlib.suppress(KeyboardInterrupt):
        print(f"{address}  (logs in {folder})", flush=True)
        signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main())
