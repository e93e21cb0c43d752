"""What the commands of the life machine act upon: three queues with drawn arguments, and what their features allow.

Channel 0 is in confirm mode, and alone publishes unless the history is about several publishers: what a queue holds is
certain only then, and mostly all are on the connection that has declared it. Where a feature does not exist, or does
not go with the type of the queues, the history does without.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from conformance.catalogue import deviations
from conformance.catalogue.profiles import CIRCLES
from conformance.drive.channel import Channel
from conformance.drive.machines.messages.lots import (
    COMMITS,
    EXPIRATION,
    FANOUT,
    KEY,
    KEYED,
    OTHER_KEY,
    PUBLISHERS,
    REFUSING,
    TTL,
    UNREST,
)
from conformance.drive.machines.shape import Lot, Shape
from conformance.drive.machines.world import World
from conformance.drive.stage import Stage
from conformance.history.events import TO_CLIENT, Event

ADDRESSES = "amq.rabbitmq.reply-to"
CLASSIC_ALONE = frozenset({"x-max-priority", "x-max-length-bytes", "x-expires"})
"""Quorum queues have no such priorities, and need not count octets or look for their end as classic ones do."""
QUORUM_ALONE = frozenset({"x-delivery-limit"})
DEAD, MOST, MOST_OCTETS = "x-dead-letter-exchange", "x-max-length", "x-max-length-bytes"
COURSES, FEW_COURSES = 20, 8
RULINGS, FEW_RULINGS = 12, 3
"""They take long: there are fewer where the clock is not ours."""
REAL, REAL_IN_ALL = 200, 1000
"""So many milliseconds at most pass there at a time, and in a whole history."""
ROOM = 12
"""At most so many small messages are meant to fill a queue."""
AVOIDED = {"single-active-cancelled": "x-single-active-consumer", "expires-among-priorities": "x-max-priority"}
"""Circumstances in which some versions are known to fail, and what brings them about. Directed checks show it; a
machine that meets it all the time sees nothing else."""


class Lifetimes(World):
    """One history of the life machine."""

    def __init__(self, stage: Stage, shape: Shape) -> None:
        self.traits = shape.lot.traits
        self.ours = stage.around.advance is not None
        """Is the clock ours?"""
        self._left = REAL_IN_ALL
        self.courses = COURSES if self.ours else FEW_COURSES
        """So many may still be taken."""
        self.rulings = RULINGS if self.ours else FEW_RULINGS
        """So many times a policy may still change."""
        self._restarted = False
        self._looks = 0
        self.policies: dict[tuple[str, int, bool], str] = {}
        """Their names, by queue, rank, and whether they are an operator's."""
        self.used: set[str] = set()
        """Queues that a course has been about."""
        self.answers: list[str] = []
        """Addresses that requests have carried, the latest last."""
        self._arguments: dict[str, Mapping[str, Any]] = {}
        self._lined: list[str] = []
        super().__init__(stage, replace(shape, used=frozenset(), behind=False))
        self._queues = self._lined
        stage.recorder.subscribe(self._listen)

    # -- queues

    def _declared(self) -> str:
        """All three, the heirs first."""
        return self._line(self.shape.lot) if self.shape.lot.terms else super()._declared()

    def move_on(self, lot: Lot) -> None:
        """From now on the history is about queues with these arguments, if nothing is to come into the others."""
        if not any(one.view is not None and one.view.publishing for one in self.channels):
            self.traits = lot.traits | (self.traits & set(UNREST))
            self._line(lot)
            self._queues = self._lined

    def _line(self, lot: Lot) -> str:
        """Three queues, of which this is the first."""
        stage = self.stage
        self._lined = [stage.payloads.long(stage.recorder.private_name()) for _ in lot.terms]
        for name, terms in reversed([*zip(self._lined, lot.terms, strict=True)]):
            self._arguments[name] = self._straight(name, self._offered(dict(terms)))
            stage.queue(self._arguments[name], name=name)
        if any(self._arguments[name].get(DEAD) for name in self._lined):
            self._graveyard()
        return self._lined[0]

    def _offered(self, terms: dict[str, Any]) -> dict[str, Any]:
        """What this broker knows, for queues of this type."""
        stage = self.stage
        other = CLASSIC_ALONE if stage.queue_type == "quorum" else QUORUM_ALONE
        lasting = () if stage.profile.queue(stage.queue_type).messages_expire else ("x-message-ttl",)
        found = {name: value for name, value in terms.items() if name not in other and name not in lasting}
        if stage.queue_type == "quorum":
            found.pop("x-overflow", None)
        for name in self._avoided():
            found.pop(name, None)
        heir = found.pop(KEY, None)
        if heir in (FANOUT, KEYED):
            found[DEAD] = self._names_graveyard()
            found |= {KEY: OTHER_KEY} if heir == KEYED else {}
        elif heir is not None:
            found[KEY] = self._lined[heir]
        return {name: value for name, value in found.items() if stage.offers(name)}

    def _straight(self, name: str, terms: dict[str, Any]) -> dict[str, Any]:
        """Without an heir from which dead letters would come back to this queue, if the broker does not bear that."""
        heir, met = terms.get(KEY), {name}
        while heir in self._lined and heir not in met:
            met.add(heir)
            heir = self._arguments.get(heir, {}).get(KEY)
        circles = heir == name and CIRCLES in self.stage.profile.spares
        return {one: value for one, value in terms.items() if one not in (DEAD, KEY)} if circles else terms

    def _avoided(self) -> Iterator[str]:
        circumstances = self._circumstances()
        harmless = {"expires-among-priorities"} if self.traits.isdisjoint((TTL, EXPIRATION)) else set()
        return (argument for where, argument in AVOIDED.items() if where in circumstances - harmless)

    def _circumstances(self) -> set[str | None]:
        """Those in which this broker is known to fail."""
        known = self.stage.profile.deviations
        return {one.where for one in deviations.load(known)} if known in deviations.NAMES else set()

    def priority(self, wanted: int) -> int:
        """This one, or the highest that every queue has where the broker does not bear a higher one."""
        if "priority-above-maximum" not in self._circumstances():
            return wanted
        return min(wanted, *(int(one.get("x-max-priority", wanted)) for one in self._arguments.values()))

    @property
    def returns_refused(self) -> bool:
        """Does the broker return what a full queue refuses?"""
        return REFUSING in self.traits and "mandatory-to-the-full" in self._circumstances()

    def heir(self, index: int) -> int | None:
        """Where the dead letters of this queue come to, by its number."""
        arguments = self._arguments.get(self.queue(index), {})
        if arguments.get(DEAD):
            return 1
        return self._lined.index(arguments[KEY]) if arguments.get(KEY) in self._lined else None

    def line(self, index: int) -> list[int]:
        """The queue and all that get its dead letters, each once."""
        found, here = [index % len(self._queues)], self.heir(index)
        while here is not None and here not in found:
            found.append(here)
            here = self.heir(here)
        return found

    def room(self, queue: str, sizes: Sequence[int]) -> int | None:
        """How many messages of these sizes, in turn, it has room for; None where it has no limit."""
        arguments = self._arguments.get(queue, {})
        most, octets, mean = arguments.get(MOST), arguments.get(MOST_OCTETS), sum(sizes) / len(sizes)
        limits = [] if most is None else [int(most)]
        if octets is not None:
            limits.append(min(ROOM, int(octets / mean)) if mean else ROOM)
        return min(limits, default=None)

    def spend(self, milliseconds: int) -> int:
        """How much of this may pass."""
        if self.ours:
            return milliseconds
        spent = min(milliseconds, REAL, self._left)
        self._left -= spent
        return spent

    def may_restart(self) -> bool:
        """Once in a history, if that can be done; and seldom in a whole run, where it takes long."""
        around = self.stage.around
        if around.restart is None or self._restarted or self.traits & set(UNREST) or not (self.ours or around.restarts):
            return False
        self._restarted = True
        around.restarts -= not self.ours
        return True

    def count(self, channel: int, index: int) -> None:
        """Asks how many messages are in this queue: looks for it, or declares it again as it was, in turn."""
        name, stage = self.queue(index), self.stage
        self._looks += 1
        if self._looks % 2 or name not in self._arguments:
            self.channel(channel).declare(name, passive=True)
        else:
            typed = {"x-queue-type": stage.queue_type} if stage.profile.typed else {}
            self.channel(channel).declare(name, arguments={**typed, **self._arguments[name]})
        stage.quiesce()

    def _names_graveyard(self) -> str:
        return f"{self._lined[1]}.graves"

    def _graveyard(self) -> None:
        """An exchange that leads to the second queue."""
        name, channel = self._names_graveyard(), self.stage.backstage()
        self.stage.belongings.exchanges[name] = None
        channel.declare_exchange(name)
        channel.bind(self._lined[1], name)
        self.stage.quiesce()

    def replace(self, channel: Channel, index: int) -> None:
        """Deletes a queue that nobody uses, and declares it anew."""
        name = self.queue(index)
        views = [one.view for one in self.channels if one.view is not None]
        consumed = any(one.queue == name for view in views for one in view.consumers.values())
        held = any(one.queue == name for view in views for one in view.unacked.values())
        if not (consumed or held) and name in self._arguments and not any(view.publishing for view in views):
            channel.delete(name)
            self.stage.quiesce()
            self.stage.queue(self._arguments[name], name=name)

    def declare_again(self, index: int) -> None:
        """Just as it was: it is there."""
        name = self.queue(index)
        if name in self._arguments:
            self.stage.queue(self._arguments[name], name=name)

    # -- channels

    def publisher(self, index: int) -> Channel:
        """The channel that publishes."""
        return self.channel(index if PUBLISHERS in self.traits else 0)

    def _reconnect(self) -> None:
        super()._reconnect()
        self.select()
        self.stage.quiesce()

    def select(self) -> None:
        if COMMITS in self.traits and self.stage.offers("tx.select"):
            self.channels[0].tx_select()
            self.stage.quiesce()
        else:
            super().select()

    # -- replies

    def asks(self, channel: Channel) -> bool:
        """Does it wait for replies?"""
        view = channel.view
        waits = view is not None and any(
            one.queue == ADDRESSES and one.state == "live" for one in view.consumers.values()
        )
        return waits and channel.state == "open"

    def _listen(self, event: Event) -> None:
        if event.direction == TO_CLIENT and f'"{ADDRESSES}.' in event.arguments:
            found = json.loads(event.arguments).get("properties", {}).get("reply_to")
            if isinstance(found, str) and found.startswith(f"{ADDRESSES}."):
                self.answers.append(found)
