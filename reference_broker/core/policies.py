"""What a policy may set, and what users' and operators' policies say together: as RabbitMQ checks and merges them.

A setting is known since some series of RabbitMQ, and up to some; a dialect says by `policies` which series is its own.
What is known and wrong is told first, then all that is not known at once, both in RabbitMQ's words. An operator may set
limits only; where both set one, the stricter holds. Checked against 3.8, 3.10, 4.0 and 4.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

SERIES = ("3.8", "3.10", "4.0", "4.3")


class InvalidPolicy(ValueError):
    """A policy that cannot be; the message says why."""


def whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def at_least(least: int) -> Callable[[Any], bool]:
    return lambda value: whole(value) and value >= least


def text(value: Any) -> bool:
    return isinstance(value, str)


def one_of(*known: object) -> Callable[[Any], bool]:
    return lambda value: not isinstance(value, bool) and value in known


def age(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"\d+[YMDhms]", value, re.ASCII) is not None


@dataclass(frozen=True, slots=True)
class Setting:
    """`fits` says whether a value is one, `called` what it is in a refusal; `since` and `until` are series, and
    `operator` is the first in which operators may set it, if any."""

    fits: Callable[[Any], bool]
    called: str
    since: str = SERIES[0]
    until: str = SERIES[-1]
    operator: str | None = None

    def known(self, series: str, operator: bool) -> bool:
        first = self.operator if operator else self.since
        return first is not None and SERIES.index(first) <= SERIES.index(series) <= SERIES.index(self.until)


COUNT, LENGTH = at_least(0), "3.8"
SETTINGS: Mapping[str, Setting] = {
    "alternate-exchange": Setting(text, "alternate exchange name"),
    "consumer-disconnected-timeout": Setting(COUNT, "consumer disconnected timeout", "4.3"),
    "consumer-timeout": Setting(COUNT, "consumer timeout", "4.0"),
    "dead-letter-exchange": Setting(text, "dead letter exchange name"),
    "dead-letter-routing-key": Setting(text, "dead letter routing key"),
    "dead-letter-strategy": Setting(one_of("at-most-once", "at-least-once"), "dead letter strategy", "3.10"),
    "delivery-limit": Setting(whole, "delivery limit", operator=LENGTH),
    "expires": Setting(at_least(1), "queue expiry", operator=LENGTH),
    "ha-mode": Setting(one_of("all", "exactly", "nodes"), "ha-mode value", until="3.10"),
    "ha-params": Setting(lambda value: whole(value) or isinstance(value, list), "ha-params value", until="3.10"),
    "ha-sync-mode": Setting(one_of("manual", "automatic"), "ha-sync-mode value", until="3.10"),
    "initial-cluster-size": Setting(COUNT, "cluster size", "3.10"),
    "max-age": Setting(age, "max age", "3.10"),
    "max-in-memory-bytes": Setting(COUNT, "maximum memory in bytes", operator=LENGTH),
    "max-in-memory-length": Setting(COUNT, "maximum memory in bytes", operator=LENGTH),
    "max-length": Setting(COUNT, "maximum length", operator=LENGTH),
    "max-length-bytes": Setting(COUNT, "maximum length in bytes", operator=LENGTH),
    "message-ttl": Setting(COUNT, "message TTL", operator=LENGTH),
    "overflow": Setting(one_of("drop-head", "reject-publish", "reject-publish-dlx"), "overflow value", operator="4.0"),
    "queue-leader-locator": Setting(
        one_of("client-local", "balanced", "random", "least-leaders"), "queue leader locator value", "3.10"
    ),
    "queue-master-locator": Setting(
        one_of("client-local", "min-masters", "random"), "queue master locator", until="4.0"
    ),
    "queue-mode": Setting(one_of("default", "lazy"), "queue-mode value"),
    "queue-version": Setting(one_of(1, 2), "queue-version value", "3.10", operator="4.0"),
    "stream-filter-size-bytes": Setting(
        lambda value: whole(value) and 16 <= value <= 255, "filter size. Valid range is 16-255", "4.0"
    ),
    "stream-max-segment-size-bytes": Setting(COUNT, "segment size", "3.10"),
    "target-group-size": Setting(COUNT, "qq target count value", "4.0", operator="4.0"),
}


def check(pattern: str, definition: Mapping[str, Any], series: str, operator: bool = False) -> None:
    """Raises Invalid."""
    try:
        re.compile(pattern)
    except re.error as problem:
        raise InvalidPolicy(f"pattern should be regular expression but is invalid: {problem}") from None
    if not definition:
        raise InvalidPolicy("no policy provided")
    unknown = []
    for name, value in sorted(definition.items()):
        setting = SETTINGS.get(name)
        if setting is None or not setting.known(series, operator):
            unknown.append(f"{{{erlang(name)},{erlang(value)}}}")
        elif not setting.fits(value) or (name == "delivery-limit" and value < 0 and series in ("3.8", "3.10")):
            raise InvalidPolicy(f"{erlang(value)} is not a valid {setting.called}")
    if unknown:
        raise InvalidPolicy(f"[{','.join(unknown)}] are not recognised policy settings")


def erlang(value: Any) -> str:
    """A JSON value as RabbitMQ shows it in a refusal."""
    match value:
        case str():
            return f'<<"{value[:200]}">>'
        case bool() | None:
            return {True: "true", False: "false", None: "null"}[value]
        case list():
            return f"[{','.join(map(erlang, value))}]"
        case dict():
            return f"#{{{','.join(f'{erlang(name)} => {erlang(one)}' for name, one in value.items())}}}"
    return str(value)


# -- users' and operators' together


def merged(users: Mapping[str, Any], operators: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of a limit that both set the stricter holds, of anything else the operator's."""
    both = {name: stricter(name, users[name], operators[name]) for name in users.keys() & operators.keys()}
    return {**users, **operators, **both}


def stricter(name: str, user: Any, operator: Any) -> Any:
    if not whole(user) or not whole(operator) or name == "queue-version":
        return operator
    no_limit = name == "delivery-limit" and min(user, operator) < 0
    return max(user, operator) if no_limit or name == "target-group-size" else min(user, operator)
