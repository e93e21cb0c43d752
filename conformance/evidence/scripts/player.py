"""Plays the reproducer of a case again, and compares what comes with what came then.

A wire has four verbs. `connect(name, capabilities)` opens a connection, `send(connection, rows)` sends what the client
sends, in one write where it can, `receive(seconds)` gives the frames that have come, each a dict with `on`, `channel`,
`method` and the method's fields (`message` names what a content frame carries, `headers` are its own), and
`hang_up(connection)` ends one.
What a wire cannot do it says with Inconclusive.

The reproducer is a list of rows. The client's rows are played in order; before each, what the broker had said by then
is waited for. The last row is where the rule was contradicted. What the wrong broker did is seen again if all that it
said in the reproducer is said again, the last of it to the letter, or where it kept silent, if it is silent again. That
the broker is right cannot be told without the whole suite; that it did something else at this place can.
"""

import time
from typing import Any

BROKEN, ELSE, UNCLEAR = 1, 0, 2

LOOSE = {
    "basic.deliver": ("message", "consumer_tag"),
    "basic.get-ok": ("message",),
    "basic.return": ("message",),
    "channel.close": ("reply_code",),
    "connection.close": ("reply_code",),
    "basic.cancel": ("consumer_tag",),
}
TAKEN = ("basic.deliver", "basic.get-ok", "basic.get-empty")
CONFIRMS = ("basic.ack", "basic.nack")
NOT_IMPLEMENTED = 540
"""A broker that says so does not offer what it takes to go wrong in this way."""
ENDS = ("channel.close", "connection.close", "end")
BESIDE = ("n", "who", "on", "channel", "method", "decisive", "seconds", "within", "first", "after", "words")
"""Of a row: what is no part of the frame."""
COUNTERS = ("x-acquired-count", "x-delivery-count")
"""Headers by which a quorum queue tells how often a message was out before."""


class Inconclusive(Exception):
    """The exchange could not be repeated as far as the place in question."""


class Otherwise(Exception):
    """The broker did something else than in the reproducer, where it matters."""


def place(row: dict[str, Any]) -> tuple[str, int]:
    return row["on"], row.get("channel", 0)


def counts(frame: dict[str, Any]) -> dict[str, Any]:
    """What the headers of a delivery count."""
    headers = frame.get("headers") or {}
    return {name: headers[name] for name in COUNTERS if name in headers}


def in_words(row: dict[str, Any]) -> str:
    """A frame in a few words."""
    names = ("delivery_tag", "message", "reply_code", "reply_text", "consumer_tag", "queue")
    words = [str(row[name]) for name in names if row.get(name) not in (None, "")]
    flags = [flag for flag in ("multiple", "redelivered") if row.get(flag)]
    counted = [f"{name}={count}" for name, count in counts(row).items()]
    return " ".join([row["method"], *words, *flags, *counted, f"on {row['on']}.{row.get('channel', 0)}"])


