"""A rewritten place differs from the honest one when its trigger fires, and never else; and it leaves no trace."""

from __future__ import annotations

import ast
import gc
import random

import pytest

from codec import methods as m
from reference_broker.core.broker import Broker
from reference_broker.core.channels import confirms
from reference_broker.core.channels.confirms import Confirms, coalesce
from reference_broker.core.channels.prefetch import Limit
from reference_broker.core.queues.ready import Ready
from tests.reference_broker.conftest import Client
from tests.tools.mutation.conftest import place
from tools.mutation.install import installed
from tools.mutation.sites import MUTANT, Mutation, mutations, pure, rewritten
from tools.mutation.source import CORE, codes, functions, parsed
from tools.mutation.triggers import ALWAYS, Trigger

SECOND = Trigger("from", k=2)


def full(count: int, held: int) -> bool:
    limit = Limit(count)
    limit.held = held
    return limit.full()


def test_a_boundary_is_on_the_other_side_from_the_second_occasion_on() -> None:
    with installed(place("prefetch.Limit.full", "boundary"), SECOND) as live:
        assert [full(2, 2), full(2, 2), full(2, 2)] == [True, False, False]
        assert (live.occasions, live.fired) == (3, 2)
        assert [full(2, 1), full(2, 3)] == [False, True]
        assert live.occasions == 3, "where both sides say the same, it was no occasion"
    assert full(2, 2)


def test_a_number_in_a_comparison_is_one_higher() -> None:
    with installed(place("prefetch.Limit.full", "constant"), SECOND):
        assert [full(1, 1), full(1, 1), full(0, 1), full(2, 2)] == [True, False, True, True]


def test_another_comparison() -> None:
    with installed(place("prefetch.Limit.full", "comparison"), ALWAYS):
        assert [full(0, 0), full(1, 1)] == [True, False]


def test_a_condition_the_other_way_round_every_second_time(client: Client) -> None:
    with installed(place("channel.Channel.publish", "condition", "`mandatory`"), Trigger("every", k=2)):
        seen = [returned(client.publish("1", queue="none", mandatory=mandatory)) for mandatory in (1, 1, 0, 0)]
    assert seen == [True, False, False, True]


def test_a_part_of_a_condition_counts_only_where_the_whole_differs(client: Client) -> None:
    with installed(place("channel.Channel.publish", "condition", "`mandatory`"), ALWAYS) as live:
        assert [returned(client.publish("1", mandatory=mandatory)) for mandatory in (1, 0)] == [False, False]
        assert live.occasions == 0, "it was routed, so nobody asks whether it was mandatory"
        assert returned(client.publish("1", queue="none"))
        assert live.occasions == 1


def returned(frames: list[object]) -> bool:
    return any(isinstance(frame, m.BasicReturn) for frame in frames)


def test_a_statement_is_dropped_from_the_second_occasion_on() -> None:
    confirms = Confirms()
    with installed(place("confirms.Confirms.accept", "dropped", "append"), SECOND):
        for _ in range(3):
            confirms.accept(confirms.next())
    assert confirms.flush(1) == [m.BasicAck(1, 1)]


def test_the_other_end_of_a_collection() -> None:
    def popped(ready: Ready) -> list[int]:
        return [ready.pop().position for _ in range(4)]

    def filled() -> Ready:
        ready = Ready()
        for position in range(4):
            ready.push(entry(position))
        return ready

    with installed(place("ready.Ready.pop", "other end", "popleft"), SECOND) as live:
        assert popped(filled()) == [0, 3, 2, 1]
        assert live.occasions == 3, "one thing has no other end"
    assert popped(filled()) == [0, 1, 2, 3]


def entry(position: int) -> object:
    class Body:
        body = b""

    class Entry:
        message = Body()

    one = Entry()
    one.position = position
    return one


def test_what_never_fires_is_the_honest_broker(core: Broker, client: Client) -> None:
    """Everything a client sees, with any place rewritten."""
    honest = [type(each) for each in conversation(client)]
    for mutation in drawn(12):
        with installed(mutation, Trigger("from", k=10**9)) as live:
            other = Client(Broker()).open()
            other.queue()
            assert [type(each) for each in conversation(other)] == honest, mutation
            assert live.fired == 0


def conversation(client: Client) -> list[object]:
    client.send(m.BasicQos(1, 0, 2), m.ConfirmSelect(1))
    client.publish("1", "2", "3")
    client.consume()
    client.send(m.BasicAck(1, 2, True), m.BasicNack(1, 3, False, True), m.BasicCancel(1, "c"), m.BasicAck(1, 9))
    return client.log


def drawn(number: int) -> list[Mutation]:
    return random.Random(0).sample(mutations(), number)


def test_every_place_has_a_name_of_its_own_and_they_are_of_all_kinds() -> None:
    keys = [one.key for one in mutations()]
    assert len(keys) == len(set(keys))
    assert {one.kind for one in mutations()} == {
        "comparison",
        "boundary",
        "constant",
        "dropped",
        "condition",
        "other end",
    }
    assert {one.module for one in mutations()} == set(CORE)


@pytest.mark.parametrize("mutation", drawn(12), ids=lambda one: one.key)
def test_only_the_function_with_the_place_is_rewritten_and_asks(mutation: Mutation) -> None:
    ((name, code),) = rewritten(mutation).items()
    assert name == mutation.function
    assert MUTANT in str(list(names(code)))


def names(code: object) -> list[str]:
    inner = [name for const in code.co_consts if hasattr(const, "co_names") for name in names(const)]
    return [*code.co_names, *inner]


@pytest.mark.parametrize(
    ("text", "twice"),
    [
        ("a and not b.c", True),
        ("len(a) > b[0]", True),
        ("a.get(b) is None", True),
        ("a and b.pop()", False),
        ("a.get(b.next())", False),
        ("(a := b) and c", False),
        ("a(b)(c)", False),
    ],
)
def test_only_what_changes_nothing_may_be_evaluated_twice(text: str, twice: bool) -> None:
    assert pure(ast.parse(text, mode="eval").body) is twice


@pytest.mark.parametrize("module", CORE)
def test_all_functions_of_the_core_are_known_where_their_source_is(module: str) -> None:
    """Under pytest what is loaded is not quite what was compiled: it rewrites assertions."""
    compiled, known = codes(parsed(module), module), functions(module)
    named = {name: code for name, code in compiled.items() if "<" not in name}
    assert {name for name, code in named.items() if known[name].__code__.co_firstlineno != code.co_firstlineno} == set()


def test_functions_are_found_when_the_collector_was_told_to_forget_them() -> None:
    """A broker that serves freezes what is loaded."""
    gc.freeze()
    assert functions("confirms")["coalesce"] is coalesce


def test_nothing_is_left_behind() -> None:
    before = coalesce.__code__
    with installed(place("confirms.coalesce", "condition", "`below`"), ALWAYS):
        assert coalesce.__code__ is not before
        assert hasattr(confirms, MUTANT)
    assert coalesce.__code__ is before
    assert not hasattr(confirms, MUTANT)
