"""The ready messages of one queue, always in the order of their publication.

Two stores: `fresh` is a deque that only grows at its tail, so its positions ascend by themselves;
`returned` is a heap by position that holds what consumers gave back. The head of the queue is the
smaller of the two heads. A message that never comes back costs two constant-time operations at any
depth, one that does costs a logarithm of how many are back at the same time, and it re-enters at
exactly its original place, whatever the order in which several are returned.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush

from reference_broker.message import Entry


class Ready:
    __slots__ = ("fresh", "octets", "returned")

    def __init__(self) -> None:
        self.fresh: deque[Entry] = deque()
        self.returned: list[tuple[float, Entry]] = []
        self.octets = 0

    def __len__(self) -> int:
        return len(self.fresh) + len(self.returned)

    def push(self, entry: Entry) -> None:
        self.fresh.append(entry)
        self.octets += len(entry.message.body)

    def put_back(self, entry: Entry) -> None:
        heappush(self.returned, (entry.position, entry))
        self.octets += len(entry.message.body)

    def head(self) -> Entry:
        if self._returned_first():
            return self.returned[0][1]
        return self.fresh[0]

    def pop(self) -> Entry:
        entry = heappop(self.returned)[1] if self._returned_first() else self.fresh.popleft()
        self.octets -= len(entry.message.body)
        return entry

    def _returned_first(self) -> bool:
        returned, fresh = self.returned, self.fresh
        return bool(returned) and (not fresh or returned[0][0] < fresh[0].position)
