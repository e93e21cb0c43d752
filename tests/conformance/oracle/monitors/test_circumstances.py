"""Circumstances: of each a history in which it arises, and one as near to it as can be in which it does not.

And that a finding stands in those of its own channel, queue or connection, not in those of another.
"""

from __future__ import annotations

from typing import Any

import pytest

from conformance.catalogue.rules.circumstances import NAMES, named
from tests.support.octets.frames import OCTETS, PUBLISH, frame, header

TEXT = "PRECONDITION_FAILED - unknown delivery tag"
HELD = "@queue q \n @stock q m1 m2 m3 \n @hold 1 q m1 m2 \n"
BAD = HELD + "1 > ack 9 \n"
REFUSED = f"1 < closed 406 60 80 {TEXT} 9 \n"
MANY = (
    "@queue q \n @stock q "
    + " ".join(f"m{n}" for n in range(1, 34))
    + "\n @hold 1 q "
    + " ".join(f"m{n}" for n in range(1, 34))
    + "\n"
    + "".join(f"1 > ack {n} \n" for n in range(1, 34))
)
TIMED = (
    "@queue q quorum x-consumer-timeout=1000 \n @stock q m1 m2 \n @open 1 \n 0 < start notify \n 0 > start-ok notify \n"
)
BOTH_TIMED = (
    "@queue q quorum x-consumer-timeout=1000 \n @stock q m1 m2 \n @consume 1 q c1 \n 1 < deliver c1 1 m1 q \n "
    "@consume 1 q c2 \n 1 < deliver c2 2 m2 q \n "
)
AGAIN = "- wait {} \n 1 > reject 1 requeue \n 1 < deliver c1 2 m1 q redelivered \n - wait 9 \n "
EXPIRING = "@queue q classic durable \n @open 1 \n 1 > publish q m1 expiration=60000 persistent \n {}"
SELECTED = "@open 1 \n 1 > select \n 1 < select-ok \n"
ROOM = "@queue q classic x-max-length=1 x-overflow=reject-publish \n @stock q m1 \n @open 1 \n"
LISTENS = "@consume 1 amq.rabbitmq.reply-to r no_ack \n"
LEASED = '@queue q classic {} \n - rule p ^q$ {{"expires":3000}} \n '
RULED = '@queue q classic {} \n @open 1 \n - rule p ^q$ {{"overflow":"reject-publish"}} \n '
PRIORITIES = "@queue q classic x-max-priority=3 \n @open 1 \n"
CANCELLED = "1 > cancel c1 \n 1 < cancel-ok c1 \n"
OUT = "@consume 1 q c1 \n 1 < deliver c1 1 m1 q \n"


RANKED = "@queue q \n @open 1 \n 1 > qos 1 {} \n 1 < qos-ok \n 1 > consume q c1 x-priority=2"
BEHIND = (
    "@queue q \n @exchange a q \n @open 1 \n 1 > exchange x fanout alternate-exchange=a \n 1 < exchange-ok \n "
    "1 > exchange y fanout \n 1 < exchange-ok \n "
)
KEYED = '1 > publish other m1 exchange=y with={"headers":{"CC":["A",[["S","another"]]]}}'
BATCH = " ".join(f"m{number}" for number in range(1, 33))
LIMITED = (
    '- permit u / {"configure":".*"} \n u:0 < start \n u:0 > start-ok user=u \n u:0 > enter \n u:0 < entered \n '
    "u:1 > open \n u:1 < open-ok \n "
)
NARROW = "@queue q \n @queue p \n 90 > delete p \n 90 < delete-ok \n " + LIMITED
FREE = NARROW.replace('{"configure":".*"}', '{"configure":".*","write":".*","read":".*"}')


def wrong(rule: str) -> str:
    """The client sends the octets of which this rule speaks."""
    return f"@open 1 \n - octets c {OCTETS[rule].hex()}"


def automatic(count: int) -> str:
    """A consumer without acknowledgements gets so many."""
    numbers = range(1, count + 1)
    stock = "@queue q \n @stock q " + " ".join(f"m{number}" for number in numbers)
    come = " \n".join(f"1 < deliver c1 {number} m{number} q" for number in numbers)
    return f"{stock} \n @consume 1 q c1 no_ack \n {come} \n "


