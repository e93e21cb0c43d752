"""Places by what they say, and a client of the pure core."""

from __future__ import annotations

import pytest

from reference_broker.core.broker import Broker
from tests.reference_broker.conftest import Client
from tools.mutation.sites import Mutation, mutations


def place(function: str, kind: str, text: str = "") -> Mutation:
    """The one place of this kind in this function whose words have the text in them."""
    (found,) = (
        one
        for one in mutations()
        if (f"{one.module}.{one.function}", one.kind) == (function, kind) and text in one.says
    )
    return found


@pytest.fixture
def core() -> Broker:
    return Broker()


@pytest.fixture
def client(core: Broker) -> Client:
    """A connection with channel 1 open and the queue `q` declared."""
    client = Client(core).open()
    client.queue()
    return client
