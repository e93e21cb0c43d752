"""The sdist, the wheel that is made of it, and what may be in them.

The wheel is made from the sdist, so what the sdist forgets is missing in the wheel as well. Both must hold exactly the
tracked files of the four packages: no more, or maintainers' tools and leftovers ship; no less, or data is missing.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "build" / "dist"
SHIPPED = ("codec", "conformance", "reference_broker", "reports")
CONSTRAINTS = ROOT / "constraints.txt"


class Unfit(Exception):
    """What was built is not what may be published, in words."""


@dataclass(frozen=True)
class Dist:
    """What was built of one version."""

    sdist: Path
    wheel: Path


def uv(*words: str | Path) -> None:
    """The environment's own uv, quiet unless it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "uv", *map(str, words)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Unfit(f"uv {' '.join(map(str, words))} failed:\n{done.stderr.strip()}")


def build(out: Path = OUT) -> Dist:
    """Both, in an emptied folder."""
    out.mkdir(parents=True, exist_ok=True)
    for old in (*out.glob("*.whl"), *out.glob("*.tar.gz")):
        old.unlink()
    uv("build", "--quiet", "--out-dir", out, ROOT)
    (sdist,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    return Dist(sdist, wheel)


def carried(names: Iterable[str]) -> set[str]:
    """The files of our packages among the names in an archive."""
    return {name for name in names if name.split("/")[0] in SHIPPED and not name.endswith("/")}


def tracked() -> set[str]:
    """The files of our packages in the repository, those not yet committed included."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *SHIPPED],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}


def contents(dist: Dist) -> tuple[set[str], set[str]]:
    """All names in the sdist, without its folder, and in the wheel."""
    with tarfile.open(dist.sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    with zipfile.ZipFile(dist.wheel) as archive_of_wheel:
        return inside, set(archive_of_wheel.namelist())


def check(dist: Dist) -> None:
    """Raises Unfit where something is missing in either, or too much in the wheel."""
    wanted = tracked()
    inside, wheel = contents(dist)
    lacking = wanted - inside | wanted - wheel
    surplus = {name for name in wheel if name not in wanted and not name.partition("/")[0].endswith(".dist-info")}
    if lacking or surplus:
        raise Unfit(f"missing in sdist or wheel: {sorted(lacking)}; too much in the wheel: {sorted(surplus)}")


def twine(dist: Dist, folder: Path) -> None:
    """`twine check --strict`, by a twine in an environment of its own."""
    environment = folder / "twine"
    uv("venv", "--quiet", "--clear", "--python", sys.executable, environment)
    uv(
        "pip",
        "install",
        "--quiet",
        "--python",
        environment,
        "--constraints",
        CONSTRAINTS,
        "--group",
        f"{ROOT / 'pyproject.toml'}:release",
    )
    words = [environment / "bin" / "twine", "check", "--strict", dist.sdist, dist.wheel]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unfit(f"twine check failed:\n{done.stdout}{done.stderr}")
