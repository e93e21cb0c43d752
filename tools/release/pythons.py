"""The Pythons that pyproject.toml promises, and where this machine has them.

Looked for, in this order: on PATH, among pyenv's, among those that uv manages or can fetch, and in the Debian releases
whose own Python it is: there in a chroot, made once, by root on a machine with apt. A Python that cannot be had is said
to be missing, never passed over.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.release.built import ROOT

SUITES = {"3.11": "bookworm", "3.13": "trixie", "3.14": "forky"}
"""Debian's releases by their own Python."""
CHROOTS = ROOT / "build" / "pythons"
CHROOT_PACKAGES = "python3,python3-venv,ca-certificates"


@dataclass(frozen=True)
class Python:
    """An interpreter, in a chroot or not."""

    minor: str
    path: str
    """As seen from inside of its root."""
    root: Path = Path("/")

    @property
    def prefix(self) -> list[str]:
        """What stands before a command that is to run beside it."""
        return [] if self.root == Path("/") else ["chroot", str(self.root)]

    def __str__(self) -> str:
        return self.path if self.root == Path("/") else f"Debian {self.root.name}"


def promised() -> list[str]:
    """The minor versions that pyproject.toml names, oldest first."""
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    found = [match[1] for one in classifiers if (match := re.fullmatch(r".*:: Python :: (3\.\d+)", one))]
    return sorted(found, key=lambda minor: int(minor.partition(".")[2]))


def find(minor: str, *, chroots: bool = True) -> Python | None:
    """The first that runs and is of this version."""
    for path in candidates(minor):
        if runs(path, minor):
            return Python(minor, path)
    return in_chroot(minor) if chroots else None


def candidates(minor: str) -> Iterator[str]:
    """Where an interpreter may be, the cheapest first."""
    yield sys.executable
    on_path = shutil.which(f"python{minor}")
    if on_path:
        yield on_path
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from sorted(map(str, pyenv.glob(f"versions/{minor}.*/bin/python")), reverse=True)
    for words in (["find"], ["install"], ["find"]):
        done = subprocess.run(
            [sys.executable, "-m", "uv", "python", *words, minor], capture_output=True, text=True, check=False
        )
        if words == ["find"] and done.returncode == 0:
            yield done.stdout.strip()


def runs(path: str, minor: str) -> bool:
    """A shim may be there for a version that is not."""
    said = subprocess.run(
        [path, "-c", "import sys, ssl, venv; print('%d.%d' % sys.version_info[:2])"],
        capture_output=True,
        text=True,
        check=False,
    )
    return said.returncode == 0 and said.stdout.strip() == minor


def in_chroot(minor: str) -> Python | None:
    """Debian's, with uv and the way to the network."""
    if minor not in SUITES:
        return None
    root = CHROOTS / SUITES[minor]
    made = subprocess.run(
        [sys.executable, ROOT / ".ci" / "debian.py", SUITES[minor], root, CHROOT_PACKAGES],
        stdout=sys.stderr,
        check=False,
    )
    if made.returncode:
        return None
    furnish(root)
    found = Python(minor, "/usr/bin/python3", root)
    said = subprocess.run([*found.prefix, found.path, "--version"], capture_output=True, text=True, check=True).stdout
    return found if f" {minor}." in said else None


def furnish(root: Path) -> None:
    """Our uv, the names of hosts, and whom this machine trusts."""
    shutil.copy2(Path(sys.executable).with_name("uv"), root / "usr" / "bin" / "uv")
    for name in ("resolv.conf", "hosts", "ssl/certs/ca-certificates.crt"):
        if Path("/etc", name).exists():
            shutil.copyfile(Path("/etc", name), root / "etc" / name)
