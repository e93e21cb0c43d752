"""The pytest plugin: options, markers, fixtures. What happens with them is behind the door, `session.door`.

It is loaded wherever the distribution is installed, so it imports nothing of weight, opens nothing and says nothing
until checks of the suite are collected. Exit codes of such a session are those of the command line: 1 where the gate
is closed, 2 wrong use, 3 broker unreachable, 4 harness error, 130 interrupted. A failure among a project's own tests
in the same session is never hidden by a better code.

Under pytest-xdist every worker opens its own connections; the controller hands out what a run has in common, and makes
the results of nothing but the entries on test reports.
"""

from __future__ import annotations

import sys
from argparse import ArgumentError
from collections.abc import Generator, Iterator
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal

import pytest

from conformance.session.door import ATTEMPT, NAME, Door, door_of
from conformance.session.options import TABLE

if TYPE_CHECKING:
    from conformance.drive.stage import Stage
    from conformance.fixture import EmbeddedBroker
    from conformance.session.campaign import MachineCampaign

MARKERS = (
    "rule(*ids, queue_types, depth): the rules that a check of the AMQP conformance suite was written for",
    "must: checks of rules of level MUST",
    "should: checks of rules of level SHOULD",
    "reference_broker(**options): how the broker of the fixture is made, as reference_broker.ReferenceBroker takes it",
    "may: checks of rules of level MAY",
    "observed: checks that characterise, and never fail",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    for option in TABLE:
        kind: Literal["bool", "string"] = "bool" if option.flag else "string"
        parser.addini(option.dest, option.help, type=kind, default=None)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(parser: pytest.Parser) -> Generator[None, object, object]:
    """Options are named last, after every plugin and conftest: a name that is taken stays with whoever took it."""
    result = yield
    group = parser.getgroup("amqp-conformance", "AMQP 0-9-1 conformance suite (pytest --pyargs conformance)")
    for option in TABLE:
        more: dict[str, Any] = {"action": "store_true"} if option.flag else {"metavar": option.metavar}
        if option.many:
            more["action"] = "append"
        env = f" [{option.env}]" if option.env else ""
        more |= {"dest": option.dest, "default": None, "help": option.help + env}
        try:
            group.addoption(f"--{option.name}", f"--amqp-{option.name}", **more)
        except (ValueError, ArgumentError):
            group.addoption(f"--amqp-{option.name}", **more)
    return result


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    if "--strict" in config.invocation_params.args:  # pytest's own option of this name is meant for the gate, too
        config.option.amqp_strict = True
    config.pluginmanager.register(Door(config), NAME)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hypothesis' own plugin loads all of Hypothesis in order to sum up. Where nobody has used it, there is nothing to
    sum up, and a project that only uses our fixture is spared that."""
    manager = session.config.pluginmanager
    if "hypothesis" not in sys.modules and (summing_up := manager.get_plugin("hypothesispytest")) is not None:
        manager.unregister(summing_up)


@pytest.fixture
def campaign(request: pytest.FixtureRequest) -> MachineCampaign:
    """A machine of the suite, brought to the broker of this run."""
    from conformance.session.campaign import MachineCampaign
    from conformance.session.door import attempt

    return MachineCampaign.of(attempt(request.node, door_of(request.config), request.param))


@pytest.fixture
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    """A history in the making, on private queues that are gone afterwards, whatever happens."""
    from conformance.drive.stage import Stage
    from conformance.session.door import attempt

    made = attempt(request.node, door_of(request.config), request.param)
    with made.bench.staged(Stage, made.name, made.check.rules, made.queue_type) as stage:
        yield stage


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: Any) -> bool | None:
    """A check is played to its judgement, all in the call phase."""
    made = pyfuncitem.stash.get(ATTEMPT, None)
    if made is None:
        return None
    from conformance.session.checks import play

    asked = {name: pyfuncitem.funcargs[name] for name in signature(pyfuncitem.obj).parameters}

    def scene(stage: Stage | None) -> object:
        return pyfuncitem.obj(**({**asked, "stage": stage} if stage is not None else asked))

    try:
        play(made, scene, asked.get("stage"))
    finally:
        signed = made.signed()
        if made.histories:
            door_of(pyfuncitem.config).ledger.take(pyfuncitem.nodeid, [signed])
    pyfuncitem.user_properties.append(signed)
    complaint = made.complaint()
    if complaint:
        pytest.fail(complaint, pytrace=False)
    return True


@pytest.fixture
def reference_broker(request: pytest.FixtureRequest) -> Iterator[EmbeddedBroker]:
    """The reference broker on a free loopback port, empty, with a clock of its own: `.url`, `.advance(seconds)`.

    `@pytest.mark.reference_broker(dialect="rabbitmq-4.3")` makes another one of it.
    """
    from conformance.fixture import EmbeddedBroker

    marks = reversed(list(request.node.iter_markers("reference_broker")))
    with EmbeddedBroker(**{name: value for mark in marks for name, value in mark.kwargs.items()}) as broker:
        yield broker


@pytest.fixture(scope="session")
def session_reference_broker() -> Iterator[EmbeddedBroker]:
    """The same, one for all tests of the session (of a worker, with pytest-xdist)."""
    from conformance.fixture import EmbeddedBroker

    with EmbeddedBroker() as broker:
        yield broker
