"""The workers of a distributed run, as its controller knows them.

An interrupt of the controller alone would let go of workers in the middle of their checks, and lose what they had
found. So it is passed on, once: a worker breaks its check off, cleans up, and leaves all its entries in its last
message. That message is waited for here, because pytest-xdist itself listens no more.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Mapping
from typing import Any

ENTRIES = "amqp_entries"
"""What an interrupted worker leaves in its output: entries by the name of their check."""
PATIENCE = 15.0
"""Seconds in which a worker breaks off and cleans up."""


class Workers:
    """Nodes of pytest-xdist."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []

    def add(self, node: Any) -> None:
        self._nodes.append(node)

    def interrupt(self) -> Iterator[tuple[str, str]]:
        """Breaks off what they do. Each entry that they had, with the name of its check."""
        for node in self._nodes:
            _interrupt(node)
        until = time.monotonic() + PATIENCE
        for node in self._nodes:
            yield from _left(node, until).items()


def _interrupt(node: Any) -> None:
    """A local worker is a process that execnet has started; of others there is no way to tell them."""
    process = getattr(getattr(node.gateway, "_io", None), "popen", None)
    if process is not None and process.poll() is None:
        process.send_signal(signal.SIGINT)


def _left(node: Any, until: float) -> Mapping[str, str]:
    """What the worker's last message says, once it is here."""
    while not hasattr(node, "workeroutput") and not node._down and time.monotonic() < until:
        time.sleep(0.02)
    entries: Mapping[str, str] = getattr(node, "workeroutput", {}).get(ENTRIES, {})
    return entries
