"""tx: nothing takes effect before commit, and rollback leaves no trace."""

import pytest

from codec import methods as m


@pytest.fixture
def tx(client):
    client.send(m.TxSelect(1))
    return client


def test_publishes_appear_at_commit_with_their_returns_first(tx):
    tx.publish("1")
    tx.publish("lost", queue="nowhere", mandatory=True)
    assert tx.depth() == 0
    frames = tx.send(m.TxCommit(1))
    assert isinstance(frames[0], m.BasicReturn)
    assert frames[-1] == m.TxCommitOk(1)
    assert tx.depth() == 1


def test_rollback_forgets_publishes_and_restores_tags(tx):
    tx.publish("1", "2")
    tx.send(m.TxCommit(1))
    tx.gets(2)
    tx.publish("3")
    assert tx.send(m.BasicAck(1, 1), m.TxRollback(1)) == [m.TxRollbackOk(1)]
    assert tx.depth() == 0
    assert tx.send(m.BasicAck(1, 2, True), m.TxCommit(1)) == [m.TxCommitOk(1)]
    tx.send(m.ChannelClose(1, 200))
    assert tx.drain() == []


def test_a_double_ack_is_an_error_before_commit(tx):
    tx.publish("1")
    tx.send(m.TxCommit(1))
    tx.get()
    assert tx.send(m.BasicAck(1, 1), m.BasicAck(1, 1))[0].reply_code == 406


def test_uncommitted_acks_are_requeued_with_the_channel(tx):
    tx.publish("1", "2", "3")
    tx.send(m.TxCommit(1))
    tx.gets(3)
    tx.send(m.BasicAck(1, 1), m.BasicNack(1, 2), m.TxCommit(1), m.BasicAck(1, 3))
    tx.send(m.ChannelClose(1, 200))
    assert tx.drain() == [("3", True)]


@pytest.mark.parametrize(
    ("methods", "why"),
    [
        ([m.TxCommit(1)], "channel is not transactional"),
        ([m.TxRollback(1)], "channel is not transactional"),
        ([m.TxSelect(1), m.ConfirmSelect(1)], "cannot switch from tx to confirm mode"),
    ],
)
def test_wrong_modes(client, methods, why):
    assert client.send(*methods)[-1].reply_text == f"PRECONDITION_FAILED - {why}"


def test_a_second_select_changes_nothing(tx):
    tx.publish("1")
    assert tx.send(m.TxSelect(1), m.TxCommit(1)) == [m.TxSelectOk(1), m.TxCommitOk(1)]
    assert tx.drain() == [("1", False)]