INNER = f"@open 1 \n - octets c {(PUBLISH + PUBLISH).hex()}"
DISORDERED = f"@open 1 \n - octets c {(PUBLISH + 2 * frame(2, 1, header())).hex()}"
MEET = "@queue q \n @exchange x q \n @open 1 \n "
LEFT = (
    "- wait 1 \n @open 1 \n d:1 > open \n d:1 < open-ok \n d:1 > declare q exclusive \n d:1 < declare-ok q \n "
    "d:0 > bye \n d:0 < bye-ok \n "
)
ARISES = {
    "closes-cross": BAD + "1 > close \n" + REFUSED + "1 > closed-ok \n 1 < close-ok",
    "opened-after-failure": BAD + REFUSED + "1 > closed-ok \n 1 > open",
    "settlements-kept-back": MANY + "1 > close",
    "automatic-kept-back": automatic(33) + "1 > close",
    "publish-before-end": "@queue q \n @open 1 \n 1 > publish q m1 \n 1 > close",
    "cancel-amid-deliveries": "@queue q \n @stock q m1 \n @consume 1 q c1 \n 1 > cancel c1",
    "cancel-meets-deletion": "@queue q \n @consume 1 q c1 \n 90 > delete q \n 1 > cancel c1",
    "queue-deleted": "@queue q \n 90 > delete q",
    "queue-declared-again": "@queue q \n 90 > delete q \n 90 < delete-ok \n 90 > declare q",
    "name-used-again": HELD + "90 > delete q \n 90 < delete-ok \n 90 > declare q",
    "tag-used-again": "@queue q \n @stock q m1 \n" + OUT + CANCELLED + "1 > consume q c1",
    "tag-used-again-here": "@queue q \n @stock q m1 \n" + OUT + CANCELLED + "1 > consume q c1",
    "namesake-settled": "@queue q \n @stock q m1 \n" + OUT + CANCELLED + "@consume 1 q c1 \n 1 > ack 1",
    "delivery-limited": "@queue q quorum x-delivery-limit=2",
    "mandatory-before-confirms": "@queue q \n @open 1 \n 1 > publish q m1 mandatory \n 1 > confirm",
    "limit-after-channel-limit": "@open 1 \n 1 > qos 3 global \n 1 < qos-ok \n 1 > qos 2",
    "channel-limit-after-gets": HELD + "1 > qos 3 global",
    "stale-returned": TIMED + OUT + "- wait 2 \n 1 < cancel c1 no_wait \n 1 > nack 1 requeue",
    "several-deadlines": TIMED + OUT + "1 < deliver c1 2 m2 q \n - wait 2 \n 1 < cancel c1 no_wait",
    "deadline-after-settled": TIMED + OUT + AGAIN.format(0.5) + "- deadline timeouts",
    "timed-out-together": BOTH_TIMED + "- wait 2 \n 1 < closed 406 0 0 timed out",
    "client-cancel-ok": "@queue q \n @consume 1 q c1 \n 90 > delete q \n 90 < delete-ok \n 1 < cancel c1 no_wait \n "
    "1 > agreed c1",
    "nothing-to-settle": "@open 1 \n 1 > ack 0 multiple",
    "nothing-to-settle-in-transaction": SELECTED + "1 > nack 0 multiple requeue",
    "recover-without-requeue": "@queue q \n @consume 1 q c1 \n 1 > recover",
    "recover-in-transaction": HELD + "1 > select \n 1 < select-ok \n " + "1 > ack 1 \n 1 > recover requeue",
    "recover-in-transaction-here": HELD + "1 > select \n 1 < select-ok \n 1 > ack 1 \n 1 > recover requeue",
    "batch-of-many-gets": f"@queue q \n @stock q {BATCH} m33 \n @hold 1 q {BATCH} m33 \n 1 > recover requeue",
    "batch-of-many": f"@queue q \n @stock q {BATCH} m33 \n @hold 1 q m1 m2 \n 1 > nack 2 multiple requeue",
    "recover-async": HELD + "1 > recover-async requeue",
    "gets-recovered": HELD + "1 > recover requeue",
    "deleted-queue-recovered": HELD + "90 > delete q \n 90 < delete-ok \n 1 > recover requeue",
    "prefetch-size": "@open 1 \n 1 > qos 0 size=1",
    "limit-changed": "@queue q \n @open 1 \n 1 > qos 2 \n 1 < qos-ok \n @consume 1 q c1 \n 1 > qos 3",
    "tag-taken": "@queue q \n @consume 1 q c1 \n 1 > consume q c1",
    "unopened-work": "@open 1 \n 2 > purge q",
    "mandatory-to-the-full": ROOM + "1 > publish q m2 mandatory",
    "queue-deleted-under-consumer": "@queue q \n @consume 1 q c1 \n 90 > delete q",
    "close-on-a-channel": "@open 1 \n 1 > bye",
    "connection-closes-cross": "@open 1 \n 0 > bye \n 0 < kicked 504 10 40 again",
    "frame-max-below-8192": "0 > tune-ok frames=8191",
    "last-queue-elsewhere": "@queue q \n @open 1 \n 1 > purge",
    "nameless-again": "@open 1 \n 1 > purge \n 1 > purge",
    "last-queue-since": "@open 1 \n 1 > declare p \n 1 < declare-ok p \n @queue q \n 1 > purge",
    "long-queue-name": f"@open 1 \n 1 > declare {'q' * 128} passive",
    "long-name-not-ascii": f"@open 1 \n 1 > declare {'ü' * 64} passive",
    "killed-young": "@queue q \n - wait 1 \n - killed",
    "transient-exchange-restarted": "@exchange x \n - restarted stopping",
    "priorities-under-channel-limit": RANKED.format("global"),
    "alternate-after-others": BEHIND + "1 > bind-exchange x y",
    "several-keys-to-alternate": BEHIND + f"1 > bind-exchange x y \n {KEYED}",
    "transient-message-restarted": "@queue q classic durable \n @stock q m1 \n - restarted stopping",
    "expiring-message-restarted": EXPIRING.format("- restarted stopping"),
    "delivered-restarted": "@queue q durable \n @stock q m1 \n @hold 1 q m1 \n - restarted stopping",
    "binding-without-value": "@queue q \n @route x headers - q ink=void",
    "timestamp-in-binding": "@queue q \n @route x headers - q ink=@5",
    "many-hashes-in-binding": "@queue q \n @route x topic #.#.a.# q",
    "owner-hangs-up": LEFT + "- end d closed \n 1 > declare q passive",
    "exclusive-consumer": "@queue q \n @open 1 \n 1 > consume q c1 exclusive",
    "dead-letters-renamed": "@queue q classic x-dead-letter-exchange=x x-dead-letter-routing-key=r",
    "dead-letters-go-on": "".join(f"@queue {name} classic x-dead-letter-exchange=x \n" for name in "ab"),
    "limited-in-octets": "@queue q classic x-max-length-bytes=100",
    "refused-are-dead-letters": "@queue q classic x-max-length=1 x-overflow=reject-publish-dlx",
    "get-meets-deletion": "@queue q \n @open 1 \n 1 > get q \n 90 > delete q",
    "deletion-meets-that-of-exchange": MEET + "90 > unexchange x \n 1 > delete q",
    "channel-shared": "@queue q \n @consume 1 q c1 \n 1 > consume q c2",
    "wrong-frame-end": wrong("FRAME-001"),
    "longer-body": wrong("FRAME-006"),
    "misplaced-content": wrong("FRAME-004"),
    "interrupted-content": wrong("FRAME-005"),
    "content-in-content": INNER,
    "disordered-content": DISORDERED,
    "unknown-method": wrong("FRAME-010"),
    "other-class": wrong("FRAME-007"),
    "content-on-channel-0": wrong("FRAME-008"),
    "unreadable-properties": wrong("FRAME-015"),
    "content-weight": wrong("FRAME-016"),
    "decimal-of-many-places": '@queue q \n @open 1 \n 1 > publish q m1 with={"headers":{"a":["D",[10,5]]}}',
    "float-without-number": '@queue q \n @open 1 \n 1 > publish q m1 with={"headers":{"a":["d",Infinity]}}',
    "method-on-channel-0": "@open 1 \n 0 > open",
    "limited-declares-again": NARROW + "u:1 > declare q",
    "limited-names-dead-letters": NARROW + "u:1 > declare p classic x-dead-letter-exchange=x",
    "limited-names-alternate": NARROW + "u:1 > exchange x alternate-exchange=y",
    "limited-publishes-to-queues": NARROW + "u:1 > publish q m1",
    "limited-names-more-keys": NARROW + "u:1 > " + KEYED.removeprefix("1 > "),
    "limited-names-long-queue": NARROW + f"u:1 > get {'q' * 151}",
    "user-deleted": NARROW + "- permit u / gone",
    "made-up-address": "@open 1 \n 1 > declare amq.rabbitmq.reply-to.? passive",
    "second-requester": LISTENS + "1 > consume amq.rabbitmq.reply-to s no_ack",
    "requesters-share-a-tag": LISTENS + "@open 2 \n 2 > consume amq.rabbitmq.reply-to r no_ack",
    "long-tag-of-requester": f"@open 1 \n 1 > consume amq.rabbitmq.reply-to {'t' * 201} no_ack",
    "single-active-cancelled": "@queue q classic x-single-active-consumer=true \n @consume 1 q c1 \n 1 > cancel c1",
    "priority-above-maximum": PRIORITIES.replace("=3", "=3 x-expires=9000") + '1 > publish q m1 with={"priority":4}',
    "expires-among-priorities": PRIORITIES + "1 > publish q m1 expiration=50",
    "overflow-by-both": RULED.format("x-overflow=drop-head") + "1 > publish q m1",
    "several-policies": RULED.format("x-max-length=1") + '- rule r ^r$ {"expires":1}',
    "lease-by-both-changes": LEASED.format("x-expires=9000") + "- unrule p",
    "time-to-live": "@queue q \n @open 1 \n 1 > publish q m1 expiration=50",
    "no-time-beside-consumers": "@queue q \n @consume 1 q c1 \n 1 > publish q m1 expiration=0",
    "time-beside-consumers": "@queue q classic x-message-ttl=9 \n @consume 1 q c1 \n 1 > publish q m1",
}
MISSES = {
    "closes-cross": BAD + REFUSED + "1 > closed-ok",
    "opened-after-failure": HELD + "@close 1 \n 1 > open",
    "settlements-kept-back": MANY + "@barrier 1 \n - wait 0.5 \n 1 > close",
    "automatic-kept-back": automatic(32) + "1 > close",
    "publish-before-end": "@queue q \n @open 1 \n 1 > publish q m1 \n @barrier 1 \n 1 > close",
    "cancel-amid-deliveries": "@queue q \n @consume 1 q c1 \n 1 > cancel c1",
    "cancel-meets-deletion": "@queue q \n @queue p \n @consume 1 q c1 \n 90 > delete p \n 1 > cancel c1",
    "queue-deleted": "@queue q \n 90 > purge q",
    "queue-declared-again": "@queue q \n 90 > declare q \n 90 < declare-ok q 0 0 \n 90 > delete q",
    "name-used-again": "@queue q \n @stock q m1 \n 90 > delete q \n 90 < delete-ok \n 90 > declare q",
    "tag-used-again": "@queue q \n @stock q m1 \n" + OUT + "1 > ack 1 \n 1 > cancel c1 \n 1 < cancel-ok c1 \n"
    "1 > consume q c1",
    "tag-used-again-here": "@queue q \n @stock q m1 \n" + OUT + "1 > cancel c1 \n 1 < cancel-ok c1 \n1 > consume q c2",
    "namesake-settled": "@queue q \n @queue p \n @stock q m1 \n" + OUT + CANCELLED + "@consume 1 p c1 \n 1 > ack 1",
    "delivery-limited": "@queue q quorum x-max-length=2",
    "mandatory-before-confirms": "@queue q \n @open 1 \n 1 > publish q m1 \n 1 > confirm",
    "limit-after-channel-limit": "@open 1 \n 1 > qos 2 \n 1 < qos-ok \n 1 > qos 3 global",
    "channel-limit-after-gets": HELD + "1 > ack 2 multiple \n 1 > qos 3 global",
    "stale-returned": TIMED + OUT + "- wait 2 \n 1 < cancel c1 no_wait \n 1 > ack 1",
    "several-deadlines": TIMED + OUT + "- wait 2 \n 1 < cancel c1 no_wait",
    "deadline-after-settled": TIMED + OUT + AGAIN.format(1.5) + "- deadline timeouts",
    "timed-out-together": BOTH_TIMED + "1 > ack 2 \n - wait 2 \n 1 < closed 406 0 0 timed out",
    "client-cancel-ok": "@queue q \n @consume 1 q c1 \n 90 > delete q \n 90 < delete-ok \n 1 < cancel c1 no_wait",
    "nothing-to-settle": HELD + "1 > ack 0 multiple",
    "nothing-to-settle-in-transaction": SELECTED + "1 > nack 1 multiple requeue \n @open 2 \n 2 > ack 0 multiple",
    "recover-without-requeue": HELD + "1 > recover \n @consume 1 q c1 \n 1 > recover requeue",
    "recover-in-transaction": HELD
    + "1 > select \n 1 < select-ok \n "
    + "1 > ack 1 \n 1 > rollback \n 1 < rollback-ok \n 1 > recover requeue",
    "recover-in-transaction-here": HELD + "1 > select \n 1 < select-ok \n 1 > recover requeue \n 1 > ack 1",
    "batch-of-many-gets": f"@queue q \n @stock q {BATCH} m33 \n @hold 1 q {BATCH} m33 \n 1 > nack 32 multiple requeue",
    "batch-of-many": f"@queue q \n @stock q {BATCH} \n @hold 1 q m1 m2 \n 1 > nack 2 multiple requeue",
    "recover-async": HELD + "1 > recover requeue",
    "gets-recovered": HELD + "1 > ack 2 multiple \n 1 > recover requeue",
    "deleted-queue-recovered": HELD + "90 > purge q \n 90 < purge-ok \n 1 > recover requeue",
    "prefetch-size": "@open 1 \n 1 > qos 1",
    "limit-changed": "@queue q \n @open 1 \n 1 > qos 2 \n 1 < qos-ok \n @consume 1 q c1 \n 1 > qos 2 \n "
    "1 < qos-ok \n 1 > qos 3 global",
    "tag-taken": "@queue q \n @consume 1 q c1 \n @open 2 \n 2 > consume q c1",
    "unopened-work": "@open 1 \n 2 > get q \n 1 > purge q",
    "mandatory-to-the-full": ROOM + "1 > publish q m2 \n @queue p \n @stock p n1 \n 1 > publish p n2 mandatory",
    "queue-deleted-under-consumer": "@queue q \n @queue p \n @consume 1 q c1 \n 90 > delete p",
    "close-on-a-channel": "@open 1 \n 0 > bye",
    "connection-closes-cross": "@open 1 \n 0 < kicked 504 10 40 again \n 0 > agree \n 0 > bye",
    "frame-max-below-8192": "0 > tune-ok frames=8192",
    "long-queue-name": f"@open 1 \n 1 > declare {'q' * 127} passive",
    "long-name-not-ascii": f"@open 1 \n 1 > declare {'q' * 128} passive",
    "last-queue-since": "@queue q \n @open 1 \n 1 > declare p \n 1 < declare-ok p \n 1 > purge",
    "nameless-again": "@queue q \n @open 1 \n 1 > purge \n 1 < closed 404 50 30 NOT_FOUND \n 1 > purge",
    "last-queue-elsewhere": "@queue q \n @open 1 \n d:1 > open \n d:1 < open-ok \n d:1 > purge",
    "killed-young": "@queue q \n - wait 3 \n - killed",
    "transient-exchange-restarted": "@exchange x \n - restarted started",
    "priorities-under-channel-limit": RANKED.format(""),
    "alternate-after-others": BEHIND + "1 > bind-exchange y x",
    "several-keys-to-alternate": BEHIND + f"1 > bind-exchange y x \n {KEYED}",
    "transient-message-restarted": "@queue q quorum durable \n @stock q m1 \n - restarted stopping",
    "expiring-message-restarted": EXPIRING.format("1 > get q no_ack \n 1 < get-ok 1 m1 q \n - restarted stopping"),
    "delivered-restarted": "@queue q durable \n @stock q m1 \n - restarted stopping",
    "binding-without-value": "@queue q \n @route x headers - q ink=red",
    "timestamp-in-binding": "@queue q \n @route x headers - q ink=5",
    "many-hashes-in-binding": "@queue q \n @route x topic #.##.a.# q",
    "owner-hangs-up": LEFT + "- end d closed \n - wait 0.5 \n 1 > declare q passive",
    "exclusive-consumer": "@queue q \n @open 1 \n 1 > consume q c1",
    "dead-letters-renamed": "@queue q classic x-dead-letter-exchange=x",
    "dead-letters-go-on": "@queue a classic x-dead-letter-exchange=x \n @queue b",
    "limited-in-octets": "@queue q classic x-max-length=100",
    "refused-are-dead-letters": "@queue q classic x-max-length=1 x-overflow=reject-publish",
    "get-meets-deletion": "@queue q \n @open 1 \n 1 > get q \n 1 < get-empty \n 90 > delete q",
    "deletion-meets-that-of-exchange": MEET + "90 > unexchange x \n 90 < unexchange-ok \n 1 > delete q",
    "channel-shared": "@queue q \n @consume 1 q c1 \n @open 2 \n 2 > consume q c2",
    "wrong-frame-end": wrong("FRAME-002"),
    "longer-body": wrong("FRAME-005"),
    "misplaced-content": wrong("FRAME-008"),
    "interrupted-content": INNER,
    "disordered-content": wrong("FRAME-005"),
    "content-in-content": wrong("FRAME-005"),
    "unknown-method": wrong("FRAME-011"),
    "other-class": wrong("FRAME-004"),
    "content-on-channel-0": wrong("FRAME-009"),
    "unreadable-properties": wrong("FRAME-007"),
    "content-weight": wrong("FRAME-015"),
    "decimal-of-many-places": '@queue q \n @open 1 \n 1 > publish q m1 with={"headers":{"a":["D",[9,5]]}}',
    "float-without-number": '@queue q \n @open 1 \n 1 > publish q m1 with={"headers":{"a":["d",0.5]}}',
    "method-on-channel-0": "@open 1 \n 0 > bye",
    "limited-declares-again": NARROW + "u:1 > declare p",
    "limited-names-dead-letters": FREE + "u:1 > declare p classic x-dead-letter-exchange=x",
    "limited-names-alternate": NARROW + "u:1 > exchange x",
    "limited-publishes-to-queues": NARROW + "90 > publish q m1",
    "limited-names-more-keys": NARROW + "u:1 > " + KEYED.removeprefix("1 > ").replace(" exchange=y", ""),
    "limited-names-long-queue": NARROW + f"u:1 > get {'q' * 150}",
    "user-deleted": NARROW + "- permit u / none",
    "made-up-address": "@open 1 \n 1 > declare amq.rabbitmq.reply-to.g1h2AA5y== passive",
    "second-requester": LISTENS + "@open 2 \n 2 > consume amq.rabbitmq.reply-to s no_ack",
    "requesters-share-a-tag": LISTENS + "@open 2 \n 2 > consume amq.rabbitmq.reply-to s no_ack",
    "long-tag-of-requester": f"@open 1 \n 1 > consume amq.rabbitmq.reply-to {'t' * 200} no_ack",
    "single-active-cancelled": "@queue q \n @consume 1 q c1 \n 1 > cancel c1",
    "priority-above-maximum": PRIORITIES + '1 > publish q m1 with={"priority":3}',
    "expires-among-priorities": "@queue q \n @open 1 \n 1 > publish q m1 expiration=50",
    "overflow-by-both": RULED.format("x-max-length=1") + "1 > publish q m1",
    "several-policies": RULED.format("x-max-length=1") + '- rule p ^q$ {"expires":1}',
    "lease-by-both-changes": LEASED.format("x-max-length=1") + "- unrule p",
    "time-to-live": "@queue q \n @open 1 \n 1 > publish q m1",
    "no-time-beside-consumers": "@queue q \n @open 1 \n 1 > publish q m1 expiration=0",
    "time-beside-consumers": "@queue q classic x-message-ttl=9 \n @open 1 \n 1 > publish q m1",
}


