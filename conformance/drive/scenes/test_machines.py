"""The machines: random histories, of which every rule may be exercised or broken.

A directed check knows which rule it is about; a machine does not, so its mark names none, only the families for whose
sake it runs, and what it contributes counts for all. Its size is a matter of `--depth` and `--examples`, its choices
of `--seed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pytest

from conformance.catalogue import rules
from conformance.drive.machines.cancellation import CANCELLATION
from conformance.drive.machines.confirms import CONFIRMS
from conformance.drive.machines.messages.life import LIFE
from conformance.drive.machines.messages.routes import ROUTES
from conformance.drive.machines.prefetch import PREFETCH
from conformance.drive.machines.protocol.content import CONTENT
from conformance.drive.machines.protocol.rights import RIGHTS
from conformance.drive.machines.protocol.wire import WIRE
from conformance.drive.machines.requeueing import REQUEUEING
from conformance.drive.machines.search import Machine
from conformance.drive.machines.settlement import SCHEDULERS, SETTLEMENT, Scheduler
from conformance.drive.machines.soak import Course
from conformance.drive.machines.soak.consumers import CONSUMERS
from conformance.drive.machines.soak.deliveries import DELIVERIES
from conformance.drive.machines.soak.lifetimes import LIFETIMES
from conformance.drive.machines.soak.messages import MESSAGES
from conformance.drive.machines.soak.mistakes import MISTAKES
from conformance.drive.machines.soak.publishing import PUBLISHING
from conformance.drive.machines.soak.settings import SETTINGS
from conformance.drive.machines.soak.topology import TOPOLOGY
from conformance.drive.machines.timeouts import TIMED_OUT
from conformance.drive.run.size import PARTS
from conformance.drive.scenes.marks import rule


class CampaignFixture(Protocol):
    """What the plugin's fixture of this name does."""

    def run(self, machine: Machine, scheduler: Scheduler) -> None: ...

    def revisit(self, part: int) -> None: ...

    def soak(self, courses: Sequence[Course]) -> None: ...


@rule(families=("TAG", "MODE", "ACK", "ERR", "RQ"))
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_settlement(campaign: CampaignFixture, scheduler: Scheduler) -> None:
    """Publish, take and settle in every way, one command at a time and many in one write."""
    campaign.run(SETTLEMENT, scheduler)


@rule(families=("CAN", "AUTO"), last=True)
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_cancellation(campaign: CampaignFixture, scheduler: Scheduler) -> None:
    """Consumers end in every way, under two clients of which one is notified, while queues go and come back."""
    campaign.run(CANCELLATION, scheduler)


@rule(families=("RQ", "AUTO"))
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_requeueing(campaign: CampaignFixture, scheduler: Scheduler) -> None:
    """Three connections take and return, and one of them may consume: some order explains what all see."""
    campaign.run(REQUEUEING, scheduler)


@rule(families=("CNF", "TX"))
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_confirms(campaign: CampaignFixture, scheduler: Scheduler) -> None:
    """Publishes that go somewhere, nowhere, and to full queues, in confirm mode, in transactions and in neither."""
    campaign.run(CONFIRMS, scheduler)


@rule(families=("QOS",))
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_prefetch(campaign: CampaignFixture, scheduler: Scheduler) -> None:
    """Limits of consumers and of channels, set, changed and removed while their slots are filled and freed."""
    campaign.run(PREFETCH, scheduler)


@rule(families=("CONTENT", "RETURN", "FRAME"))
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_content(campaign: CampaignFixture, scheduler: Scheduler) -> None:
    """Bodies, properties and headers of all kinds go in and come out, also returned and as dead letters."""
    campaign.run(CONTENT, scheduler)


@rule(families=("TTL", "DLX", "LEN", "PRIO", "SAC", "CPRIO", "DRT", "TX"), last=True)
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_life(campaign: CampaignFixture, scheduler: Scheduler) -> None:
    """What a message can meet, several things at once: times, limits, priorities, dead letters, and who may take it."""
    campaign.run(LIFE, scheduler)


