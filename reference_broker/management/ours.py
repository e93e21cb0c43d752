"""What RabbitMQ has not: clock, alarms, wrong behaviours, variations, dialect, and settings that it reads once."""

from __future__ import annotations

from reference_broker.dialects import DIALECTS
from reference_broker.management.route import Answer, Ask, Field, Route, bad_request, route
from reference_broker.mutants import MUTANTS, UnknownMutant
from reference_broker.nondeterminism import VARIATIONS, UnknownVariation

ROUTES: list[Route] = []
LONGEST = 10 * 365 * 86400


@route(ROUTES, "GET", "/x/settings", "Settings of the whole broker.", shape="Settings")
def settings(ask: Ask) -> Answer:
    return Answer({"consumer_timeout": ask.node.broker.vhost.settings.consumer_timeout})


@route(
    ROUTES,
    "PUT",
    "/x/settings",
    "Change settings of the whole broker.",
    need="administrator",
    statuses=(204,),
    fields={"consumer_timeout": Field("integer|null", "milliseconds; null for the default")},
)
def put_settings(ask: Ask) -> Answer:
    timeout = ask.given["consumer_timeout"]
    if timeout is not None and timeout < 0:
        raise bad_request("consumer_timeout is a number of milliseconds, or null for the default")
    for vhost in ask.node.broker.vhosts.values():
        vhost.settings.consumer_timeout = timeout
    return Answer(status=204)


@route(ROUTES, "GET", "/x/clock", "What time the broker thinks it is, in seconds.", shape="Clock")
def clock(ask: Ask) -> Answer:
    return Answer({"now": ask.node.broker.clock.now})


@route(
    ROUTES,
    "POST",
    "/x/clock",
    "Let time pass at once.",
    need="administrator",
    shape="Clock",
    fields={
        "seconds": Field("number", "how long", 0),
        "minutes": Field("number", "and this many minutes", 0),
        "hours": Field("number", "and this many hours", 0),
        "heartbeats": Field("boolean", "true: who agreed to them has been silent all the while", False),
    },
)
def advance(ask: Ask) -> Answer:
    given = ask.given
    seconds = given["seconds"] + 60 * given["minutes"] + 3600 * given["hours"]
    if not 0 <= seconds <= LONGEST:
        raise bad_request(f"seconds is a number from 0 to {LONGEST}")
    ask.node.advance(float(seconds), given["heartbeats"])
    return clock(ask)


@route(ROUTES, "GET", "/x/alarm", "Why publishers are blocked, if they are.", shape="Alarm")
def alarm(ask: Ask) -> Answer:
    return Answer({"reason": ask.node.broker.alarm})


@route(
    ROUTES,
    "PUT",
    "/x/alarm",
    "Block who publishes from now on (connection.blocked), or nobody any more.",
    need="administrator",
    statuses=(204,),
    fields={"reason": Field("string|null", "null: the alarm is over")},
)
def put_alarm(ask: Ask) -> Answer:
    if ask.given["reason"] is None:
        ask.node.broker.clear_alarm()
    else:
        ask.node.broker.raise_alarm(ask.given["reason"])
    return Answer(status=204)


@route(ROUTES, "GET", "/x/mutants", "Wrong behaviours: which there are, and which are on.", shape="Mutants")
def mutants(ask: Ask) -> Answer:
    known = [{"name": one.name, "says": one.says, "rules": list(one.rules)} for one in MUTANTS.values()]
    return Answer({"known": known, "on": list(ask.node.broker.parts.mutants)})


@route(
    ROUTES,
    "PUT",
    "/x/mutants",
    "Misbehave from now on in these ways, on new connections and in new queues.",
    need="administrator",
    statuses=(204,),
    fields={"on": Field("array", "names", required=True)},
)
def put_mutants(ask: Ask) -> Answer:
    try:
        ask.node.remake([str(name) for name in ask.given["on"]], ask.node.broker.parts.nondeterminism)
    except UnknownMutant as problem:
        raise bad_request(str(problem)) from None
    return Answer(status=204)


@route(
    ROUTES,
    "GET",
    "/x/liberties",
    "Lawful variations: which there are, who grants each, and which are taken.",
    shape="Liberties",
)
def nondeterminism(ask: Ask) -> Answer:
    known = [{"name": one.name, "says": one.says, "granted_by": one.granted_by} for one in VARIATIONS.values()]
    return Answer({"known": known, "taken": ask.node.broker.parts.nondeterminism})


@route(
    ROUTES,
    "PUT",
    "/x/liberties",
    "Take variations from now on: those that a seed draws, those named, or none.",
    need="administrator",
    statuses=(204,),
    fields={"taken": Field("integer|array|null", "seed, names, or null")},
)
def put_nondeterminism(ask: Ask) -> Answer:
    taken = ask.given["taken"]
    wanted = [str(name) for name in taken] if isinstance(taken, list) else taken
    try:
        ask.node.remake(ask.node.broker.parts.mutants, wanted)
    except UnknownVariation as problem:
        raise bad_request(str(problem)) from None
    return Answer(status=204)


@route(ROUTES, "GET", "/x/dialect", "Which broker it does as, and which it could be started as.", shape="Dialect")
def dialect(ask: Ask) -> Answer:
    return Answer({"name": ask.node.broker.edition.name, "known": list(DIALECTS)})
