"""In words: the events that are no frames. What the suite waited for, and what it did to the broker from outside.

What is done to the broker (it is killed or restarted, runs short of something, gets other rights or policies) may be
the cause of a fault, so an exchange that is shown always tells it. No client can repeat it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from conformance.history import events as ev
from conformance.history.events import Event

DISPUTED = frozenset({ev.MALFORMED, ev.DEADLINE, ev.KILLED, ev.RIGHTS})
"""Disputes are about these events, whatever they say."""
_DONE = frozenset({"set", "cleared", "raised", "started"})
"""States in which what is done to the broker is complete."""
_STATES: Mapping[tuple[str, object], str] = {
    (ev.RESTARTED, "stopping"): "the broker is told to stop",
    (ev.RESTARTED, "started"): "the broker has been started again",
    (ev.ALARM, "raising"): "the broker is made to run short of something",
    (ev.ALARM, "raised"): "the broker runs short of something",
    (ev.ALARM, "clearing"): "the broker is given back what it was short of",
    (ev.ALARM, "cleared"): "the broker runs short of nothing any more",
}


def local_interest(event: Event) -> bool:
    """Is this event, which is no frame, what disputes are about?"""
    return event.kind in DISPUTED or event.args.get("state") in _DONE


def ended_the_broker(event: Event) -> bool:
    """Did the broker end here, or was it started again?"""
    return event.kind in (ev.KILLED, ev.RESTARTED)


def describe_local(event: Event) -> str:
    """The event in words."""
    words = _WORDS.get(event.kind)
    return words(event) if words else _STATES.get((event.kind, event.args.get("state")), event.kind)


def _scene(event: Event) -> str:
    return f"scene {event.args.get('name', '')}".rstrip()


def _deadline(event: Event) -> str:
    args = event.args
    what = f"a drain of {args['queue']}" if args.get("queue") else args.get("for", "an answer")
    return f"waited {args.get('waited_ms', '?')} ms in vain for {what}"


def _late(event: Event) -> str:
    return f"{event.args.get('what', 'an answer')} came late, after {event.args.get('waited_ms', '?')} ms"


def _end(event: Event) -> str:
    return f"connection ended: {event.args.get('cause', 'unknown cause')}"


def _malformed(event: Event) -> str:
    return f"malformed octets: expected {event.args.get('expected')}, found {event.args.get('found')}"


def _killed(_: Event) -> str:
    return "the broker is killed, and started again"


def _policy(event: Event) -> str:
    args = event.args
    if "state" not in args:
        return f"policy of {args.get('queue')}: {_timeout(args)}"
    name = f"{'operator ' if args.get('operator') else ''}policy {args.get('name')}"
    if "pattern" not in args:
        return f"{args['state']} {name}"
    definition = json.dumps(args.get("definition"), sort_keys=True)
    fits = f"{args.get('apply_to')} that match {args.get('pattern')!r}"
    return f"{args['state']} {name} for {fits}, with priority {args.get('priority')}: {definition}"


def _settings(event: Event) -> str:
    return f"the broker's configuration: {_timeout(event.args)}"


def _timeout(args: Mapping[str, object]) -> str:
    milliseconds = args.get("consumer_timeout")
    return "no consumer timeout" if milliseconds is None else f"consumer timeout {milliseconds} ms"


def _rights(event: Event) -> str:
    args = event.args
    if "of" in args:
        return f"the user of {args['of']} may no longer read {args.get('queue')}"
    if args.get("gone"):
        return f"user {args.get('user')} is deleted"
    patterns = [f"{right} {args[right]!r}" for right in ("configure", "write", "read") if args.get(right) is not None]
    topics = [
        f"in exchange {exchange} only {json.dumps(keys)}" for exchange, keys in (args.get("topics") or {}).items()
    ]
    may = ", ".join(patterns + topics) if patterns else "not enter"
    return f"user {args.get('user')} may {may} in vhost {args.get('vhost')}"


def _known(event: Event) -> str:
    args = event.args
    wrong = [what for what, key in (("user or password", "login"), ("vhost", "vhost")) if args.get(key) is False]
    what = f"a wrong {' and '.join(wrong)}" if wrong else "what is right"
    return f"{args.get('of')} will name {what}"


_WORDS: Mapping[str, Callable[[Event], str]] = {
    ev.SCENE: _scene,
    ev.DEADLINE: _deadline,
    ev.LATE: _late,
    ev.END: _end,
    ev.MALFORMED: _malformed,
    ev.KILLED: _killed,
    ev.POLICY: _policy,
    ev.SETTINGS: _settings,
    ev.RIGHTS: _rights,
    ev.KNOWN: _known,
}