@rule(families=("ROUTE", "BIND", "EXCH"), queue_types=("classic",), last=True)
def test_routes(campaign: CampaignFixture) -> None:
    """Exchanges that lead to queues and to each other, bound and unbound, and publishes that are aimed at them."""
    campaign.run(ROUTES, "lockstep")


@rule(families=("FRAME", "CONN", "CHAN"), queue_types=("classic",), last=True)
def test_wire(campaign: CampaignFixture) -> None:
    """Lawful and unlawful octets wherever a connection stands, each on one of its own, while another one goes on."""
    campaign.run(WIRE, "lockstep")


@rule(families=("AUTH",), queue_types=("classic",))
def test_rights(campaign: CampaignFixture) -> None:
    """Users whose rights change try every method on names that they may use or not."""
    campaign.run(RIGHTS, "lockstep")


@rule(families=("TMO",), queue_types=("quorum",))
@pytest.mark.parametrize("machine", TIMED_OUT, ids=lambda machine: machine.name)
def test_timeouts(campaign: CampaignFixture, machine: Machine) -> None:
    """Deliveries that stay out for too long, and what may happen to them then; in lockstep, for time is the subject."""
    campaign.run(machine, "lockstep")


@rule(families=tuple(rules.FAMILIES), depth="ci", last=True, parts=PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_revisits(campaign: CampaignFixture, part: int) -> None:
    """Every scene once more, where channels and queues have a past, and where the same is said in other forms."""
    campaign.revisit(part)


@rule(families=("TAG", "MODE", "ACK", "ERR", "RQ", "AUTO", "GET"), depth="ci")
def test_soak_deliveries(campaign: CampaignFixture) -> None:
    """Deliveries are settled and returned in every way, a thousand times in a row."""
    campaign.soak(DELIVERIES)


@rule(families=("QOS", "CAN", "CONSUME", "SAC"), depth="ci")
def test_soak_consumers(campaign: CampaignFixture) -> None:
    """Consumers come and go, and get messages under limits, a thousand times in a row."""
    campaign.soak(CONSUMERS)


@rule(families=("CNF", "TX", "RETURN", "DRT"), depth="ci", queue_types=("classic",))
def test_soak_publishing(campaign: CampaignFixture) -> None:
    """Confirms, returns, transactions and replies, a thousand times in a row."""
    campaign.soak(PUBLISHING)


@rule(families=("QUEUE", "EXCH", "BIND", "ROUTE", "CHAN", "NOWAIT"), depth="ci", queue_types=("classic",))
def test_soak_topology(campaign: CampaignFixture) -> None:
    """Queues, exchanges, bindings and channels are made and removed, a thousand times in a row."""
    campaign.soak(TOPOLOGY)


@rule(families=("TTL", "DLX", "LEN", "PRIO"), depth="ci")
def test_soak_messages(campaign: CampaignFixture) -> None:
    """Messages expire, are dropped, die and go by priority, a thousand times in a row."""
    campaign.soak(MESSAGES)


@rule(families=("ERR", "QUEUE", "EXCH", "GET", "FRAME", "CHAN"), depth="ci", queue_types=("classic",))
def test_soak_mistakes(campaign: CampaignFixture) -> None:
    """What the broker refuses is refused each time; it costs a channel or a connection, and nothing else."""
    campaign.soak(MISTAKES)


@rule(families=("QUEUE", "EXCH", "BIND", "CONSUME", "CONN"), depth="ci", queue_types=("classic",))
def test_soak_lifetimes(campaign: CampaignFixture) -> None:
    """What is deleted with its last consumer, binding or connection, a thousand times in a row."""
    campaign.soak(LIFETIMES)


@rule(families=("POLICY", "AUTH", "TTL", "TMO"), depth="ci")
def test_soak_settings(campaign: CampaignFixture) -> None:
    """Policies, rights and virtual hosts change, and time passes, hundreds of times; where the clock is ours."""
    campaign.soak(SETTINGS)
