"""FRAME: octets that are no lawful frame, and frames where they may not be. They cost the connection, and it alone.

`model.octets` says what is wrong with what the client sent, and which codes are right; of a method that is lawful but
for its channel `model.opening` does. The close may name any method, or none: what was sent is none.

    - octets c 0100010000000400140028CD     a frame that ends with CD
    c:0 < kicked 501 0 0 frame end          as it should be
"""

from __future__ import annotations

from codec import methods
from conformance.history.events import METHOD
from conformance.oracle.model.connections.handshaking import MISTAKES
from conformance.oracle.model.connections.octets import END, FLAWS
from conformance.oracle.model.connections.opening import ELSEWHERE
from conformance.oracle.model.consumers.delivering import request_of
from conformance.oracle.model.facts import ConnectionFailed, Unrequested
from conformance.oracle.monitors import silence
from conformance.oracle.monitors.deliveries import hard_errors
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import BY_RULE, judges

RULES = (*(flaw.rule for flaw in FLAWS), ELSEWHERE)


def _enter_judges() -> None:
    """Others see it where a mistake in octets costs only the channel, or nothing."""
    for rule in RULES:
        BY_RULE.setdefault(rule, []).extend((hard_errors.channel_instead, silence.hard_mistake_let_pass))


_enter_judges()


@judges(ConnectionFailed, *RULES)
def ended(fact: ConnectionFailed, notes: Notes) -> None:
    """The connection is closed, with a code that fits; or ends without a word, where the texts say so."""
    error, event = fact.error, fact.event
    if error is None or not error.octets or error.rule in MISTAKES:
        return
    if event.kind != METHOD:
        if error.silent:
            notes.exercise(error.rule)
        elif event.args.get("cause") != "reset":  # that may have swallowed what the broker said
            seen = "the connection ended without connection.close"
            notes.find(error.rule, event, f"connection.close {error.all_codes} for {error.what}", seen, error.seq)
        return
    if event.method == "connection.close-ok":
        allowed = f"connection.close {error.all_codes} for {error.what}"
        notes.find(error.rule, event, allowed, "connection.close-ok, which its client has not asked for", error.seq)
        return
    notes.exercise(error.rule)
    if error.code and int(event.args.get("reply_code", 0)) not in error.codes:
        allowed = f"connection.close {error.all_codes} for {error.what}"
        notes.find(error.rule, event, allowed, closing(event.args), error.seq)


@judges(Unrequested, END.rule)
def carried_out(fact: Unrequested, notes: Notes) -> None:
    """What a frame with a wrong end asks for is answered: the octet was looked at too late, or not at all. Whoever has
    asked for the same before, and wanted no answer, may be answered that."""
    channel, event = fact.channel, fact.event
    error = channel.connection.error
    if error is None or error.rule != END.rule or channel.settlement_error or channel.method_error:
        return
    asked = methods.BY_NAME.get(request_of(event.method))
    if asked is None or (asked.CLASS_ID, asked.METHOD_ID) in channel.sent or channel.connection.overheard:
        return
    allowed = f"connection.close {error.all_codes} for {error.what}, and nothing of what is in it"
    notes.find(error.rule, event, allowed, f"{event.method}, which answers what is in it", error.seq)
