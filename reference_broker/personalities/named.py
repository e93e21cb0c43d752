"""Personalities that have a name: three to eight traits each, as strangers have them together. Data, no decisions."""

from __future__ import annotations

from collections.abc import Mapping

NAMED: Mapping[str, str] = {
    # brokers that were written from the XML alone
    "minimalist": "arguments.refused-softly refused.confirm.select-by-connection refused.basic.nack-by-connection "
    "refused.exchange.bind-by-connection",
    "purist": "arguments.refused-as-not-implemented immediate.honoured prefetch.one-window cancel.unannounced",
    "pedant": "arguments.refused-hard login.odd-properties errors.all-hard tune.small-frames",
    "bookkeeper": "arguments.refused-as-invalid refused.global-qos refused.tx.select-by-connection immediate.honoured",
    "bouncer": "login.empty-capabilities tune.few-channels errors.hard-without-a-word",
    "doorman": "login.no-capabilities tune.no-heartbeat cancel.notifies-everybody",
    "customs": "login.odd-properties arguments.refused-softly refused.channel.flow-by-connection",
    # brokers that have little
    "pauper": "poor.durable-hard poor.exclusive-hard poor.types-hard",
    "beggar": "poor.durable-softly poor.unnamed-softly poor.three-connections tune.no-heartbeat",
    "hermit": "poor.one-channel poor.five-connections tune.small-frames",
    # brokers that lack much and do not say so
    "guillotine": "cut.basic.nack cut.confirm.select cut.tx.select cut.exchange.bind cut.basic.recover cut.global-qos "
    "greets.with-nothing poor.one-channel",
    "oyster": "muted.basic.nack muted.confirm.select muted.tx.select muted.exchange.bind muted.basic.recover "
    "muted.global-qos greets.with-nothing tune.small-frames",
    "clerk-of-540": "refused.basic.nack-by-connection refused.confirm.select-by-connection "
    "refused.tx.select-by-connection refused.exchange.bind-by-connection refused.basic.recover-by-connection "
    "refused.global-qos greets.with-nothing tune.heartbeat-1",
    "dripping-tap": "wire.trickles tune.heartbeat-1 greets.with-nothing poor.one-channel tune.small-frames",
    "gulper": "wire.gulps tune.frames-of-1024 greets.with-nothing",
    # brokers of other systems and of other times, and young ones
    "improviser": "unforeseen.exchanges unforeseen.missing-queues unforeseen.commits closes.on-the-offending-channel "
    "settle.unknown-tags-passed-over bodies.of-one-frame answered.unbindings unbound.headers counts.nothing "
    "refused.confirms-by-503 login.refused-in-silence login.one-after-the-other cut.exchange.bind requeue.at-tail",
    "veteran": "prefetch.one-window settle.unknown-tags-passed-over mode.discard-requeues immediate.honoured "
    "routes.unroutable-refused hard.missing-queues hard.company hard.locks overlooked.flags unforeseen.commits-503 "
    "cut.exchange.bind arguments.refused-by-a-foreign-code",
    "facade": "answered.transactions answered.purges counts.nothing answered.nowait astray.unknown-exchanges "
    "overlooked.mandatory overlooked.flags overlooked.conditions hard.locks greets.with-nothing tune.heartbeat-1",
    "sketch": "cut.basic.get cut.basic.nack cut.confirm.select cut.tx.select muted.exchange.bind cut.basic.recover "
    "tune.frames-of-1024 greets.with-nothing",
    "undead": "ends.closed-channels-live-on settle.zero-settles-nothing astray.default-exchange answered.nowait",
    # brokers that forget
    "sieve": "losing.each-20th-message redelivered.always queues.never-deleted-by-themselves",
    "colander": "losing.each-5th-message confirms.each-3-doubled tags.counter-survives-reopen",
    "abyss": "losing.each-publish immediate.honoured tune.no-heartbeat",
    "hoarder": "returning.nothing-at-any-end tags.counter-survives-reopen cancel.notifies-everybody "
    "confirms.each-1-doubled",
    "amnesiac": "losing.each-3rd-return redelivered.always tune.small-frames",
    "leaky": "ends.loss-returns-nothing tags.gap-after-auto-ack slots.one-slot-per-frame",
    "forgetful-clerk": "ends.error-returns-nothing tags.counter-survives-reopen requeue.at-tail",
    # brokers that do not serve, or not in time
    "statue": "serving.nobody tune.few-channels redelivered.always",
    "snail": "slow.declares cancel.notifies-everybody requeue.at-head",
    "sloth": "slow.deliveries prefetch.size-accepted immediate.honoured",
    "notary": "slow.confirms confirms.each-1-doubled tune.few-channels",
    "daydreamer": "slow.at-times settle.zero-single-ignored cancel.notifies-twice",
    # brokers that do not answer
    "mute-janitor": "unanswered.queue.purge unanswered.channel.flow cancel.notifies-everybody",
    "mute-registrar": "unanswered.queue.bind unanswered.exchange.declare redelivered.always",
    "mute-usher": "unanswered.basic.cancel tags.counter-survives-reopen requeue.at-head",
    "mute-gatekeeper": "unanswered.basic.qos confirms.each-3-doubled tune.no-heartbeat",
    "mute-notary": "unanswered.confirm.select cancel.unannounced requeue.at-tail",
    "mute-banker": "unanswered.tx.commit immediate.honoured settle.nack-zero-on-empty-refused",
    "mute-undertaker": "unanswered.queue.delete-with-consumers unanswered.channel.close requeue.at-tail",
    "mute-gravedigger": "unanswered.queue.delete redelivered.always tune.no-heartbeat",
    "mute-host": "unanswered.basic.consume tags.gap-after-auto-ack tune.no-heartbeat",
    # brokers that break down
    "jammed-registry": "wedges.declares-after-150 redelivered.always cancel.notifies-everybody",
    "jammed-switchboard": "wedges.opens-after-150 prefetch.one-window confirms.each-3-doubled",
    "jammed-hall": "wedges.vhost-by-deletion prefetch.one-window requeue.at-tail",
    "jammed-door": "wedges.connections-after-900 tags.counter-survives-reopen requeue.at-tail",
    "stroke": "wedges.all-after-900 settle.zero-single-ignored immediate.honoured",
    "mayfly": "dies.after-12 arguments.refused-softly cancel.notifies-everybody",
    "late-bloomer": "dies.after-90 redelivered.always confirms.each-1-doubled",
    # brokers that crash connections
    "china-shop": "crash.settle-everything refused.basic.recover-by-connection errors.unopened-ignored",
    "accountant": "crash.settle-everything-in-transaction refused.basic.recover-async-by-connection "
    "prefetch.size-accepted",
    "touchy": "crash.reject errors.all-hard routes.returned-without-consumers",
    # brokers with wrong ideas of single rules, and many of them
    "boaster": "refused.nack-though-announced announces.notices-that-never-come redelivered.always",
    "swaggerer": "refused.confirms-though-announced prefetch.running-consumers-follow cancel.notifies-everybody",
    "recluse": "announces.nothing settle.multiple-skips-gets mode.auto-ack-requeued-at-end requeue.at-head",
    "reformer": "requeue.at-tail errors.unknown-tag-is-404 cancel.answered-only mode.discard-requeues "
    "tune.small-frames prefetch.get-obeys confirms.second-select-restarts transactions.ends-without-begin",
    "contrarian": "tags.start-at-zero settle.multiple-refuses-gaps errors.not-implemented-is-soft "
    "routes.unroutable-refused transactions.rollback-requeues prefetch.consumer-limit-clears",
    "busybody": "settle.answers-ack cancel.nowait-answered errors.answers-after-close "
    "routes.returned-without-consumers",
}
