"""`make images`: both images of the Dockerfile, built and run.

Built with the docker or podman that answers; else with buildah, installed from Debian where that is possible, each step
in a chroot and in a store of its own, removed afterwards. Where no registry of images is in reach, the base is a Debian
release with its own Python. Run means: the broker's image listens, and the suite's image examines it. Writes
build/images.json.
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from conformance import __version__
from tools.release.built import ROOT, Unfit
from tools.release.pythons import CHROOT_PACKAGES, CHROOTS, furnish

IMAGES = ("reference-broker", "amqp-conformance")
DEBIAN = "trixie"
LOCAL_BASE = "localhost/python-of-debian"
STARTS_WITHIN = 30.0


def ran(*words: str | Path) -> str:
    """What a command printed; raises Unfit where it fails."""
    done = subprocess.run([*map(str, words)], cwd=ROOT, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if done.returncode:
        raise Unfit(f"`{' '.join(map(str, words))}` ended with {done.returncode}:\n{said[-3000:]}")
    return said


@dataclass(frozen=True)
class Builder:
    """What builds and runs images: its words for that."""

    words: tuple[str, ...]
    build: tuple[str, ...]
    run: Callable[[str, Sequence[str], Path], list[str]]
    """Image, arguments and a folder that it sees as /report to a command."""


def plain(name: str) -> Builder:
    """Docker, or podman, which takes the same words."""
    return Builder(
        (name,),
        (name, "build"),
        lambda image, words, folder: [
            name,
            "run",
            "--rm",
            "--network",
            "host",
            "-v",
            f"{folder}:/report",
            image,
            *words,
        ],
    )


def by_buildah(image: str, words: Sequence[str], folder: Path) -> list[str]:
    """A container of the image, and its entry point in it."""
    container = ran(*OURS, "from", image).strip().splitlines()[-1]
    said = json.loads(ran(*OURS, "inspect", "--type", "image", image))["OCIv1"]["config"]
    return [
        *OURS,
        "run",
        "--isolation",
        "chroot",
        "-v",
        f"{folder}:/report",
        container,
        "--",
        *said["Entrypoint"],
        *(words or said.get("Cmd", ())),
    ]


STORE = ROOT / "build" / "images"
OURS = ("buildah", "--storage-driver", "vfs", "--root", str(STORE / "store"), "--runroot", str(STORE / "run"))
BUILDAH = Builder(OURS, (*OURS, "build", "--isolation", "chroot"), by_buildah)


def builder() -> Builder | None:
    """The first that answers."""
    for name in ("docker", "podman"):
        if shutil.which(name) and subprocess.run([name, "info"], capture_output=True, check=False).returncode == 0:
            return plain(name)
    got = subprocess.run([ROOT / ".ci" / "apt.sh", "buildah=buildah"], check=False).returncode == 0
    return BUILDAH if got else None


def base(chosen: Builder) -> list[str]:
    """How the base image is named to a build: not at all where the Dockerfile's own can be had."""
    default = re.search(r"(?m)^ARG BASE=(\S+)", (ROOT / "Dockerfile").read_text())
    assert default
    if subprocess.run([*chosen.words, "pull", default[1]], capture_output=True, check=False).returncode == 0:
        return []
    root = CHROOTS / DEBIAN
    ran(sys.executable, ROOT / ".ci" / "debian.py", DEBIAN, root, CHROOT_PACKAGES)
    furnish(root)
    with tempfile.TemporaryDirectory() as context:
        ran("tar", "-C", root, "-cf", Path(context, "root.tar"), ".")
        Path(context, "Dockerfile").write_text("FROM scratch\nADD root.tar /\n")
        ran(*chosen.build, "-t", LOCAL_BASE, context)
    return ["--build-arg", f"BASE={LOCAL_BASE}"]


@contextmanager
def listening(command: Sequence[str], port: int) -> Iterator[None]:
    """A broker in a container, until the block ends."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout
        for line in process.stdout:
            if f":{port}/" in line and "amqp://" in line:
                break
        else:
            raise Unfit(f"the image of the broker ended with {process.wait()}")
        yield
    finally:
        process.terminate()
        process.wait(STARTS_WITHIN)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def tried(chosen: Builder) -> None:
    """The broker's image examined by the suite's."""
    port = free_port()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        broker = chosen.run("reference-broker", ["--port", str(port), "--user", "app:secret"], folder)
        with listening(broker, port):
            url = f"amqp://app:secret@127.0.0.1:{port}/%2F"
            words = ["run", url, "--rules", "TAG-00[12]", "--depth", "smoke", "--report", "/report"]
            said = ran(*chosen.run("amqp-conformance", words, folder))
        if "GATE OPEN" not in said or not (folder / "index.html").exists():
            raise Unfit(f"the image of the suite left no report:\n{said[-3000:]}")
    said = ran(*chosen.run("amqp-conformance", ["--version"], ROOT / "docs"))
    if said.strip() != f"amqp-conformance {__version__}":
        raise Unfit(f"the image of the suite calls itself {said!r}")


def main() -> int:
    chosen = builder()
    if chosen is None:
        print("nothing here can build images: no docker, podman or buildah; not tried", file=sys.stderr)
        return 0
    try:
        named = base(chosen)
        for image in IMAGES:
            ran(*chosen.build, *named, "--target", image, "-t", image, ROOT)
        tried(chosen)
    except Unfit as unfit:
        print(unfit, file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(STORE, ignore_errors=True)
    of = LOCAL_BASE if named else "the Dockerfile's own base"
    print(f"{' and '.join(IMAGES)}: built by {chosen.words[0]} on {of}, run, gate open")
    document = {"builder": chosen.words[0], "base": of, "images": IMAGES}
    (ROOT / "build" / "images.json").write_text(json.dumps(document) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
