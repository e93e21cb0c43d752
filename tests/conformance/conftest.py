"""What tests of the front door share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pika
import pytest
from pika.exceptions import ChannelClosedByBroker

from conformance.history.recording import Recording

Leftovers = Callable[[str, Path], list[str]]


@pytest.fixture
def leftovers() -> Leftovers:
    """Which of the queues that a recorded run declared are still there, asked by another client."""

    def ask(url: str, recording: Path) -> list[str]:
        events = Recording(recording).events()
        declared = {event.queue for event in events if event.method == "queue.declare" and event.direction == ">"}
        assert declared
        with pika.BlockingConnection(pika.URLParameters(url)) as connection:
            return [name for name in sorted(filter(None, declared)) if _there(connection, name)]

    return ask


def _there(connection: pika.BlockingConnection, name: str) -> bool:
    try:
        connection.channel().queue_declare(name, passive=True)
    except ChannelClosedByBroker as refused:
        return refused.reply_code != 404
    return True
