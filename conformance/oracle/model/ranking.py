"""Circumstances of priorities: messages with a higher one than their queue has, or that may expire before others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from conformance.history.events import Event

if TYPE_CHECKING:
    from conformance.oracle.model.model import Model

PRIORITY = re.compile(r'"priority": (\d+)')
EVERYWHERE = ""


def published(model: Model, event: Event) -> Iterator[tuple[str, str]]:
    """By the default exchange: what takes it out of the queue may be any connection."""
    if '"expiration"' in event.arguments and not event.exchange:
        ranked = model.queues.get(event.routing_key or "")
        if ranked is not None and ranked.levels:
            yield EVERYWHERE, "expires-among-priorities"
    queue = (
        model.queues.get(event.routing_key or "") if '"priority"' in event.arguments and not event.exchange else None
    )
    found = PRIORITY.search(event.arguments) if queue is not None and queue.levels else None
    if queue is not None and found is not None and int(found[1]) > queue.levels:
        yield EVERYWHERE, "priority-above-maximum"