class Player:
    """One performance. `names` are the reproducer's {names}, and what they are called this time; `missed` is the step
    at which the broker did something else before the end."""

    def __init__(self, reproducer: list[dict[str, Any]], wire: Any, prefix: str, wait: float = 3.0) -> None:
        self.steps, self.wire, self.prefix, self.wait = reproducer, wire, prefix, wait
        self.names: dict[str, str] = {}
        self.fresh: list[dict[str, Any]] = []
        self.came: dict[int, dict[str, Any]] = {}
        self.confirmed: set[tuple[str, int, int]] = set()
        self.published: dict[tuple[str, int], int] = {}
        self.said = ""
        self.missed = 0
        self.heard = 0

    def play(self) -> int:
        """BROKEN, ELSE or UNCLEAR; `said` tells why."""
        try:
            for group in self._groups():
                if group[0]["who"] == "<":
                    self._expect(group)
                else:
                    self._act(group)
        except Otherwise as otherwise:
            self.said = f"The broker does something else now: {otherwise}."
            return ELSE
        except Inconclusive as unclear:
            self.said = f"The exchange cannot be replayed: {unclear}."
            return UNCLEAR
        self.said = f"Seen again: {self._sight()}."
        return BROKEN

    def fill(self, value: Any) -> Any:
        """A value of the reproducer with its {names} and @steps as they are this time."""
        if isinstance(value, dict):
            return {name: self.fill(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.fill(inner) for inner in value]
        if isinstance(value, str) and value[:1] == "@" and value[1:].isdecimal():
            if int(value[1:]) not in self.came:
                raise Inconclusive(f"the delivery of step {value[1:]} has not come")
            return self.came[int(value[1:])]["delivery_tag"]
        if isinstance(value, str) and value[:1] == "{" and value[-1:] == "}":
            return self.names.get(value, self.prefix + value[1:-1])
        return value

    def _groups(self) -> list[list[dict[str, Any]]]:
        """What the client sends together, and what comes between."""
        groups: list[list[dict[str, Any]]] = []
        for row in self.steps:
            if groups and row["who"] == groups[-1][0]["who"] and row["who"] != "-":
                groups[-1].append(row)
            else:
                groups.append([row])
        return groups

    # -- what the client does

    def _act(self, group: list[dict[str, Any]]) -> None:
        if group[0]["who"] == ">":
            for name in dict.fromkeys(row["on"] for row in group):
                rows = [self.fill(row) for row in group if row["on"] == name]
                for row in rows:
                    self._count(row)
                self.wire.send(name, rows)
        else:
            getattr(self, "_" + group[0]["method"])(group[0])

    def _count(self, row: dict[str, Any]) -> None:
        if row["method"] in ("channel.open", "confirm.select"):
            self.published[place(row)] = 0
            self.confirmed = {one for one in self.confirmed if one[:2] != place(row)}
        elif row["method"] == "basic.publish":
            self.published[place(row)] = self.published.get(place(row), 0) + 1

    def _connect(self, row: dict[str, Any]) -> None:
        self.wire.connect(row["on"], row["capabilities"])

    def _hang_up(self, row: dict[str, Any]) -> None:
        self.wire.hang_up(row["on"])

    def _pause(self, row: dict[str, Any]) -> None:
        until = time.monotonic() + row["seconds"]
        while time.monotonic() < until:
            self._read(until - time.monotonic())

    def _silence(self, row: dict[str, Any]) -> None:
        """In the reproducer nothing of what is awaited came."""
        until = time.monotonic() + max(self.wait, row.get("seconds", 0))
        while time.monotonic() < until:
            self._relief()
            self._read(until - time.monotonic())
        self._relief()

    def _drain(self, row: dict[str, Any]) -> None:
        """In the reproducer these messages never came out of the queue again."""
        until = time.monotonic() + self.wait
        here, by = {"who": ">", "on": row["on"], "channel": 200}, row.get("by", "basic.get")
        take = {**here, "method": by, "no_ack": True, "queue": self.fill(row["queue"])}
        self.wire.send(row["on"], [{**here, "method": "channel.open"}])
        if by == "basic.consume":
            self.wire.send(row["on"], [{**take, "consumer_tag": "drain", "arguments": {}}])
        while time.monotonic() < until:
            self._relief()
            if by == "basic.get":
                self.wire.send(row["on"], [take])
            self._read(0.2)
        self._relief()

    # -- what the broker says

    def _read(self, seconds: float) -> bool:
        found = False
        for frame in self.wire.receive(max(0.0, min(seconds, 0.5))):
            found = True
            if frame["method"] in CONFIRMS:
                self._settle(frame)
            self.heard += 1
            self.fresh.append({**frame, "heard": self.heard})
        return found

    def _settle(self, frame: dict[str, Any]) -> None:
        tag = frame["delivery_tag"] or self.published.get(place(frame), 0)
        for number in range(1 if frame.get("multiple") else tag, tag + 1):
            self.confirmed.add((*place(frame), number))

    def _expect(self, group: list[dict[str, Any]]) -> None:
        last = group[-1] is self.steps[-1]
        for row in group[:-1] if last else group:
            self._wait_for(row, last)
        if last:
            self._wait_for_sight(group)

    def _wait_for(self, row: dict[str, Any], last: bool) -> None:
        """A frame that came in the reproducer comes again; if not, the reason decides what can be said."""
        until = time.monotonic() + max(self.wait, row.get("seconds", 0))
        while not self._found(row):
            self._relief()
            stranger = self._stranger(row)
            if stranger or time.monotonic() > until:
                instead = (
                    f"{in_words(stranger)} instead of {in_words(row)}" if stranger else f"{in_words(row)} does not come"
                )
                self.missed = row["n"]
                refused = stranger is not None and stranger.get("reply_code") == NOT_IMPLEMENTED
                raise (Otherwise if last or refused or row.get("decisive") else Inconclusive)(instead)
            self._read(until - time.monotonic())

    def _found(self, row: dict[str, Any]) -> bool:
        if row["method"] in CONFIRMS and not row.get("decisive"):
            tag = row["delivery_tag"] or self.published.get(place(row), 0)
            if (*place(row), tag) in self.confirmed:
                self.fresh = [
                    frame for frame in self.fresh if not self._alike(row, frame, ("delivery_tag", "multiple"))
                ]
                return True
            return False
        for frame in self.fresh:
            if self._alike(row, frame, LOOSE.get(row["method"], ())):
                self._take(row, frame)
                return True
        return False

    def _take(self, row: dict[str, Any], frame: dict[str, Any]) -> None:
        self.fresh = [other for other in self.fresh if other is not frame]
        self.came[row["n"]] = frame
        for name in ("queue", "consumer_tag"):
            value = row.get(name)
            if isinstance(value, str) and value.startswith("{") and frame.get(name) and value not in self.names:
                self.names[value] = frame[name]

    def _alike(self, row: dict[str, Any], frame: dict[str, Any], fields: Any) -> bool:
        if place(row) != place(frame) or row["method"] != frame["method"]:
            return False
        seen = {**frame, "counts": counts(frame)}
        return all(self._same(row[name], seen.get(name)) for name in fields if name in row)

    def _same(self, wanted: Any, found: Any) -> bool:
        if isinstance(wanted, str) and wanted.startswith("{") and wanted not in self.names:
            return bool(found) and (found == self.fill(wanted) or wanted[1] == "t" or wanted[1] == "s")
        return bool(self.fill(wanted) == found)

    def _wait_for_sight(self, group: list[dict[str, Any]]) -> None:
        """The frame that contradicts the rule: the next of its kind on its channel, to the letter."""
        row = group[-1]
        until = time.monotonic() + row.get("within", max(self.wait, row.get("seconds", 0)))
        while True:
            kin = [frame for frame in self.fresh if place(frame) == place(row) and self._akin(row, frame)]
            if kin:
                self._nothing_else_first(row, kin[0])
                fields = [name for name in row if name not in BESIDE]
                if self._alike(row, kin[0], fields):
                    self._take(row, kin[0])
                    return
                raise Otherwise(f"{in_words(kin[0])} instead of {in_words(row)}")
            stranger = self._stranger(row)
            if stranger or time.monotonic() > until:
                raise Otherwise(
                    f"{in_words(stranger)} instead of {in_words(row)}" if stranger else f"no {in_words(row)} comes"
                )
            self._read(until - time.monotonic())

    def _nothing_else_first(self, row: dict[str, Any], sight: dict[str, Any]) -> None:
        """In the reproducer some answers had not come yet, and where the order is the matter, all else had."""
        for frame in self.came.values() if row.get("after") else ():
            if place(frame) == place(row) and frame["heard"] > sight["heard"]:
                raise Otherwise(f"{in_words(sight)} comes before {in_words(frame)}")
        for frame in (one for one in self.fresh if one["heard"] < sight["heard"]):
            for one in row.get("first", ()):
                if place(frame) == place(row) and all(self._same(one[name], frame.get(name)) for name in one):
                    raise Otherwise(f"{in_words(frame)} comes before {in_words(sight)}")

    def _akin(self, row: dict[str, Any], frame: dict[str, Any]) -> bool:
        if row["method"] in TAKEN:
            return frame["method"] in TAKEN
        if row["method"] in CONFIRMS or row["method"] == "basic.return":
            return frame["method"] in (*CONFIRMS, "basic.return")
        return bool(row["method"] == frame["method"])

    def _stranger(self, row: dict[str, Any]) -> dict[str, Any] | None:
        """An end that the reproducer does not have, or another answer to the same get."""
        for frame in self.fresh:
            if self._ends(row, frame):
                return frame
            if (
                row["method"].startswith("basic.get-")
                and frame["method"].startswith("basic.get-")
                and place(row) == place(frame)
            ):
                return frame
        return None

    def _ends(self, row: dict[str, Any], frame: dict[str, Any]) -> bool:
        """Is this an end of its channel or connection that the reproducer does not have?"""
        if frame["method"] not in ENDS or frame["on"] != row["on"] or frame["channel"] not in (0, row["channel"]):
            return False
        known = any(self._alike(one, frame, ("reply_code",)) for one in self.steps if one["who"] == "<")
        return not known or frame["method"] == "end"

    def _relief(self) -> None:
        """Has something come that was missing in the reproducer, or an end that it does not have?"""
        row = self.steps[-1]
        if row["who"] != "-":
            return
        for frame in self.fresh:
            for one in row.get("awaited", ()):
                if self._ends(one, frame):
                    raise Otherwise(f"{in_words(frame)} comes")
                if place(one) == place(frame) and frame["method"] in one["methods"]:
                    raise Otherwise(f"{in_words(frame)} comes")
            if frame.get("message") in row.get("missing", ()) and frame["method"] in TAKEN:
                raise Otherwise(f"{in_words(frame)} comes out of the queue")
        for one in row.get("unconfirmed", ()):
            if (*place(one), one["number"]) in self.confirmed:
                raise Otherwise(f"publish {one['number']} on {one['on']}.{one['channel']} is confirmed")

    def _sight(self) -> str:
        row = self.steps[-1]
        if row["who"] == "<":
            return in_words(self.came[row["n"]])
        return str(row.get("about", "silence"))