def profile_of(name: str) -> str:
    """Numbers that begin before confirm mode are a reading of one profile."""
    return "rabbitmq-3.8" if name == "mandatory-before-confirms" else "documented"


def met(play: Any, name: str, text: str) -> set[str]:
    return set(play(text, profile_of(name)).judge.judgement.met)


@pytest.mark.parametrize(
    ("steps", "arises"),
    [
        ("@barrier 1 \n", True),
        ("- wait 2 \n", True),
        ("1 > publish q m34 \n 1 < ack 1 \n", False),
        ("1 > publish q m34 \n", True),
        ("@queue p \n 1 > publish p m34 \n 1 < ack 1 \n", True),
        ("1 > publish q m34 \n 1 < ack 1 \n 1 > ack 34 \n", True),
    ],
)
def test_an_answer_does_not_show_that_a_queue_has_settlements_and_a_confirm_does(
    play: Any,
    steps: str,
    arises: bool,
) -> None:
    held = MANY.replace("m33", "m33 m35").replace("@hold", "@confirming 1 \n @hold")
    assert ("settlements-kept-back" in met(play, "", held + steps + "1 > close")) is arises


@pytest.mark.parametrize("name", NAMES)
def test_it_arises_where_it_should(play: Any, name: str) -> None:
    assert name in met(play, name, ARISES[name])


