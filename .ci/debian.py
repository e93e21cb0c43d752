"""Debian releases beside the one that this machine runs: each in a chroot of its own, made once.

    debian.py SUITE FOLDER PACKAGE[,PACKAGE...]

Runs on the bare interpreter; needs root on a machine with apt. `Trouble` is what a person has to mend, in words.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

APT = Path(__file__).with_name("apt.sh")
LEAN = [f"--dpkgopt=path-exclude=/usr/share/{folder}/*" for folder in ("man", "doc", "locale")]
Shell = Callable[..., None]


class Trouble(Exception):
    """Something a person has to mend, in words."""


def possible() -> bool:
    """Can this machine make a chroot from Debian packages?"""
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def archive() -> str:
    """The package archive that this machine's own apt uses for its release."""
    listing = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    plain = [uri for uri in listing if "security" not in uri]
    if not plain:
        raise Trouble("apt knows no package archive on this machine (apt-get indextargets lists none)")
    return max(plain, key=plain.count)


def made(root: Path) -> bool:
    """Is the chroot there already?"""
    return (root / ".ready").exists()


def make(suite: str, root: Path, packages: str, shell: Shell) -> None:
    """The chroot of a release with these packages (comma-separated), unless it is there; `shell` runs a command."""
    if made(root):
        return
    shell(APT, "mmdebstrap=mmdebstrap", "unshare=util-linux")
    shutil.rmtree(root, ignore_errors=True)
    root.parent.mkdir(parents=True, exist_ok=True)
    shell(
        "mmdebstrap",
        "--variant=essential",
        f"--include={packages}",
        '--aptopt=Acquire::Languages "none"',
        '--aptopt=Acquire::Check-Valid-Until "false"',
        *LEAN,
        suite,
        root,
        archive(),
    )
    (root / ".ready").touch()


def run(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], check=True)


def main(arguments: list[str]) -> int:
    suite, root, packages = arguments
    if not (possible() or made(Path(root))):
        print("Debian packages are installed by root on a machine with apt", file=sys.stderr)
        return 3
    make(suite, Path(root), packages, run)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
