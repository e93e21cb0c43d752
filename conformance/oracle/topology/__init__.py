"""Topology: exchanges, queues and bindings by name, where a publish goes, and what a method needs to be carried out.

State with one owner: `transitions` alone changes what `state` declares. Nothing here knows messages, or judges.
"""

from conformance.oracle.topology.explaining import Explained, explain
from conformance.oracle.topology.matching import Message
from conformance.oracle.topology.preconditions import Asked, Grant, Refusal, weigh
from conformance.oracle.topology.routing import MISSING, UNKNOWN, Route, route
from conformance.oracle.topology.state import Binding, Exchange, NamedQueue, Terms, Topology, TopologyChange
from conformance.oracle.topology.transitions import (
    TRANSITIONS,
    answered,
    apply,
    forget_all,
    forget_queue,
    granted,
    in_full,
    let_pass,
    missed,
    name_queue,
    not_found,
    spare,
)

__all__ = [
    "MISSING",
    "TRANSITIONS",
    "UNKNOWN",
    "Asked",
    "Binding",
    "Exchange",
    "Explained",
    "Grant",
    "Message",
    "NamedQueue",
    "Refusal",
    "Route",
    "Terms",
    "Topology",
    "TopologyChange",
    "answered",
    "apply",
    "explain",
    "forget_all",
    "forget_queue",
    "granted",
    "in_full",
    "let_pass",
    "missed",
    "name_queue",
    "not_found",
    "route",
    "spare",
    "weigh",
]
