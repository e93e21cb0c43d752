"""The one place that configures Spark: quiet, on loopback only, with this very Python in its workers.

Spark's runtime is a Java process of its own. It inherits our standard error when it starts and keeps it for good, so
that is where its noise is sent to a log file; what our own process says is not touched. Where no Java is found, the
message names what to install.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parent.parent.parent
CONF = Path(__file__).parent / "conf"


class NotInstalled(Exception):
    """Something that Spark needs is not on this machine; the message names the package to install."""


def session(
    log: Path | str | None = None, *, master: str = "local[*]", settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """A Spark session, the process' own if it has one already. `log`: where Spark's noise goes."""
    java()
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise NotInstalled("PySpark is not installed: pip install 'amqp-conformance[spark]'") from None
    scratch = tempfile.gettempdir()
    os.environ.update(environment())
    builder = SparkSession.builder.master(master).appName("amqp-conformance")
    for name, value in {**defaults(scratch), **(settings or {})}.items():
        builder = builder.config(name, value)
    with _noise_to(Path(log) if log else Path(scratch) / f"amqp-conformance-spark-{os.getpid()}.log"):
        return builder.getOrCreate()


def java() -> Path:
    """The Java that Spark will run on."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    if found:
        return Path(found)
    where = f"JAVA_HOME is {home}, and there is no bin/java in it" if home else "no java on the PATH"
    raise NotInstalled(
        f"The Spark pipeline needs Java 17 or later: {where}. Install openjdk-17-jre-headless (Debian, Ubuntu), "
        "java-17-openjdk-headless (Fedora) or openjdk@17 (Homebrew)."
    )


def environment() -> dict[str, str]:
    """What the Java process and its Python workers must find in their environment."""
    path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(path),
        "SPARK_CONF_DIR": str(CONF), "SPARK_LOCAL_IP": "127.0.0.1",
    }


def defaults(scratch: str) -> dict[str, str]:
    """Settings that hold unless a caller knows better.

    The Java options fit jobs of seconds: compiling quickly halves the CPU of a small recording, most of which is
    start-up. For recordings of many millions of events, set `spark.driver.extraJavaOptions` to nothing.
    """
    return {
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
        "spark.sql.warehouse.dir": str(Path(scratch) / "amqp-conformance-warehouse"),
        "spark.python.authenticate.socketTimeout": "120s", "spark.python.worker.faulthandler.enabled": "true",
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