@pytest.mark.parametrize("name", ["time-to-live", "expires-among-priorities", "time-beside-consumers"])
def test_an_exchange_leads_there_as_well(play: Any, name: str) -> None:
    text = ARISES[name].replace("@open 1", "@open 1 \n @exchange x q").replace("@consume", "@exchange x q \n @consume")
    text = text.replace("publish q m1", "publish q m1 exchange=x")
    assert name in met(play, name, text)


@pytest.mark.parametrize("name", NAMES)
def test_it_does_not_arise_beside_that(play: Any, name: str) -> None:
    assert name not in met(play, name, MISSES[name])


@pytest.mark.parametrize(
    "ended",
    ["1 > cancel r \n 1 < cancel-ok r \n", "1 > close \n 1 < close-ok \n", "1 > close \n 1 < close-ok \n @open 1 \n"],
)
@pytest.mark.parametrize(("tag", "arises"), [("r", True), ("s", False)])
def test_a_requester_may_have_the_tag_of_one_that_has_gone(play: Any, ended: str, tag: str, arises: bool) -> None:
    text = f"{LISTENS}{ended}@open 2 \n 2 > consume amq.rabbitmq.reply-to {tag} no_ack"
    assert ("requesters-share-a-tag" in met(play, "requesters-share-a-tag", text)) is arises


