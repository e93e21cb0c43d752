"""The fold as machine code, where somebody asked for it: `make native`.

What is compiled is model and monitors as they are written, in a package of its own beside them (`.ci/native.py`). A
build lies in a folder named by the digest of all it was made of, the sources, the interpreter and the builder, and is
marked when it was proven to judge as the sources do. So a stale or half-made one is never found; then, as by default,
the fold is plain Python. Recordings, captures and streams are judged by it, whose states are the bytes of the plain
one; live runs are not. Who wants to see the same verdicts without it sets PLAIN in the environment.
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
    *(f"conformance/oracle/{room}/*.py" for room in ROOMS),
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
