"""For each disagreement of two brokers, the shortest exchange on which they differ, played on both.

Two brokers that are each right by their own profile may still differ, so each is held to what the other is held to as
well: the scenes and machines of the suite are played on both, by both profiles. What contradicts a rule on the one and
not on the other is a disagreement. Its history is sliced, told as a reproducer, and tried: the one broker must do again
what was seen, and the other something else at that place; then the reproducer is made shorter for as long as that stays
so. In the end it is played three times on both, and what each of them answered to its last step is written down. A
disagreement of which no reproducer passes is listed with the reason, and nothing is claimed of it.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from conformance.campaigns.trial import AGAIN, LONGEST_PAUSE, MOST_ROWS, Trial, address, candidates, cleaned
from conformance.catalogue import rules
from conformance.catalogue.profiles import Profile
from conformance.diff.sides import Side
from conformance.drive.drivers.target import Target
from conformance.drive.run.bench import Bench
from conformance.drive.run.plays import Play, plays_for
from conformance.drive.run.runner import observe
from conformance.evidence.reproducer import Row, Untellable, reproducer_of
from conformance.evidence.scripts import player, raw
from conformance.evidence.shrinking import shortest
from conformance.history.events import Event
from conformance.oracle.verdicts import Finding, Judgement
from conformance.outcome.exchanges import cut
from conformance.outcome.ledger import gist
from conformance.outcome.readings import between
from conformance.session.interrupts import results

SCHEMA = "amqp-conformance/differential/1"
SEARCH, SHRINK = 45.0, 20.0
"""Seconds for one disagreement: to find a reproducer that passes, and of these to make it shorter."""
HASTE = 1.0
"""Seconds that a broker gets while a reproducer is made shorter: a part that it would have done without may stay."""
TRIES = 3
_BROOM = 800
"""The player's own channel, by which it looks into a queue."""

Kind = tuple[str, str, str]
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Sighting:
    """A contradiction on one broker, in the shortest history that shows it; a scene's, where there is one, since that
    is told more plainly than a machine's."""

    scene: str
    queue_type: str
    profile: Profile
    events: Sequence[Event]
    finding: Finding
    machine: bool = False

    @property
    def length(self) -> tuple[bool, int]:
        return self.machine, len(self.events)


Disagreements = dict[tuple[str, str], list[tuple[Side, Side, Sighting]]]
"""By rule, and by the broker that contradicts it by its own profile; none where it does so by the profile of the other:
what each of the two does by the profile of the other is one difference, seen from two sides."""


@dataclass(frozen=True, slots=True)
class PlayedOnBoth:
    """A reproducer that was played on both, and what each answered to its last step."""

    story: tuple[Row, ...]
    answers: Mapping[str, tuple[str, ...]]


def explain(before: Side, after: Side, wanted: Collection[str], say: Say) -> dict[str, Any]:
    """The document of all disagreements on these rules; see `reports.compatibility`."""
    found: Disagreements = {}
    scenes, own = 0, set[tuple[str, Kind]]()
    ordered = {side.profile.name: side.profile for side in (after, before)}.values()
    for profile in ordered:
        old, new = _side_by_side((before, after), profile, wanted, say)
        scenes += old[0] + new[0]
        for one, other, here, there in ((before, after, old[1], new[1]), (after, before, new[1], old[1])):
            by_itself = one.profile.name == profile.name
            own |= {(one.name, kind) for kind in here if by_itself}
            for kind in here:
                if kind not in there:
                    found.setdefault((kind[0], one.name if by_itself else ""), []).append((one, other, here[kind]))
    found = _without_echoes(found, own)
    told, untold = _group_disagreements(found, say)
    return {
        "schema": SCHEMA,
        "before": _about(before),
        "after": _about(after),
        "scenes": scenes,
        "played": AGAIN,
        "disagreements": told,
        "untold": untold,
        "choices": [asdict(choice) for choice in between(before.profile, after.profile, wanted)],
    }


