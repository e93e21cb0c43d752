"""What a controller gets from its workers when it is interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.session import workers
from conformance.session.workers import ENTRIES, Workers


def node(popen: Any = None, **about: Any) -> SimpleNamespace:
    return SimpleNamespace(gateway=SimpleNamespace(_io=SimpleNamespace(popen=popen)), _down=False, **about)


def test_entries_come_from_the_last_message_of_each() -> None:
    known = Workers()
    known.add(node(workeroutput={ENTRIES: {"a": "1", "b": "2"}}))
    known.add(node(workeroutput={}))
    known.add(node(workeroutput={ENTRIES: {"c": "3"}}))
    assert dict(known.interrupt()) == {"a": "1", "b": "2", "c": "3"}


def test_a_message_that_is_under_way_is_waited_for() -> None:
    late, known = node(), Workers()
    known.add(late)
    threading.Timer(0.1, lambda: setattr(late, "workeroutput", {ENTRIES: {"a": "1"}})).start()
    assert list(known.interrupt()) == [("a", "1")]


def test_one_that_is_down_or_dumb_keeps_nobody_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "PATIENCE", 0.1)
    known, down = Workers(), node()
    down._down = True
    known.add(down)
    known.add(node())
    began = time.monotonic()
    assert list(known.interrupt()) == []
    assert time.monotonic() - began < 5


def test_a_local_process_is_interrupted() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", "import signal, sys; print(flush=True); signal.sigwait({signal.SIGINT}); sys.exit(7)"],
        stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}),
    )
    assert process.stdout is not None
    process.stdout.readline()
    known = Workers()
    known.add(node(process, workeroutput={}))
    assert list(known.interrupt()) == []
    assert process.wait(10) == 7
    process.stdout.close()
    assert list(known.interrupt()) == [], "one that has ended is left alone"
