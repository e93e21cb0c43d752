"""Every mutant names rules, and costs the honest broker nothing.

That each shows is proven by the scenes of its rules (`tests/conformance/drive/test_suite.py`). What no scene shows is
shown here by the `scripts`, as the traits of personalities are: a module for each idea, in which every function whose
name does not begin with an underscore is a script.
"""

import re

import pytest

from codec import methods as m
from codec.errors import MalformedFrame
from conformance.catalogue.rules import RULE_ID
from reference_broker.core.parts import HANDLERS, Parts
from reference_broker.core.queues.message import Entry
from reference_broker.core.queues.ready import Ready
from reference_broker.mutants import MUTANTS, UnknownMutant, parts_with
from reference_broker.mutants.deliveries.modes import put_copy


def transcripts(scripts, client_of, *mutants):
    """What each script makes the broker send, one by one; the queue is drained at the end, by another connection."""
    for script in scripts:
        client = client_of(*mutants)
        unread: list[str] = []
        try:
            script(client)
            client.connection.lost()
            drainer = type(client)(client.core).open()
            drainer.drain()
        except MalformedFrame as malformed:
            unread.append(str(malformed))
            drainer = client
        yield script.__name__, [repr(frame) for frame in client.log + drainer.log] + unread


@pytest.fixture(scope="module")
def honest(scripts, client_of):
    return dict(transcripts(scripts, client_of))


BY_MACHINES_ONLY = ["expiry.revived-for-a-moment"]
"""No scene catches these."""


@pytest.mark.parametrize("name", BY_MACHINES_ONLY)
def test_a_mutant_without_a_scene_shows_on_the_wire(scripts, client_of, honest, name):
    assert any(said != honest[script] for script, said in transcripts(scripts, client_of, name))


def test_each_mutant_names_rules_and_says_what_it_does():
    for name, mutant in MUTANTS.items():
        assert mutant.name == name
        assert re.fullmatch(r"[a-z]+\.[a-z0-9-]+", name)
        assert mutant.says[:1].islower()
        assert mutant.rules
        assert all(re.fullmatch(RULE_ID, rule) for rule in mutant.rules)


def test_mutants_of_different_parts_go_together(client_of):
    client = client_of("tags.start-at-zero", "requeue.at-tail")
    client.publish("1", "2", "3")
    assert client.get() == (0, "1", False)
    client.send(m.BasicNack(1, 0, True, True))
    assert [body for body, _ in client.drain()] == ["2", "3", "1"]


def test_an_unknown_mutant_is_named_with_its_neighbours():
    with pytest.raises(UnknownMutant, match=r"'settle.single-takes-oldst'; did you mean settle.single-takes-oldest"):
        parts_with(["settle.single-takes-oldst"])


def test_without_mutants_every_part_is_the_honest_one():
    assert parts_with([]) == Parts()
    parts_with(MUTANTS)
    assert Parts().handlers == HANDLERS


def test_copies_have_places_of_their_own_behind_the_first_even_those_of_copies():
    class Held:
        body = b""

    class Line:
        ready = Ready()

    queue, entry = Line(), Entry(5, Held, None)
    put_copy(queue, entry, Entry)
    put_copy(queue, queue.ready.head(), Entry)
    put_copy(queue, entry, Entry)
    places = [queue.ready.pop().position for _ in range(3)]
    assert len(set(places)) == 3
    assert all(5 < place < 6 for place in places)
