"""An S3 server for tests: moto, in a process of its own on loopback, one request at a time, so that what is conditional
is atomic as S3's is.

`python -m tests.support.s3` prints its port and serves until its input ends.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

ROOT = Path(__file__).parents[2]
BUCKET = "bucket"


@contextmanager
def serving() -> Iterator[dict[str, str]]:
    """What the environment must say of the server, which has an empty BUCKET."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.s3"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        url = f"http://127.0.0.1:{int(process.stdout.readline())}"
        urlopen(Request(f"{url}/{BUCKET}", method="PUT"), timeout=60).close()
        try:
            yield {
                "AWS_ENDPOINT_URL": url,
                "AWS_ALLOW_HTTP": "true",
                "AWS_REGION": "us-east-1",
                "AWS_ACCESS_KEY_ID": "somebody",
                "AWS_SECRET_ACCESS_KEY": "secret",
            }
        finally:
            process.stdin.close()


Application = Callable[[Mapping[str, Any], Callable[..., Any]], Iterable[bytes]]


def one_at_a_time(inner: Application) -> Application:
    lock = threading.Lock()

    def served(environ: Mapping[str, Any], start: Callable[..., Any]) -> list[bytes]:
        with lock:
            return list(inner(environ, start))

    return served


def main() -> int:
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, one_at_a_time(DomainDispatcherApplication(create_backend_app)), threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main())