def _without_echoes(found: Disagreements, own: Collection[tuple[str, Kind]]) -> Disagreements:
    """What a broker contradicts by its own profile it contradicts by that of the other as well: told once."""
    kept = {
        (rule, name): [each for each in seen if name or (each[0].name, _kind(each[2])) not in own]
        for (rule, name), seen in found.items()
    }
    return {key: seen for key, seen in kept.items() if seen}


def _kind(sighting: Sighting) -> Kind:
    return sighting.finding.rule, gist(sighting.finding.observed), sighting.queue_type


def _about(side: Side) -> dict[str, str]:
    return {"name": side.name, "profile": side.profile.name, "title": side.profile.title}


def _side_by_side(
    sides: Sequence[Side],
    profile: Profile,
    wanted: Collection[str],
    say: Say,
) -> list[tuple[int, dict[Kind, Sighting]]]:
    """The sightings of all sides, which are played at the same time. An interrupt ends them after the scene they are
    in."""
    stop = threading.Event()
    with ThreadPoolExecutor(len(sides)) as pool:
        try:
            played = partial(_sightings, profile=profile, wanted=wanted, say=say, stop=stop)
            return results([pool.submit(played, side) for side in sides])
        except BaseException:
            stop.set()
            raise


def _sightings(
    side: Side,
    profile: Profile,
    wanted: Collection[str],
    say: Say,
    stop: threading.Event,
) -> tuple[int, dict[Kind, Sighting]]:
    """How many scenes were played, and what contradicts these rules in them, by rule, words and queue type."""
    found: dict[Kind, Sighting] = {}
    chosen = [one for one in plays_for(list(wanted), profile, "smoke") if not one.machine]
    machines = [one for one in plays_for(list(wanted), profile, "smoke") if one.machine]
    for one in itertools.takewhile(lambda _: not stop.is_set(), (*chosen, *machines)):
        for sighting in _seen(one, side.held_to(profile)):
            kind = _kind(sighting)
            if kind[0] in wanted and (kind not in found or sighting.length < found[kind].length):
                found[kind] = sighting
    if stop.is_set():
        return 0, {}
    say(
        f"{side.name}, judged by the profile {profile.name}: {len(chosen)} scenes and {len(machines)} machines, "
        f"{len({rule for rule, *_ in found})} rules contradicted"
    )
    return len(chosen), found


def _seen(one: Play, bench: Bench) -> list[Sighting]:
    """What contradicts a rule in the histories of a scene or a machine; it may end before its time."""
    seen: list[Sighting] = []

    def witness(judgement: Judgement, history: Sequence[Event]) -> None:
        for finding in judgement.findings:
            if finding.certain:
                events = [event for event in history if event.history == finding.history]
                seen.append(Sighting(one.name, one.queue_type, bench.profile, events, finding, one.machine))

    with contextlib.suppress(Exception):  # a broker may do anything to a machine; what was seen by then was seen
        observe(one, bench, witness)
    return seen


