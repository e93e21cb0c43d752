"""Make `.venv` ready: the exact versions of constraints.txt, this checkout installed in place.

Runs on the bare interpreter (standard library only). The stock pip of some distributions is too old to know
dependency groups, so the environment gets its own uv and lets that do the work. Bytecode is made once, here: tests
start hundreds of processes, and where PYTHONDONTWRITEBYTECODE is set each would compile all that it loads.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / ".ready"
INPUTS = [ROOT / "pyproject.toml", ROOT / "constraints.txt", Path(__file__)]


def fresh() -> bool:
    return STAMP.exists() and all(STAMP.stat().st_mtime >= path.stat().st_mtime for path in INPUTS)


def run(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], check=True, cwd=ROOT)


def create() -> None:
    try:
        run(sys.executable, "-m", "venv", "--clear", VENV)
    except subprocess.CalledProcessError:
        sys.exit("cannot create .venv: this Python has no venv module. On Debian and Ubuntu: apt install python3-venv")


def main() -> None:
    if sys.version_info < (3, 11):  # noqa: UP036 - this file is what tells people so
        sys.exit(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}")
    if fresh():
        return
    print("setting up .venv ...", file=sys.stderr)
    if not PYTHON.exists():
        create()
    try:
        run(PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "uv>=0.5")
        run(
            PYTHON,
            "-m",
            "uv",
            "pip",
            "install",
            "--quiet",
            "--compile-bytecode",
            "--python",
            PYTHON,
            "--constraints",
            "constraints.txt",
            "--group",
            "dev",
            "--editable",
            ".[spark,objects,clients]",
        )
    except subprocess.CalledProcessError as error:
        sys.exit(f"setting up .venv failed (exit {error.returncode}); the lines above say why")
    STAMP.touch()


if __name__ == "__main__":
    main()
