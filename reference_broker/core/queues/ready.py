"""The ready messages of one queue, in the order in which they leave it.

Two stores: `fresh` is a deque that only grows at its tail, so its positions ascend by themselves;
`returned` is a heap of what consumers gave back, by rank. The head of the queue is the smaller of the
two heads. A message that never comes back costs two constant-time operations at any depth, one that
does costs a logarithm of how many are back at the same time.

What the rank is depends on the queue's order of returns. "original": its position, so that it
re-enters at exactly its original place, whatever the order in which several are returned.
"returns-first": a number below all positions that grows with each return, so that returned messages
stand in line before the fresh ones. "tail": there is none, it is appended like a fresh one. A queue
with priorities keeps everything in the heap, the position within the priority being the rank.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from operator import itemgetter
from typing import Literal

from reference_broker.core.queues.message import Entry

Order = Literal["original", "returns-first", "tail", "by-priority"]
BEFORE_ALL_POSITIONS = -(2**62)


class Ready:
    __slots__ = ("fresh", "last_return", "max_priority", "octets", "order", "returned")

    def __init__(self, order: Order = "original", max_priority: int = 0) -> None:
        self.order = order
        self.max_priority = max_priority
        self.last_return = BEFORE_ALL_POSITIONS
        self.fresh: deque[Entry] = deque()
        self.returned: list[tuple[float, Entry]] = []
        self.octets = 0

    def __len__(self) -> int:
        return len(self.fresh) + len(self.returned)

    def push(self, entry: Entry) -> None:
        if self.max_priority:
            heappush(self.returned, (self.rank(entry), entry))
        else:
            self.fresh.append(entry)
        self.octets += len(entry.message.body)

    def put_back(self, entry: Entry) -> None:
        if self.order == "tail":
            self.fresh.append(entry)
        else:
            heappush(self.returned, (self.rank(entry), entry))
        self.octets += len(entry.message.body)

    def rank(self, entry: Entry) -> float:
        """Smaller is sooner."""
        if self.order == "original":
            return entry.position
        if self.order == "by-priority":
            priority = min(entry.message.header.priority or 0, self.max_priority)
            return entry.position + priority * BEFORE_ALL_POSITIONS
        self.last_return += 1
        return self.last_return

    def entries(self) -> list[Entry]:
        """All of them: first what was returned, in the order in which it leaves, then what never left."""
        return [*(entry for _, entry in sorted(self.returned, key=itemgetter(0))), *self.fresh]

    def head(self) -> Entry:
        if self._returned_first():
            return self.returned[0][1]
        return self.fresh[0]

    def pop(self) -> Entry:
        if self.returned and self._returned_first():
            entry = heappop(self.returned)[1]
        else:
            entry = self.fresh.popleft()
        self.octets -= len(entry.message.body)
        return entry

    def _returned_first(self) -> bool:
        returned, fresh = self.returned, self.fresh
        return bool(returned) and (not fresh or returned[0][0] < fresh[0].position)
