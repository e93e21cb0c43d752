"""The classes of the methods, as people use them."""

from __future__ import annotations

import inspect

import pytest

from codec import Method, wire
from codec import methods as m


def test_there_is_a_class_for_every_method() -> None:
    assert [cls.NAME for cls in m.BY_INDEX.values()] == [name for name, _ in wire.METHODS.values()] == list(m.BY_NAME)
    assert all(getattr(m, m.class_name(name)) is cls for name, cls in m.BY_NAME.items())


def test_a_class_says_what_it_is() -> None:
    cls = m.BasicConsume
    assert (cls.NAME, cls.CLASS_ID, cls.METHOD_ID, cls.INDEX) == ("basic.consume", 60, 20, 60 << 16 | 20)
    assert cls.FIELDS == (
        "reserved_1",
        "queue",
        "consumer_tag",
        "no_local",
        "no_ack",
        "exclusive",
        "no_wait",
        "arguments",
    )
    assert cls.BITS == ("no_local", "no_ack", "exclusive", "no_wait")
    assert {c.NAME for c in m.BY_INDEX.values() if c.HAS_CONTENT} == wire.CARRIES_CONTENT


def test_arguments_have_defaults_and_names() -> None:
    start = m.ConnectionStart(0)
    assert (start.version_major, start.server_properties, start.mechanisms) == (0, [], b"")
    assert m.BasicPublish(1, routing_key="k") == m.BasicPublish(1, 0, "", "k", False, False)
    assert list(inspect.signature(m.BasicNack).parameters) == ["channel", "delivery_tag", "multiple", "requeue"]
    with pytest.raises(TypeError, match=r"BasicAck.__init__\(\) got an unexpected keyword argument 'tag'"):
        m.BasicAck(1, tag=2)  # type: ignore[call-arg]


def test_no_two_share_a_table() -> None:
    m.QueueDeclare(1).arguments.append(("a", "V", None))
    assert m.QueueDeclare(1).arguments == []


@pytest.mark.parametrize("cls", m.BY_INDEX.values(), ids=lambda cls: cls.NAME)
def test_a_class_has_slots_for_its_arguments_and_no_more(cls: type[Method]) -> None:
    frame = cls(1)
    assert [getattr(frame, name) is not None for name in cls.FIELDS] == [True] * len(cls.FIELDS)
    with pytest.raises(AttributeError):
        frame.something_else = 1  # type: ignore[attr-defined]


def test_what_is_no_method_is_named() -> None:
    with pytest.raises(AttributeError, match="AMQP 0-9-1 has no method BasicNap"):
        m.BasicNap  # type: ignore[attr-defined] # noqa: B018