@pytest.mark.parametrize(
    ("declared", "arises"),
    [
        ("x-max-length-bytes=9 x-overflow=reject-publish", True),
        ("x-max-length=9 x-overflow=reject-publish", False),
        ("x-max-length-bytes=9", False),
        ("", False),
    ],
)
def test_a_queue_may_be_full_by_its_octets(play: Any, declared: str, arises: bool) -> None:
    text = f"@queue q classic {declared} \n @open 1 \n 1 > publish q m1 mandatory"
    assert ("mandatory-to-the-full" in met(play, "mandatory-to-the-full", text)) is arises
    ruled = RULED.format("x-max-length=9") + "1 > publish q m1 mandatory"
    assert "mandatory-to-the-full" in met(play, "mandatory-to-the-full", ruled)


@pytest.mark.parametrize(
    ("steps", "arises"),
    [
        ("@consume 1 q c \n 1 > get q", True),
        ("@open 1 \n 1 > get q \n 1 > consume q c", True),
        ("@open 1 \n 1 > get q \n 1 < get-empty \n 1 > consume q c", False),
        ("@consume 1 q c \n @open 2 \n 2 > get q", False),
    ],
)
def test_a_get_and_a_consumer_share_a_channel(play: Any, steps: str, arises: bool) -> None:
    assert ("channel-shared" in met(play, "channel-shared", f"@queue q \n {steps}")) is arises


