"""Mutants as traits: what a mutant names, it breaks. Here is what else follows from the same decision.

A mutant starts from the honest part, so that of two that replace the same method the later undoes the earlier: they
never meet, and neither do two of one family, whose truths would have to be told together. Listed are mutants that show
in a short conversation; those that need a size or a long run are for the campaign of mutants.

`MAY` names rules whose own words the same decision contradicts as well, or contradicts at times: a message that is
lost, or comes again, speaks against RQ-011; an error code is named by each rule that asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_broker.core.parts import HANDLERS, Parts
from reference_broker.mutants import MUTANTS
from reference_broker.mutants.kinds import Mutant
from reference_broker.personalities.kinds import Trait, Truth, enter, patterns

UNKNOWN_TAG = "ERR-001 ERR-003 ACK-009 ACK-010 ACK-011 ACK-014 MODE-006 TX-001 TAG-007 TAG-009 TMO-016"
"""Rules that say what settling an unknown tag brings, each for tags of its own kind."""
LOST = "RQ-011 AUTO-010"
QUORUM_LINE = "RQ-003 AUTO-004 AUTO-013 SAC-006 PRIO-005"
"""RQ-003 asks for the order of return where the queue is a quorum queue, whose line is the same decision; AUTO-004 says
that an error returns deliveries as a close does, and AUTO-001 that this is in the order of RQ-001 and RQ-003; SAC-006
says that for the next single active consumer, and PRIO-005 where messages have priorities."""
INTERNAL = "ERR-012"
"""An end with 541 for lawful use. Where another rule speaks about that close, ERR-012 leaves it to that rule."""

MAY: Mapping[str, str] = {
    # tags
    "tags.start-at-zero": "TAG-006 TAG-007 ERR-007 ACK-009",
    "tags.counter-survives-reopen": "TAG-001 ERR-007",
    "tags.gap-after-auto-ack": "",
    "tags.old-tags-stay-known": "RQ-014 RQ-011 MODE-006 TX-001",
    "tags.read-as-signed": "",
    "tags.large-is-syntax-error": "ERR-002 ERR-004",
    # modes
    "mode.auto-ack-requeued-at-end": "RQ-011 MODE-003",
    "mode.ack-undone-at-end": "RQ-011 AUTO-0* ACK-0* CNF-027 MODE-003 TX-002",
    "mode.discard-requeues": "RQ-011 ACK-0* AUTO-006",
    "mode.auto-ack-settleable": "MODE-003",
    # settlements
    "settle.multiple-skips-gets": "ACK-002 ACK-005 ACK-006 ACK-011 ACK-018 ERR-001 MODE-005",
    "settle.crosses-channels": "ACK-006 ACK-007 ACK-008 ACK-011 ERR-003 RQ-011 MODE-001",
    "settle.zero-is-unknown": "ACK-008 ACK-011 ACK-014",
    # what is settled altogether is settled in several rules, and frees slots in others
    "settle.zero-settles-nothing": "ACK-008 ACK-011 ACK-014 ACK-018 RQ-011 QOS-010 QOS-012 QOS-019 MODE-004 CNF-027",
    "settle.zero-on-empty-refused": "ACK-006 ACK-011 ACK-014",
    "settle.nack-zero-on-empty-refused": "ACK-006 ACK-011",
    "settle.zero-single-ignored": "ERR-002",
    "settle.nack-ignores-multiple": "ACK-003 ACK-006 ACK-008 ACK-010 ACK-018 MODE-005 RQ-002 RQ-011 QOS-012 QOS-013 "
    "ERR-001 ERR-005",
    "settle.reject-never-requeues": "RQ-0* ACK-019 QOS-018 AUTO-010",
    "settle.reject-always-requeues": "RQ-011 RQ-012 RQ-013 ACK-019",
    "settle.stale-multiple-accepted": "ERR-001 ERR-002 ERR-003 ERR-005 ACK-011 TAG-009 TX-001",
    "settle.multiple-refuses-gaps": "ACK-002 ACK-011 QOS-012 QOS-019",
    "settle.answers-ack": "CNF-0* TAG-002 TAG-010",
    "settle.cancel-requeues": "MODE-001 RQ-011 QOS-019 QOS-020 ACK-001",
    "settle.deleted-queue-crashes": f"{INTERNAL} CAN-012",
    # errors
    # accepts every tag up to the last: that an old one, or an automatic one, is unknown is said by others as well
    "errors.double-ack-accepted": "ACK-010 TX-001 TMO-016 TAG-008 MODE-006 RQ-014",
    "errors.unknown-tag-is-404": UNKNOWN_TAG,
    "errors.unknown-tag-is-hard": f"{UNKNOWN_TAG} AUTO-004 ERR-005 ERR-006 ERR-007 ERR-008 ERR-011",
    "errors.names-no-method": "CAN-018 QOS-023 CNF-019 CHAN-001",
    "errors.serves-publishes-after-close": "RQ-011 CNF-019",
    "errors.answers-after-close": "ERR-011",
    "errors.crossing-close-unanswered": "",
    # a heartbeat may come on one that is not open
    "errors.unopened-ignored": "FRAME-009",
    "errors.unopened-is-soft": "FRAME-009",
    "errors.reopen-keeps-prefetch": "QOS-028",
    "errors.not-implemented-is-soft": "QOS-023 QOS-025",
    "errors.consumer-tag-reusable": "CAN-018",
    # the order of what returns, and whether it does
    "requeue.at-tail": f"{QUORUM_LINE} RQ-002 RQ-005 RQ-014 AUTO-001 ERR-005",
    "requeue.at-head": f"{QUORUM_LINE} RQ-005 RQ-014 AUTO-001 ERR-005",
    "requeue.batch-reversed": f"{QUORUM_LINE} RQ-005 RQ-014 AUTO-001 ERR-005",
    "requeue.flag-never": "AUTO-001 AUTO-012 RQ-014 ERR-005 TMO-006",
    "requeue.recover-does-nothing": "RQ-002 RQ-008 RQ-011 RQ-015 TAG-008 QOS-018 QOS-019",
    "requeue.recover-skips-gets": "",
    "returning.waits-for-publish": "AUTO-012 QOS-018 QOS-002 RQ-014",
    # windows
    "prefetch.one-too-many": "QOS-0*",
    "prefetch.zero-is-one": "QOS-002 QOS-004 QOS-022 QOS-028",
    "prefetch.running-consumers-follow": "QOS-001 QOS-003 QOS-005",
    "prefetch.consumer-limit-clears": "QOS-006 QOS-007",
    "prefetch.size-accepted": "ERR-009",
    "prefetch.get-obeys": "",
    "prefetch.same-count-unanswered": "",
    "slots.return-frees-nothing": "RQ-014 QOS-002 QOS-010 QOS-012 QOS-019 RQ-007 RQ-015",
    "slots.one-slot-per-frame": "QOS-005 QOS-013 QOS-019",
    "slots.slots-in-order": "RQ-007 QOS-012 QOS-013 QOS-018 QOS-019",
    # notices and cancels
    "cancel.notifies-everybody": "",
    "cancel.unannounced": "",
    "cancel.notifies-twice": "CAN-008",
    "cancel.closes-the-deaf": f"{INTERNAL} CAN-011",
    "cancel.unknown-tag-refused": "",
    # each of these rules says what comes of a consumer that its client has cancelled
    "cancel.answered-only": "CAN-005 CAN-013 CAN-014 AUTO-008 DRT-002 DRT-007 DRT-008 QUEUE-024 SAC-002",
    "cancel.nowait-answered": "",
    "cancel.client-answer-crashes": INTERNAL,
    "cancel.second-replaces-first": "ERR-009",
    "cancel.delivers-before-consume-ok": "",
    # ends
    # what a settlement left alone is seen by its return: it may have been taken by a settlement elsewhere (ACK-004)
    "ends.close-returns-nothing": f"{LOST} ACK-001 ACK-002 ACK-004 ACK-016 ACK-018 ACK-019 AUTO-006 AUTO-009 "
    "AUTO-012 RQ-008",
    "ends.loss-returns-nothing": f"{LOST} AUTO-005 AUTO-009 AUTO-012",
    "ends.error-returns-nothing": f"{LOST} ERR-005 AUTO-012",
    "ends.one-channel-only": f"{LOST} AUTO-012",
    "ends.silence-unnoticed": "",
    "ends.provisional-is-final": "RQ-011 TX-002",
    "ends.nobody-is-woken": "RQ-015 QOS-002 SAC-002 SAC-003",
    # confirms
    "confirms.second-select-restarts": "CNF-004 CNF-006",
    "confirms.counts-from-0": "TAG-002 TAG-010 CNF-003 CNF-004 CNF-006 CNF-022 CNF-023 CNF-026",
    "confirms.wait-for-the-next": "CNF-0*",
    "confirms.ack-after-nack": "CNF-004 CNF-006 CNF-011 CNF-012",
    "confirms.client-ack-resolves": "CNF-004 CNF-020 TAG-010",
    # a channel that published before it selected is in the middle of its count by then, or reopened into the mode
    "confirms.mode-of-connection": "CNF-002 CNF-004 CNF-006 CNF-016 CNF-020 CNF-022 CNF-024 ERR-007",
    "routes.unroutable-refused": "CNF-009",
    "routes.confirm-before-return": "",
    "routes.return-with-code-313": "TX-003 RETURN-005",
    "routes.returned-without-consumers": "",
    # LEN-012 and LEN-013 say themselves that the publisher is told
    "routes.rejected-confirmed": "CNF-021 LEN-012 LEN-013",
    "routes.failed-publish-refused": "CONTENT-006 TTL-009",
    # CNF-026 says that an empty one takes its number like any other, RQ-011 that what was confirmed is there
    "reported.empty-never-whole": "CNF-026 RETURN-001 CONTENT-001 FRAME-005",
    "counts.with-the-one-handed-out": "",
    "queues.consumers-uncounted": "",
    # transactions
    "transactions.rollback-requeues": "",
    # each of these rules says of one case that nothing of a transaction is there before it is committed
    "transactions.publishes-early": "TX-005 TX-006 TX-008 TX-012 TX-013 DUR-020",
    "transactions.ends-without-begin": "",
    "transactions.commit-confirms": "",
    "transactions.wrong-ack-at-commit": "ERR-001 ERR-002 ERR-011 ACK-010",
}
HIDES: Mapping[str, str] = {
    "tags.start-at-zero": "ACK-009",
    "mode.ack-undone-at-end": "ACK-* AUTO-*",
    "mode.discard-requeues": "ACK-* RQ-013",
    "settle.zero-is-unknown": "ACK-008 ACK-014",
    "settle.nack-ignores-multiple": "RQ-002 QOS-012",
    "settle.reject-never-requeues": "RQ-*",
    "settle.answers-ack": "CNF-*",
    "errors.unknown-tag-is-hard": "ERR-* AUTO-004",
    "requeue.flag-never": "RQ-009",
    "requeue.recover-does-nothing": "TAG-008 RQ-002",
    "prefetch.one-too-many": "QOS-*",
    "ends.close-returns-nothing": "ACK-* MODE-* AUTO-* RQ-*",
    "ends.loss-returns-nothing": "AUTO-*",
    "ends.error-returns-nothing": "ERR-005",
    "confirms.counts-from-0": "CNF-*",
    "confirms.wait-for-the-next": "CNF-* TAG-010 RQ-011",
    "routes.rejected-confirmed": "CNF-021",
}
ALSO_ABOUT: Mapping[str, str] = {
    "requeue.flag-never": "redelivered",
    "requeue.recover-does-nothing": "recover",
    "requeue.recover-skips-gets": "recover",
    "returning.waits-for-publish": "requeue serving",
    "ends.silence-unnoticed": "silence",
    "settle.nack-zero-on-empty-refused": "crash nack",
    "settle.nack-ignores-multiple": "crash nack",
    "settle.zero-on-empty-refused": "crash nack",
    "settle.zero-is-unknown": "crash nack",
    "settle.reject-never-requeues": "crash",
    "settle.reject-always-requeues": "crash",
    "errors.unopened-ignored": "close",
    "errors.unopened-is-soft": "close",
    "errors.names-no-method": "close",
    "errors.not-implemented-is-soft": "close",
    "cancel.second-replaces-first": "close",
    "transactions.commit-confirms": "confirms",
    "errors.consumer-tag-reusable": "cancel close",
}
FAMILIES = {
    "returning": "requeue",
    "slots": "prefetch",
    "routes": "confirms",
    "reported": "contents",
    "queues": "counts",
}
"""Whose decisions are those of another family."""


def touched(mutant: Mutant) -> frozenset[str]:
    """What a mutant replaces: methods of parts, handlers, the publish."""
    parts, honest = Parts(), Parts()
    mutant.apply(parts)
    found = {f"handler:{method.__name__}" for method, call in parts.handlers.items() if call is not HANDLERS[method]}
    for part, before in vars(honest).items():
        now = getattr(parts, part)
        if isinstance(now, type) and now is not before:
            replaced = {name for one in now.__mro__[: now.__mro__.index(before)] for name in vars(one)}
            found |= {f"{part}.{name}" for name in replaced if not name.startswith("__") or name == "__init__"}
    return frozenset(found | ({"publish"} if parts.publish is not honest.publish else set()))


def trait(name: str) -> Trait:
    mutant, family = MUTANTS[name], name.partition(".")[0]
    about = touched(mutant) | patterns(f"{FAMILIES.get(family, family)} {family} {ALSO_ABOUT.get(name, '')}")
    truth = Truth(frozenset(mutant.rules), patterns(MAY[name]), patterns(HIDES.get(name, "")))
    return Trait(name, mutant.says, truth, mutant.apply, about, replaces=True)


for _name in MAY:
    enter(trait(_name))
