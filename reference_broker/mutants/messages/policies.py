"""Policies that hold where they should not, or do not hold, or say something else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from reference_broker.core.parts import Parts
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Exchange
from reference_broker.core.settings import Policy, kind_of
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, memory, replaces

Thing = Queue | Exchange
Definition = Mapping[str, Any]
DEFINITION = "vhost.definition_of"
ISSUES = "https://github.com/{}/issues/{}"


def highest(policies: Iterable[Policy]) -> Definition:
    found = max(policies, key=lambda one: one.priority, default=None)
    return found.definition if found is not None else {}


def users(vhost: VirtualHost, thing: Thing, fits: Callable[[Policy], bool] | None = None) -> list[Policy]:
    """The policies of users that fit, the oldest first."""
    return [
        one for one in vhost.settings.policies.values() if (fits(one) if fits else one.fits(kind_of(thing), thing.name))
    ]


def without(vhost: VirtualHost, thing: Thing, *names: str) -> Definition:
    return {name: value for name, value in vhost.settings.definition_of(thing).items() if name not in names}


@replaces(DEFINITION, "policies.unheeded", "policies set nothing", "POLICY-001", "POLICY-002")
def unheeded(self: VirtualHost, thing: Thing) -> Definition:
    return {}


@replaces("vhost.heed_policies", "policies.new-only", "policies hold for what is declared later", "POLICY-001")
def new_only(self: VirtualHost) -> None:
    pass


@replaces("vhost.add_queue", "policies.there-only", "policies hold for queues that are there", "POLICY-002")
def there_only(self: VirtualHost, *arguments: Any) -> Queue:
    queue = VirtualHost.add_queue(self, *arguments)
    queue.heed({})
    return queue


@replaces(DEFINITION, "policies.from-the-beginning", "patterns match from the beginning of a name", "POLICY-003")
def from_the_beginning(self: VirtualHost, thing: Thing) -> Definition:
    return highest(
        one
        for one in users(self, thing)
        if replace(one, pattern=f"^(?:{one.pattern})").fits(kind_of(thing), thing.name)
    )


@replaces(DEFINITION, "policies.whole-names", "patterns match whole names", "POLICY-003")
def whole_names(self: VirtualHost, thing: Thing) -> Definition:
    whole = (
        one
        for one in users(self, thing)
        if replace(one, pattern=f"^(?:{one.pattern})$").fits(kind_of(thing), thing.name)
    )
    return highest(whole)


@replaces(DEFINITION, "policies.all-names", "a policy holds for all names", "POLICY-003")
def all_names(self: VirtualHost, thing: Thing) -> Definition:
    return highest(users(self, thing, lambda one: replace(one, pattern="").fits(kind_of(thing), thing.name)))


@replaces(DEFINITION, "policies.literal", "a pattern is taken for a name, or a part of one", "POLICY-003", "POLICY-001")
def literal(self: VirtualHost, thing: Thing) -> Definition:
    return highest(users(self, thing, lambda one: one.pattern in thing.name))


@replaces(DEFINITION, "policies.lowest", "the policy with the lowest priority holds", "POLICY-004")
def lowest(self: VirtualHost, thing: Thing) -> Definition:
    found = min(users(self, thing), key=lambda one: one.priority, default=None)
    return found.definition if found is not None else {}


@replaces(DEFINITION, "policies.newest", "the policy that was set last holds", "POLICY-004")
def newest(self: VirtualHost, thing: Thing) -> Definition:
    found = users(self, thing)
    return found[-1].definition if found else {}


@replaces(DEFINITION, "policies.together", "all policies that fit hold together", "POLICY-004")
def together(self: VirtualHost, thing: Thing) -> Definition:
    found: dict[str, Any] = {}
    for one in sorted(users(self, thing), key=lambda one: one.priority):
        found |= one.definition
    return found


@replaces(DEFINITION, "policies.any-kind", "what a policy is for is passed over", "POLICY-005")
def any_kind(self: VirtualHost, thing: Thing) -> Definition:
    return highest(users(self, thing, lambda one: replace(one, apply_to="all").fits(kind_of(thing), thing.name)))


@changes("policies.everywhere", "a policy holds in every virtual host", "POLICY-006")
def everywhere(parts: Parts) -> None:
    known: dict[str, Policy] = {}

    def set_policy(self: VirtualHost, policy: Policy, operator: bool = False) -> None:
        known[policy.name] = policy
        for vhost in memory(parts, "vhosts", dict).values():
            vhost.heed_policies()
        VirtualHost.set_policy(self, policy, operator)

    def clear_policy(self: VirtualHost, name: str, operator: bool = False) -> None:
        known.pop(name, None)
        VirtualHost.clear_policy(self, name, operator)

    def definition_of(self: VirtualHost, thing: Thing) -> Definition:
        memory(parts, "vhosts", dict)[self.name] = self
        return highest(one for one in known.values() if one.fits(kind_of(thing), thing.name))

    parts.override("vhost", set_policy=set_policy, clear_policy=clear_policy, definition_of=definition_of)


@replaces("queue.heed", "policies.argument-wins", "a limit among the arguments precedes that of a policy", "POLICY-007")
def argument_wins(self: Queue, definition: Definition) -> None:
    Queue.heed(self, {name: value for name, value in definition.items() if self.effective(f"x-{name}") is None})


LIMITS = {"max-length": "max_length", "message-ttl": "message_ttl"}


@replaces("queue.heed", "policies.policy-wins", "a limit by policy precedes that among the arguments", "POLICY-007")
def policy_wins(self: Queue, definition: Definition) -> None:
    own = self.declared
    passed: Mapping[str, Any] = {field: None for name, field in LIMITS.items() if name in definition}
    self.declared = replace(own, **passed)
    Queue.heed(self, definition)
    self.declared = own


@replaces("queue.heed", "policies.larger", "of two limits the larger one holds", "POLICY-007")
def larger(self: Queue, definition: Definition) -> None:
    own = self.declared
    more = {name: value for name, value in definition.items() if name not in LIMITS or value > limit(own, name)}
    passed: Mapping[str, Any] = {field: None for name, field in LIMITS.items() if name in more}
    self.declared = replace(own, **passed)
    Queue.heed(self, more)
    self.declared = own


def limit(own: Any, name: str) -> float:
    """What the arguments say, in messages or milliseconds; less than anything where they say nothing."""
    found = getattr(own, LIMITS[name])
    return -1 if found is None else found * (1000 if name == "message-ttl" else 1)


@replaces("vhost.heed_policies", "policies.untrimmed", "what waits is left until the next publish", "POLICY-008")
def untrimmed(self: VirtualHost) -> None:
    for queue in self.queues.values():
        self.heed_policy(queue)


@replaces("vhost.set_policy", "policies.first-definition", "a policy that is there is not changed", "POLICY-008")
def first_definition(self: VirtualHost, policy: Policy, operator: bool = False) -> None:
    held = self.policies(operator).get(policy.name)
    VirtualHost.set_policy(self, policy, operator)
    if held is not None:
        for queue in self.queues.values():
            queue.heed(held.definition if held.fits(kind_of(queue), queue.name) else self.definition_of(queue))


@replaces("vhost.clear_policy", "policies.still-there", "a policy that was removed still holds", "POLICY-009")
def still_there(self: VirtualHost, name: str, operator: bool = False) -> None:
    del self.policies(operator)[name]


@replaces(DEFINITION, "policies.no-operator", "operator policies are passed over", "POLICY-010")
def no_operator(self: VirtualHost, thing: Thing) -> Definition:
    return highest(users(self, thing))


def operators(vhost: VirtualHost, thing: Thing) -> Definition:
    found = vhost.settings.operator_policy_of(thing)
    return found.definition if found is not None else {}


@replaces(DEFINITION, "policies.operator-wins", "an operator's limit holds, be it the larger one", "POLICY-010")
def operator_wins(self: VirtualHost, thing: Thing) -> Definition:
    return {**highest(users(self, thing)), **operators(self, thing)}


@replaces(DEFINITION, "policies.user-wins", "a user's limit holds, whatever operators set", "POLICY-010")
def user_wins(self: VirtualHost, thing: Thing) -> Definition:
    return {**operators(self, thing), **highest(users(self, thing))}


@replaces(DEFINITION, "policies.no-ttl", "message-ttl in a policy is passed over", "POLICY-011", "POLICY-007")
def no_ttl(self: VirtualHost, thing: Thing) -> Definition:
    return without(self, thing, "message-ttl")


@replaces(DEFINITION, "policies.no-dead-letters", "dead-letter-exchange in a policy is passed over", "POLICY-012")
def no_dead_letters(self: VirtualHost, thing: Thing) -> Definition:
    return without(self, thing, "dead-letter-exchange")


@replaces(DEFINITION, "policies.no-dead-letter-key", "dead letters keep their routing key", "POLICY-012")
def no_dead_letter_key(self: VirtualHost, thing: Thing) -> Definition:
    return without(self, thing, "dead-letter-routing-key")


@replaces(DEFINITION, "policies.no-alternate", "alternate-exchange in a policy is passed over", "POLICY-013")
def no_alternate(self: VirtualHost, thing: Thing) -> Definition:
    return without(self, thing, "alternate-exchange")


DEAD = {"dead-letter-exchange": "dead_letter_exchange", "dead-letter-routing-key": "dead_letter_routing_key"}


@replaces("queue.heed", "policies.dead-letters-win", "a policy says where dead letters go", "POLICY-014")
def dead_letters_win(self: Queue, definition: Definition) -> None:
    Queue.heed(self, definition)
    said: Mapping[str, Any] = {field: definition[name] for name, field in DEAD.items() if name in definition}
    self.settings = replace(self.settings, **said)


@replaces(
    "vhost.heed_policies", "policies.alternate-wins", "a policy says which exchange is the alternate", "POLICY-014"
)
def alternate_wins(self: VirtualHost) -> None:
    VirtualHost.heed_policies(self)
    for exchange in self.exchanges.values():
        exchange.alternate = self.definition_of(exchange).get("alternate-exchange", exchange.alternate)


@replaces("queue.heed", "policies.octets-stay", "a limit of octets stays when another policy takes over", "POLICY-004")
def octets_stay(self: Queue, definition: Mapping[str, Any]) -> None:
    most = self.settings.max_octets
    Queue.heed(self, definition)
    if definition and self.settings.max_octets is None and most is not None:
        self.settings = replace(self.settings, max_octets=most)
        self.limited = True


# -- queues that go


@replaces(DEFINITION, "policies.no-expires", "expires in a policy is passed over", "POLICY-015", "POLICY-016")
def no_expires(self: VirtualHost, thing: Thing) -> Definition:
    return without(self, thing, "expires")


@replaces("vhost.watch_expiry", "policies.no-use-counts", "expires counts from the policy, for all uses", "POLICY-015")
def no_use_counts(self: VirtualHost, queue: Queue) -> None:
    if queue.declared.expires is None and not queue.consumers:
        queue.used_at = memory(queue, "watched", lambda: self.clock.now)
    VirtualHost.watch_expiry(self, queue)


@replaces("queue.heed", "policies.argument-lease", "x-expires precedes a policy's expires", "POLICY-016")
def argument_lease(self: Queue, definition: Definition) -> None:
    Queue.heed(self, definition)
    self.settings = replace(self.settings, expires=self.declared.expires or self.settings.expires)


@replaces("queue.heed", "policies.policy-lease", "a policy's expires precedes x-expires", "POLICY-016")
def policy_lease(self: Queue, definition: Definition) -> None:
    Queue.heed(self, definition)
    if "expires" in definition:
        self.settings = replace(self.settings, expires=definition["expires"] / 1000)


@replaces("queue.heed", "policies.longer-lease", "of two times of a queue the larger one holds", "POLICY-016")
def longer_lease(self: Queue, definition: Definition) -> None:
    Queue.heed(self, definition)
    if self.declared.expires is not None and "expires" in definition:
        self.settings = replace(self.settings, expires=max(self.declared.expires, definition["expires"] / 1000))


@replaces("queue.heed", "policies.first-lease", "the first time of a queue holds for ever", "POLICY-017")
def first_lease(self: Queue, definition: Definition) -> None:
    Queue.heed(self, definition)
    if self.settings.expires is not None:
        first = memory(self, "lease", lambda: self.settings.expires)
        self.settings = replace(self.settings, expires=first)


@replaces("queue.heed", "policies.lease-never-removed", "expires holds when its policy is gone", "POLICY-017")
def lease_never_removed(self: Queue, definition: Definition) -> None:
    before = self.settings.expires
    Queue.heed(self, definition)
    if self.settings.expires is None:
        self.settings = replace(self.settings, expires=before)


@replaces(
    "queue.heed",
    "policies.own-lease-lost",
    "a queue with a time of its own goes by the policy's when that is gone",
    "POLICY-017",
)
def own_lease_lost(self: Queue, definition: Definition) -> None:
    before = self.settings.expires
    Queue.heed(self, definition)
    if None not in (before, self.declared.expires):
        self.settings = replace(self.settings, expires=min(before or 0.0, self.settings.expires or 0.0))


@replaces("vhost.heed_policies", "policies.shorter-lease-later", "a shorter time waits for the longer", "POLICY-017")
def shorter_lease_later(self: VirtualHost) -> None:
    for exchange in self.exchanges.values():
        exchange.heed(self.definition_of(exchange))
    for queue in list(self.queues.values()):
        before = queue.settings
        self.heed_policy(queue)
        if queue.settings != before:
            queue.settle_down()
            if before.expires is None:
                self.watch_expiry(queue)


# -- queues that are full


@replaces(DEFINITION, "policies.no-overflow", "overflow in a policy is passed over", "POLICY-018", "POLICY-019")
def no_overflow(self: VirtualHost, thing: Thing) -> Definition:
    return without(self, thing, "overflow")


@replaces("queue.heed", "policies.first-overflow", "the first overflow of a queue holds for ever", "POLICY-019")
def first_overflow(self: Queue, definition: Definition) -> None:
    Queue.heed(self, definition)
    if self.settings.overflow is not None:
        first = memory(self, "overflow", lambda: self.settings.overflow)
        self.settings = replace(self.settings, overflow=first)


@replaces("queue.heed", "policies.refuses-for-ever", "a queue that refuses does so for ever", "POLICY-019")
def refuses_for_ever(self: Queue, definition: Definition) -> None:
    before = self.settings.overflow
    Queue.heed(self, definition)
    if before == "reject-publish":
        self.settings = replace(self.settings, overflow=before)


@replaces(
    "queue.heed",
    "policies.overflow-stays",
    "the overflow of a policy that was removed holds on",
    "POLICY-019",
    field=ISSUES.format("rabbitmq/rabbitmq-server", 1980),
)
def overflow_stays(self: Queue, definition: Definition) -> None:
    before = self.settings.overflow
    Queue.heed(self, definition)
    if self.settings.overflow is None:
        self.settings = replace(self.settings, overflow=before)


@replaces("queue.heed", "policies.overflow-wins", "a policy's overflow precedes that of the arguments", "POLICY-020")
def overflow_wins(self: Queue, definition: Definition) -> None:
    Queue.heed(self, definition)
    self.settings = replace(self.settings, overflow=definition.get("overflow", self.settings.overflow))


@replaces("queue.heed", "policies.either-refuses", "a queue refuses if argument or policy says so", "POLICY-020")
def either_refuses(self: Queue, definition: Definition) -> None:
    Queue.heed(self, definition)
    if "reject-publish" in (self.declared.overflow, definition.get("overflow")):
        self.settings = replace(self.settings, overflow="reject-publish")


# -- returns


@replaces(DEFINITION, "policies.no-delivery-limit", "delivery-limit in a policy is passed over", "POLICY-021")
def no_delivery_limit(self: VirtualHost, thing: Thing) -> Definition:
    return without(self, thing, "delivery-limit")


@replaces(
    "queue.heed",
    "policies.first-delivery-limit",
    "the first delivery limit of a queue holds for ever",
    "POLICY-021",
    field="https://github.com/rabbitmq/rabbitmq-server/pull/16035",
)
def first_delivery_limit(self: Queue, definition: Definition) -> None:
    Queue.heed(self, definition)
    if self.quorum is not None:
        first = memory(self, "returns", lambda: self.settings.delivery_limit)
        self.settings = replace(self.settings, delivery_limit=first)
        self.quorum.set_limit(first)


@replaces(
    "vhost.definition_of",
    "policies.not-for-one-type",
    "policies for classic queues do nothing",
    "POLICY-001",
    "POLICY-005",
)
def not_for_one_type(self: VirtualHost, thing: Queue | Exchange) -> Mapping[str, Any]:
    users = self.settings.policies
    self.settings.policies = {name: one for name, one in users.items() if one.apply_to != "classic_queues"}
    try:
        return VirtualHost.definition_of(self, thing)
    finally:
        self.settings.policies = users