@pytest.mark.parametrize(("seconds", "arises"), [(0.1, False), (0.6, True)])
def test_another_consumer_may_time_out_while_the_channel_waits_for_close_ok(
    play: Any, seconds: float, arises: bool
) -> None:
    first, second = BOTH_TIMED.split("@consume 1 q c2")
    text = f"{first}- wait 0.5 \n @consume 1 q c2{second}- wait 0.6 \n 1 < closed 406 0 0 timed out \n "
    assert "timed-out-together" not in met(play, "timed-out-together", text)
    text += f"- wait {seconds} \n 1 < closed 406 0 0 timed out"
    assert ("timed-out-together" in met(play, "timed-out-together", text)) is arises


def test_a_finding_stands_in_the_circumstances_of_its_own_channel(play: Any) -> None:
    crossing = BAD + "1 > close \n" + REFUSED + "1 > closed-ok \n"
    (found,) = play(crossing + "- deadline replies").judge.judgement.findings
    assert (found.rule, named(found.where)) == ("ERR-008", ["closes-cross"])
    beside = crossing + "1 < close-ok \n @open 2 \n 2 > close \n - deadline replies"
    (other,) = play(beside).judge.judgement.findings
    assert (other.rule, other.where) == ("ERR-008", ()), "channel 2 had nothing to do with it"


