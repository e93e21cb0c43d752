"""What a run has reached: pairs of something that a client does and the state in which it does it.

A fold over the events of histories that looks at what the client sends, and judges nothing. A *deed* is a method in one
of its forms. A *state* is one thing that may be said of the channel, its connection or the queue at that moment: how
much it holds (a power of two), what it was used for before, what it did last. Each deed has one number, in which a bit
stands for each state, so a run's reach is a few numbers, and runs are joined by an `or`.

Not every pair can be reached by anybody: the share of all pairs compares runs, and says nothing by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from conformance.history.events import METHOD, TO_BROKER, TO_CLIENT, Event

FORMS: dict[str, tuple[str, ...]] = {
    "basic.ack": ("", "multiple"),
    "basic.nack": ("", "multiple", "requeue", "multiple requeue"),
    "basic.reject": ("", "requeue"),
    "basic.consume": ("", "no_ack"),
    "basic.get": ("", "no_ack"),
    "basic.publish": ("", "mandatory"),
    "basic.qos": ("", "global_"),
    "queue.declare": ("", "passive"),
    "exchange.declare": ("", "passive"),
    **dict.fromkeys(
        (
            "basic.cancel",
            "basic.recover",
            "confirm.select",
            "tx.select",
            "tx.commit",
            "tx.rollback",
            "queue.bind",
            "queue.unbind",
            "queue.purge",
            "queue.delete",
            "exchange.delete",
            "channel.close",
            "channel.flow",
        ),
        ("",),
    ),
}
"""The methods that count, and which of their bits make another deed."""
BITS = ("multiple", "no_ack", "mandatory", "global_", "passive", "requeue")
DEEDS = tuple(f"{method} {form}".strip() for method, forms in FORMS.items() for form in forms)
SIZES = ("unacked", "window", "tag", "unconfirmed", "ready", "octets")
POWERS = 17
USES = {
    "basic.qos": "qos",
    "confirm.select": "confirm",
    "tx.select": "tx",
    "basic.get": "get",
    "basic.cancel": "cancel",
    "basic.recover": "recover",
    "queue.delete": "deletion",
    "channel.open": "reopening",
}
"""What a channel or a connection may have been used for; opening counts from the second time on."""
NOWAIT = "nowait"
STATES = (
    *(f"{size} {2**power}" for size in SIZES for power in range(POWERS)),
    *(f"{scope} used {use}" for scope in ("channel", "connection") for use in (*USES.values(), NOWAIT)),
    "later connection",
    *(f"consumers {count}" for count in range(1, 5)),
    *(f"after {deed}" for deed in DEEDS),
)
_BIT = {state: 1 << place for place, state in enumerate(STATES)}
_ROW = {deed: place for place, deed in enumerate(DEEDS)}
_SIZE = {size: place * POWERS for place, size in enumerate(SIZES)}
TOTAL = len(DEEDS) * len(STATES)

Rows = list[int]
"""For each deed the states in which it was done."""


@dataclass(slots=True)
class _Life:
    """A channel from its opening on."""

    unacked: dict[int, None] = field(default_factory=dict)
    consumers: dict[str, tuple[str, bool]] = field(default_factory=dict)
    gets: list[tuple[str, bool]] = field(default_factory=list)
    tag: int = 0
    window: int = 0
    published: int = 0
    confirmed: int = 0
    confirm: bool = False
    used: int = 0
    last: int = 0


class Reach:
    """The fold. `rows` only grows; all else begins anew with each history."""

    def __init__(self) -> None:
        self.rows: Rows = [0] * len(DEEDS)
        self._history = ""
        self._lives: dict[tuple[str, int], _Life] = {}
        self._opened: set[tuple[str, int]] = set()
        self._connections: dict[str, int] = {}
        self._ready: dict[str, int] = {}

    def step(self, event: Event) -> None:
        if event.kind != METHOD or not event.channel:
            return
        if event.history != self._history:
            self._history = event.history
            self._lives, self._opened, self._connections, self._ready = {}, set(), {}, {}
        key = event.connection, event.channel
        life = self._lives.get(key) or self._lives.setdefault(key, _Life())
        if event.direction == TO_CLIENT:
            self._note_from_broker(life, event)
            return
        if event.direction == TO_BROKER:
            self._noted(life, key, event)
            self._done(life, event)

    # -- what the client does

    def _noted(self, life: _Life, key: tuple[str, int], event: Event) -> None:
        used = self._connections.setdefault(event.connection, 0 if not self._connections else _BIT["later connection"])
        row = _ROW.get(_deed(event.method, bool(event.multiple), event.flags), -1)
        if row >= 0:
            self.rows[row] |= used | life.used | life.last | self._sizes(life, event)
            life.last = _BIT[f"after {DEEDS[row]}"]
        use = USES.get(event.method)
        if event.method == "channel.open" and key not in self._opened:
            self._opened.add(key)
            use = None
        for one in (use, NOWAIT if "no_wait" in event.flags else None):
            if one is not None:
                life.used |= _BIT[f"channel used {one}"]
                self._connections[event.connection] |= _BIT[f"connection used {one}"]

    def _sizes(self, life: _Life, event: Event) -> int:
        queue = event.queue or event.routing_key or ""
        found = _power("unacked", len(life.unacked)) | _power("window", life.window) | _power("tag", life.tag)
        found |= _power("unconfirmed", life.published - life.confirmed) | _power("ready", self._ready.get(queue, 0))
        found |= _power("octets", event.body_size or 0)
        count = min(len(life.consumers), 4)
        return found | (_BIT[f"consumers {count}"] if count else 0)

    def _done(self, life: _Life, event: Event) -> None:
        method = event.method
        if method == "basic.publish":
            key = event.routing_key or ""
            self._ready[key] = self._ready.get(key, 0) + 1
            life.published += life.confirm
        elif method in ("basic.ack", "basic.nack", "basic.reject"):
            _settled(life, event)
        elif method == "basic.consume":
            life.consumers[event.consumer_tag or ""] = event.queue or "", "no_ack" in event.flags
        elif method == "basic.get":
            life.gets.append((event.queue or "", "no_ack" in event.flags))
        elif method == "basic.qos":
            life.window = int(event.args.get("prefetch_count", 0))
        elif method == "confirm.select":
            life.confirm = True
        elif method == "basic.cancel":
            life.consumers.pop(event.consumer_tag or "", None)
        elif method in ("queue.purge", "queue.delete"):
            self._ready.pop(event.queue or "", None)
        elif method in ("channel.close", "channel.close-ok"):
            self._over(event)

    # -- what the broker says

    def _note_from_broker(self, life: _Life, event: Event) -> None:
        method = event.method
        if method == "basic.deliver":
            self._came(life, event, *life.consumers.get(event.consumer_tag or "", ("", True)))
        elif method in ("basic.get-ok", "basic.get-empty"):
            queue, no_ack = life.gets.pop(0) if life.gets else ("", True)
            if method == "basic.get-ok":
                self._came(life, event, queue, no_ack)
        elif method in ("basic.ack", "basic.nack"):
            number = event.delivery_tag or 0
            life.confirmed = max(life.confirmed, number) if event.multiple else min(life.confirmed + 1, life.published)

    def _came(self, life: _Life, event: Event, queue: str, no_ack: bool) -> None:
        life.tag = event.delivery_tag or 0
        self._ready[queue] = max(self._ready.get(queue, 0) - 1, 0)
        if not no_ack:
            life.unacked[life.tag] = None

    def _over(self, event: Event) -> None:
        self._lives.pop((event.connection, event.channel), None)


@cache
def _deed(method: str, multiple: bool, flags: str) -> str:
    if len(FORMS.get(method, ("",))) == 1:
        return method
    said = {*flags.split(), *["multiple"] * multiple}
    form = " ".join(bit for bit in BITS if bit in said)
    return f"{method} {form}".strip()


def _power(size: str, number: int) -> int:
    """The bit of the largest power of two up to this number; none of 0."""
    return 1 << (_SIZE[size] + min(number.bit_length(), POWERS) - 1) if number > 0 else 0


def _settled(life: _Life, event: Event) -> None:
    tag = event.delivery_tag or 0
    if not event.multiple:
        life.unacked.pop(tag, None)
    else:
        life.unacked = {one: None for one in life.unacked if tag and one > tag}


# -- what was reached, by numbers and words


def joined(all_rows: Iterable[Sequence[int]]) -> Rows:
    """What any of them reached."""
    total = [0] * len(DEEDS)
    for rows in all_rows:
        total = [one | other for one, other in zip(total, rows, strict=True)]
    return total


def count(rows: Iterable[int]) -> int:
    return sum(row.bit_count() for row in rows)


def missing(rows: Sequence[int]) -> Iterator[tuple[str, str]]:
    """Deeds and states that were never together. What was never done at all counts with each state."""
    for deed, row in zip(DEEDS, rows, strict=True):
        yield from ((deed, state) for state, bit in _BIT.items() if not row & bit)


def packed(rows: Iterable[int]) -> str:
    """As text that travels; nothing where nothing was reached."""
    return ".".join(f"{row:x}" for row in rows) if any(rows := list(rows)) else ""


def unpacked(text: str) -> Rows:
    return [int(row, 16) for row in text.split(".")] if text else [0] * len(DEEDS)
