from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.drive.drivers.admin import Admin
from conformance.drive.drivers.errors import Unreachable
from conformance.drive.drivers.sweep import unrecorded
from conformance.drive.drivers.target import Target
from conformance.drive.pulse import Pulse
from conformance.drive.vhosts import Vhosts
from reference_broker import ReferenceBroker


@pytest.fixture(scope="module")
def broker() -> Iterator[ReferenceBroker]:
    with ReferenceBroker(http_port=0) as started:
        for name in ("spare", "other"):
            Admin(started.admin_url).make_vhost(name, "guest")
        yield started


@pytest.fixture
def pulse(broker: ReferenceBroker) -> Iterator[Pulse]:
    made = Pulse(Target.parse(broker.url), patience=0.3, down="answers no queue.declare")
    yield made
    made.drop()


def test_those_that_were_named_are_tried_in_order_and_each_once(pulse: Pulse) -> None:
    vhosts = Vhosts(("nowhere", "spare", "other"))
    assert vhosts.move(pulse) == "vhost spare"
    assert (pulse.target.vhost, pulse.down) == ("spare", "")
    assert vhosts.move(pulse) == "vhost other"
    assert vhosts.move(pulse) == ""
    assert vhosts.why == "no further vhost was named by --spare-vhosts"
    assert pulse.target.vhost == "other"


def test_a_vhost_in_which_it_does_not_answer_either_is_not_taken(pulse: Pulse) -> None:
    vhosts = Vhosts(("nowhere",))
    assert vhosts.move(pulse) == ""
    assert vhosts.why == "it does not answer in vhost nowhere either: it lets nobody in (vhost)"
    assert pulse.target.vhost == "/"


def test_what_is_made_is_removed_at_the_end(broker: ReferenceBroker, pulse: Pulse) -> None:
    vhosts = Vhosts((), Admin(broker.admin_url))
    assert vhosts.move(pulse) == "a vhost made for it"
    made = pulse.target
    assert vhosts.move(pulse) == "a vhost made for it"
    assert pulse.target.vhost != made.vhost
    pulse.drop()
    vhosts.let_go()
    with pytest.raises(Unreachable) as refused:
        unrecorded(made)
    assert refused.value.layer == "vhost"


def test_who_makes_none_says_why(pulse: Pulse) -> None:
    vhosts = Vhosts((), Admin("http://127.0.0.1:1"))
    assert vhosts.move(pulse) == ""
    assert vhosts.why.startswith("no other vhost can be made: PUT /api/vhosts/amqpconf.")
