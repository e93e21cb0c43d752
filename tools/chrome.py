"""A headless Chromium, driven through a pipe by its own protocol; no library between.

For pictures of our pages, and for the tests that hold them in a real browser. Nothing is loaded but what is told, and
the browser leaves nothing behind but the profile folder that it is given.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 120.0
"""Seconds in which a browser on a busy machine says something."""
_CODES = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


class BrowserFailed(Exception):
    """The browser is gone, says nothing, or refused what it was told."""


def found() -> str | None:
    """The path of a browser on this machine."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Chrome:
    """One browser with one page. Raises BrowserFailed."""

    def __init__(self, folder: Path) -> None:
        program = found()
        if program is None:
            raise BrowserFailed("there is no Chromium on this machine. On Debian and Ubuntu: apt install chromium")
        read, self._out = os.pipe()
        self._in, write = os.pipe()
        dup = f"import os, sys; os.dup2({read}, 3); os.dup2({write}, 4); os.execv(sys.argv[1], sys.argv[1:])"
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", dup, program, *flags, f"--user-data-dir={folder}", "about:blank"],
            pass_fds=(read, write),
            stderr=subprocess.DEVNULL,
        )
        os.close(read)
        os.close(write)
        self._number, self._rest, self._session = 0, b"", ""
        self._loaded: set[str] = set()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The answer to one call of the browser's protocol."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        message |= {"sessionId": self._session} if self._session else {}
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while (answer := self._read()).get("id") != self._number:
            pass
        if "error" in answer:
            raise BrowserFailed(f"{method}: {answer['error']}")
        return dict(answer["result"])

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not select.select([self._in], [], [], PATIENCE)[0]:
                raise BrowserFailed(f"the browser says nothing for {PATIENCE:.0f} s")
            got = os.read(self._in, 1 << 20)
            if not got:
                raise BrowserFailed("the browser is gone")
            self._rest += got
        line, _, self._rest = self._rest.partition(b"\0")
        said = dict(json.loads(line))
        if said.get("method") == "Page.lifecycleEvent" and said["params"]["name"] == "load":
            self._loaded.add(said["params"]["loaderId"])
        return said

    def open(self, url: str, *, width: int = 1440, height: int = 1000, scale: int = 1, scripted: bool = True) -> None:
        """Opens a page in a window of this size; comes back when it is loaded and, with its script, settled."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False
        )
        self.call("Page.navigate", url="about:blank")
        answer = self.call("Page.navigate", url=url)
        if "errorText" in answer:
            raise BrowserFailed(f"{url}: {answer['errorText']}")
        while answer["loaderId"] not in self._loaded:  # which may have come before the answer
            self._read()
        if scripted:
            self.settled()

    def still(self) -> None:
        """Nothing moves from here on."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])

    def settled(self) -> None:
        """Comes back after the page has been laid out and its pending events have run."""
        self.js("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")

    def js(self, expression: str) -> Any:
        """The value of an expression, or of the promise that it is. The page's own policy does not bind it."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserFailed(f"{expression[:80]}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def key(self, name: str, text: str = "") -> None:
        """Presses and lets go of a key."""
        for kind in ("keyDown", "keyUp"):
            said = {"text": text} if text and kind == "keyDown" else {}
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=name,
                code=name,
                windowsVirtualKeyCode=_CODES.get(name, 0),
                **said,
            )
        self.settled()

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """What is to be seen, or the whole page, as PNG, or as WebP where the name ends so."""
        small = {"format": "webp", "quality": 60} if path.suffix == ".webp" else {}
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=whole, **small)
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        os.close(self._out)
        self._process.kill()
        self._process.wait()
        os.close(self._in)