def test_the_number_of_a_channel_brings_nothing_along_from_its_former_life(play: Any) -> None:
    crossed = BAD + "1 > close \n" + REFUSED + "1 > closed-ok \n 1 < close-ok \n"
    again = play(crossed + "@open 1 \n @close 1 \n @open 1 \n 1 > close \n - deadline replies")
    (found,) = again.judge.judgement.findings
    assert found.where == ()


def test_what_is_borne_out_later_stands_in_the_circumstances_of_its_own_time(play: Any) -> None:
    starved = (
        "@queue q \n @stock q m1 m2 \n @hold 1 q m1 \n 1 > qos 1 global \n 1 < qos-ok \n "
        "@consume 1 q c1 \n 1 > ack 1 \n @barrier 1 \n - deadline replies \n"
    )
    doubtful = play(starved).judge.judgement.findings[-1]
    certain = play(starved + "@drain q m2").judge.judgement.findings[-1]
    assert (doubtful.rule, doubtful.certain) == (certain.rule, not certain.certain) == ("QOS-015", False)
    assert named(certain.where) == named(doubtful.where) == ["channel-limit-after-gets"]


def test_a_queue_that_was_young_at_one_kill_is_not_so_at_the_next(play: Any) -> None:
    """What is lost at the second is excused where nobody saw it between the two: it may have gone at the first."""
    kept = "@queue q durable \n @confirming 1 \n 1 > publish q m1 persistent \n 1 < ack 1 \n"
    opened = "d:2 > open \n d:2 < open-ok \n d:2 > get q \n"
    seen = opened + "d:2 < get-ok 1 m1 q persistent \n d:2 > nack 1 requeue \n d:2 > close \n d:2 < close-ok \n"

    def where(*steps: str) -> list[str]:
        asked = opened.replace("d:", "e:") + "- deadline replies"
        (found,) = play("".join((kept, *steps, asked))).judge.judgement.findings
        assert found.rule == "CNF-013"
        return named(found.where)

    kill, wait = " - killed \n", " - wait 3 \n"
    assert where(kill) == where(kill, wait, kill) == ["killed-young"]
    assert where(wait, kill) == where(kill, seen, wait, kill) == []


@pytest.mark.parametrize(
    ("steps", "where"),
    [
        ("90 > unexchange x \n d:1 > delete q \n", ["deletion-meets-that-of-exchange", "queue-deleted"]),
        ("d:1 > delete q \n 90 > unexchange x \n", ["deletion-meets-that-of-exchange", "queue-deleted"]),
        ("90 > unexchange y \n d:1 > delete q \n", ["queue-deleted"]),
        ("d:1 > unexchange x \n d:1 > delete q \n", ["queue-deleted"]),
        ("d:1 > unexchange x \n 90 > delete q \n", ["queue-deleted"]),
    ],
)
def test_deletions_meet_on_the_connection_that_deletes_the_queue(play: Any, steps: str, where: list[str]) -> None:
    """And only where the exchange is bound to the queue, and another channel deletes it."""
    setting = "@queue q \n @exchange x q \n @exchange y \n d:1 > open \n d:1 < open-ok \n "
    (found,) = play(setting + steps + "d:0 < kicked 541 0 0 INTERNAL_ERROR").judge.judgement.findings
    assert (found.rule, named(found.where)) == ("ERR-012", where)
