"""The fold as machine code, if somebody made it with `make native`.

Model and monitors are compiled as they are written, in a package of their own beside them (`.ci/native.py`). The
folder of a build is named by the digest of everything that it was made from: the sources, the interpreter and the
builder. It is marked after a test has proven that it judges as the sources do. So a stale or incomplete build is never
found; then, as by default, the fold is plain Python. The build judges recordings, captures and streams, and its states
are the same bytes as those of plain Python. It does not judge live runs. Set PLAIN in the environment to see the same
verdicts without it.
"""

from __future__ import annotations

import importlib
import os
import platform
import sys
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import cast

from conformance.oracle.monitors import Judge

ROOT = Path(__file__).resolve().parents[2]
BUILDS = ROOT / "build" / "native"
PACKAGE, PROVEN = "amqp_fold", "proven"
PLAIN = "AMQP_CONFORMANCE_PLAIN"
ROOMS = "model", "monitors"
"""What is compiled; the rest of SOURCES is what it was compiled against."""
SOURCES = (
    *(f"conformance/oracle/{room}/**/*.py" for room in ROOMS),
    "conformance/oracle/verdicts.py",
    "conformance/history/events.py",
    "conformance/catalogue/profiles/*.py",
    "conformance/catalogue/rules/*.py",
    ".ci/native.py",
)


def digest() -> str:
    """16 hex digits for all that a build depends on."""
    made = blake2b(f"{sys.version} {platform.machine()}".encode(), digest_size=8)
    for path in sorted(path for pattern in SOURCES for path in ROOT.glob(pattern)):
        made.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return made.hexdigest()


@cache
def judge() -> type[Judge]:
    """What judges a history: compiled where there is a proven build of these very sources."""
    build = BUILDS / digest() if BUILDS.is_dir() and not os.environ.get(PLAIN) else None
    return load(build) if build is not None and (build / PROVEN).exists() else Judge


def load(build: Path) -> type[Judge]:
    """The Judge of this build."""
    sys.path.append(str(build))
    return cast("type[Judge]", importlib.import_module(f"{PACKAGE}.monitors").Judge)
