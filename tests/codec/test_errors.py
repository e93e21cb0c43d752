"""Reply codes as the specification and pika have them."""

from __future__ import annotations

import pickle

import pika.spec

import codec
from codec import ReplyCode


def test_codes_are_those_pika_knows() -> None:
    theirs = {name: value for name, value in vars(pika.spec).items() if name in ReplyCode.__members__}
    assert {code.name: int(code) for code in ReplyCode} == theirs


def test_a_soft_error_ends_the_channel_and_a_hard_one_the_connection() -> None:
    soft = {311, 312, 313, 403, 404, 405, 406}
    assert {int(code) for code in ReplyCode if code.soft} == soft
    assert {int(code) for code in ReplyCode if code.hard} == {int(c) for c in ReplyCode} - soft - {200}


def test_the_text_is_what_brokers_write() -> None:
    assert ReplyCode(406).text == "PRECONDITION_FAILED"


def test_a_finding_can_travel_between_processes() -> None:
    problem = codec.MalformedFrame(3, "a", "b", b"raw")
    copy = pickle.loads(pickle.dumps(problem))
    assert (copy.offset, copy.expected, copy.found, copy.raw, str(copy)) == (3, "a", "b", b"raw", str(problem))
