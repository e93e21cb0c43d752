"""Connections that nobody judges are not waited for again and again."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from conformance.drive.drivers import sweep
from conformance.drive.drivers.raw import RawConnection, Target, open_connection
from conformance.history.recorder import Recorder

Serve = Callable[[Callable[[Any], None]], Target]
BROKER = "127.0.0.1", 1


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "_IN_VAIN", Counter())


def forgetful(peer: Any) -> None:
    """Opens every channel, and answers no deletion."""
    peer.welcome()
    while True:
        try:
            peer.send(sweep.m.ChannelOpenOk(peer.expect(sweep.m.ChannelOpen).channel))
        except AssertionError:
            return


def connected(serve: Serve, *, agrees: bool) -> RawConnection:
    """To a server that reads to the end, and agrees to a close or does not; it stands for one and the same broker."""

    def play(peer: Any) -> None:
        peer.welcome()
        if agrees:
            peer.expect(sweep.m.ConnectionClose)
            peer.send(sweep.m.ConnectionCloseOk(0))
        while peer.sock.recv(4096):
            pass

    connection = open_connection(serve(play), Recorder("", ""), "unrecorded")
    connection.target = Target(*BROKER)
    return connection


def waits(monkeypatch: pytest.MonkeyPatch, serve: Serve, *answers: bool) -> list[float]:
    """How long each close may take, where the broker agrees to it or does not."""
    asked: list[float] = []
    for agrees in answers:
        connection = connected(serve, agrees=agrees)
        close = connection.close

        def noted(timeout: float, agrees: bool = agrees, close: Callable[[float], None] = close) -> None:
            asked.append(timeout)
            close(10.0 if agrees else 0.01)

        monkeypatch.setattr(connection, "close", noted)
        sweep.part(connection, 5.0)
    return asked


def test_a_close_that_is_never_answered_is_soon_waited_for_briefly(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert waits(monkeypatch, serve, *[False] * 4) == [5.0] * sweep.OFTEN + [sweep.BRIEFLY]


def test_one_answer_and_there_is_patience_again(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    assert waits(monkeypatch, serve, False, False, False, True, False) == [5.0] * 3 + [sweep.BRIEFLY, 5.0]


def test_a_deletion_that_is_never_answered_is_soon_waited_for_briefly(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "BRIEFLY", 0.05)
    first, then = serve(forgetful), serve(forgetful)
    sweep.sweep(first, [], ["e1", "e2"], 1.0)
    assert sweep._IN_VAIN[first.host, first.port, "exchange.delete"] == 2
    for method in ("exchange.delete", "connection.close"):
        sweep._IN_VAIN[then.host, then.port, method] = sweep.OFTEN
    begin = time.monotonic()
    sweep.sweep(then, [], [f"e{number}" for number in range(20)], 1.0)
    assert 20 * sweep.BRIEFLY <= time.monotonic() - begin < 2.0, "none of them takes its second"


def test_no_time_is_no_answer_that_was_missed(serve: Serve) -> None:
    target = serve(forgetful)
    sweep.sweep(target, [], ["e1"], 0.01)
    assert not sweep._IN_VAIN