def _group_disagreements(found: Disagreements, say: Say) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The disagreements that an exchange shows, those that one exchange shows together; and the others."""
    shown: dict[str, dict[str, Any]] = {}
    untold: list[dict[str, Any]] = []
    order = list(rules.CATALOGUE)
    for (rule, _), seen in sorted(found.items(), key=lambda item: (order.index(item[0][0]), item[0][1])):
        for one, other, sighting in sorted(seen, key=lambda each: each[2].length)[:TRIES]:
            result = _tried(one, other, sighting)
            if isinstance(result, PlayedOnBoth):
                break
        say(
            f"{rule}: {len(result.story)} steps" if isinstance(result, PlayedOnBoth) else f"{rule}: not shown, {result}"
        )
        about = {
            "rule": rule,
            "title": rules.get(rule).title,
            "clause": rules.get(rule).clause,
            "broker": one.name,
            "other": other.name,
            "profile": sighting.profile.name,
            "scene": sighting.scene,
            "queue_type": sighting.queue_type,
            "allowed": sighting.finding.allowed,
            "observed": sighting.finding.observed,
        }
        if isinstance(result, str):
            untold.append({**about, "why": result})
            continue
        entry = shown.setdefault(
            _gist_of(result),
            {
                "story": list(result.story),
                "rules": [],
                "answers": {side: list(lines) for side, lines in result.answers.items()},
            },
        )
        entry["rules"].append(about)
    return list(shown.values()), untold


def _gist_of(shown: PlayedOnBoth) -> str:
    """What two exchanges have in common that are the same: what the client does, and what the two answer."""
    return repr(([row for row in shown.story if row["who"] != "<"], sorted(shown.answers.items())))


def _tried(one: Side, other: Side, sighting: Sighting) -> PlayedOnBoth | str:
    """The shortest reproducer on which the two differ each time, or why there is none."""
    finding, profile = sighting.finding, sighting.profile
    wait = max(one.wait, other.wait)
    patient, hasty = (
        Trial(one.target, seconds, other=other.target, budget=SEARCH) for seconds in (wait, min(wait, HASTE))
    )

    def differ(rows: Sequence[Row], trial: Trial = hasty) -> bool:
        return trial.here(rows) == player.BROKEN and trial.honest(rows) == player.ELSE

    why = "no exchange that was tried reproduces it on one broker and not on the other"
    for events in candidates(sighting.events, cut(sighting.events, finding, profile), finding):
        try:
            rows = reproducer_of(events, finding.at, finding.rule, profile)
        except Untellable as untellable:
            return str(untellable)
        if len(rows) > MOST_ROWS or sum(row.get("seconds", 0) for row in rows if row["who"] == "-") > LONGEST_PAUSE:
            return "trying it would take too long"
        if differ(rows, patient):
            for tale in (shortest(rows, differ, SHRINK), rows):
                shown = _performed(tale, one, other, wait)
                if shown is not None:
                    return shown
            why = "it does not happen each time"
    return why


def _performed(rows: Sequence[Row], one: Side, other: Side, wait: float) -> PlayedOnBoth | None:
    """The reproducer played several times on both; None where they do not differ each time."""
    answers: dict[str, tuple[str, ...]] = {}
    for _ in range(AGAIN):
        for side, verdict in ((one, player.BROKEN), (other, player.ELSE)):
            said, answers[side.name] = _listened(rows, side.target, wait)
            if said != verdict:
                return None
    return PlayedOnBoth(tuple(rows), answers)


def _listened(rows: Sequence[Row], target: Target, wait: float) -> tuple[int, tuple[str, ...]]:
    """One performance: its verdict, and what came after the last that the client sent."""
    wire = Listening(raw.Wire(address(target)))
    try:
        verdict = player.Player(list(rows), wire, f"amqpconf.{uuid.uuid4().hex[:12]}.", wait).play()
    except Exception:  # a broker that goes away, in whatever way
        return player.UNCLEAR, ()
    finally:
        cleaned(wire)
    return verdict, wire.answers()


class Listening:
    """A wire that keeps what the broker says after the last that the client sends."""

    def __init__(self, wire: Any) -> None:
        self._wire, self._heard, self._sent = wire, list[str](), time.monotonic()

    def connect(self, name: str, capabilities: dict[str, Any]) -> None:
        self._wire.connect(name, capabilities)

    def hang_up(self, name: str) -> None:
        self._wire.hang_up(name)

    def clean(self) -> None:
        self._wire.clean()

    def send(self, name: str, sent: list[dict[str, Any]]) -> None:
        if any(row["channel"] != _BROOM for row in sent):
            self._heard.clear()
            self._sent = time.monotonic()
        self._wire.send(name, sent)

    def receive(self, seconds: float) -> list[dict[str, Any]]:
        frames: list[dict[str, Any]] = self._wire.receive(seconds)
        self._heard += [player.in_words(frame) for frame in frames if frame["method"] != "channel.open-ok"]
        return frames

    def answers(self) -> tuple[str, ...]:
        """In words; what comes again and again is told once."""
        silence = f"nothing, within {time.monotonic() - self._sent:.0f} s"
        return tuple(dict.fromkeys(self._heard)) or (silence,)
