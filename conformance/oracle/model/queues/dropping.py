"""What a queue does with messages by itself: it drops them over a limit, and hands on those that it discards.

A limit counts as reached once as many messages may have come as it allows; from then on the queue is lossy, and nobody
owes anything of it. Where its dead letters go the same is true: what comes from a queue that drops is unseen. A message
that was discarded for certain must arrive there, hidden until it is seen; but not where the queue itself may be gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.oracle.model import memory
from conformance.oracle.model.records import DEAD, GONE, WAITING, Copy, Settlement

if TYPE_CHECKING:
    from conformance.oracle.model.queues.queue import Queue


def admit(queue: Queue) -> None:
    """One more message may come into it, and be more than its limit allows."""
    queue.came += 1
    if queue.ample is not None and queue.came > queue.ample:
        overflow(queue)


def overflow(queue: Queue) -> None:
    """Its limit may have been reached, or may be at any time: it may drop messages, into where it drops them."""
    if queue.ample is None:
        return
    queue.ample, queue.lossy, disturbed = None, True, queue.disturbed
    for copy in queue.copies.values():
        copy.fleeting = copy.unowed = True
    queue.doubt()
    queue.disturbed = disturbed if queue.room is not None else True  # what it has no room for it turns away
    if queue.dead_letters is not None:
        inherit(queue.dead_letters)


def inherit(queue: Queue) -> None:
    """What another queue drops comes into it, unseen."""
    queue.opaque = True
    overflow(queue)


def end_returns(queue: Queue, copy: Copy, at: int) -> None:
    """It was returned once more than the limit allows: gone, or handed on."""
    copy.place, copy.spent = GONE, True
    queue.orders.drop(copy.id)
    memory.gone(queue, copy)
    if copy.holder is not None:
        queue.settled.append(copy.holder)
    bury(queue, copy, copy.settlement, at)


def bury(queue: Queue, copy: Copy, settlement: Settlement | None, at: int, *, certain: bool = True) -> None:
    """A message that was discarded appears where this queue sends such messages, some time later; or perhaps."""
    target = queue.dead_letters
    if target is not None and not target.deleted:
        admit(target)
        dead = Copy(copy.id, target, at, entered=at, entry=DEAD, settlement=settlement, hidden=True)
        dead.inherited, dead.former = True, copy.publication or copy.former
        dead.fleeting = dead.unowed = target.lossy or queue.kind != "classic" or queue.deleted > 0 or not certain
        dead.indeterminate = dead.ambiguous = not certain
        target.put(dead)


def exhume(copy: Copy, settlement: Settlement | None) -> None:
    """Nobody knows whether this settlement has discarded the message: so nobody owes its dead letter either."""
    heir = copy.queue.dead_letters
    dead = heir.copies.get(copy.id) if heir is not None and settlement is not None else None
    if dead is not None and dead.settlement is settlement and dead.place == WAITING:
        dead.ambiguous = True
        dead.queue.unsettle(dead, indeterminate=True)


def disinherit(queue: Queue) -> None:
    """It may be gone before it has sent what was discarded last."""
    heir = queue.dead_letters
    for copy in list(heir.copies.values()) if heir is not None else ():
        if heir is not None and copy.entry == DEAD and copy.hidden:
            copy.fleeting = True
            heir.unsettle(copy, indeterminate=False)
