"""Where results go: a directory of this machine that can be written to. Anything else is refused before any work."""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from pathlib import Path

from conformance.session.exits import WRONG_USE, Refused, reason

PROBE = 1 << 16
"""Octets that must find room."""


def local(text: str) -> Path:
    """A path, as argparse takes it: an address of something else is none."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", text):
        raise argparse.ArgumentTypeError(f"{text} is not a directory of this machine: name one, and copy it afterwards")
    return Path(text)


def writable(name: str, value: object) -> Path:
    """The directory that the option names, made where it is missing. Raises Refused where nothing can be written."""
    try:
        path = local(str(value)).absolute()
        path.mkdir(parents=True, exist_ok=True)
    except argparse.ArgumentTypeError as problem:
        raise Refused(WRONG_USE, f"--{name} {problem}.") from None
    except OSError as problem:
        raise Refused(
            WRONG_USE, f"--{name} {value}: this directory cannot be created ({problem.strerror}). Name another one."
        ) from None
    try:
        with tempfile.TemporaryFile(dir=path) as probe:
            probe.write(bytes(PROBE))
            probe.flush()
            os.fsync(probe.fileno())
    except OSError as problem:
        raise Refused(
            WRONG_USE, f"--{name} {value}: it is not writable ({reason(problem)}). Name another directory."
        ) from None
    return path
