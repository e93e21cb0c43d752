"""Paths, and what answers there: a table of routes, each with what it takes and what it gives, so that the OpenAPI
description, the check of what is sent, and the work itself are read off the same entry.

A handler gets an `Ask` and gives an `Answer`, or raises a `Refusal`. Nobody here knows of sockets: `control.py` does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from reference_broker.core.access import User

if TYPE_CHECKING:
    from reference_broker.core.vhost import VirtualHost
    from reference_broker.management.node import Node

Method = Literal["GET", "PUT", "POST", "DELETE"]
Need = Literal["anybody", "management", "monitoring", "policymaker", "administrator"]
SUFFICE: Mapping[Need, tuple[str, ...]] = {
    "anybody": (),
    "management": ("management", "policymaker", "monitoring", "administrator"),
    "policymaker": ("policymaker", "administrator"),
    "monitoring": ("monitoring", "administrator"),
    "administrator": ("administrator",),
}
"""Which tags of a user do for which need; anybody means also those who do not log in."""
TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}


ANY = "any"
TRUTHS = {"true": True, "false": False}
NUMBER = re.compile(r"-?[0-9]{1,18}")


class Refusal(Exception):
    """An answer other than the one that was hoped for: a status of 4xx, RabbitMQ's word for it, and the reason."""

    def __init__(self, status: int, error: str, reason: object) -> None:
        super().__init__(reason)
        self.status, self.error, self.reason = status, error, reason


def bad_request(reason: object) -> Refusal:
    return Refusal(400, "bad_request", reason)


NOT_FOUND = (404, "Object Not Found", "Not Found")


@dataclass(frozen=True, slots=True)
class Field:
    """One member of what is sent: its JSON types, separated by bars, and what it is when left out."""

    types: str
    says: str
    default: Any = None
    required: bool = False
    as_text: bool = False
    """Is a number also taken as the text of it? RabbitMQ does so here and there; with true and false everywhere."""

    def read(self, name: str, value: Any) -> Any:
        """What is meant by this. Raises Refusal."""
        if self.types == ANY:
            return value
        meant = self.meant(value) if isinstance(value, str) else value
        accepted = tuple(kind for one in self.types.split("|") for kind in TYPES[one])
        if not isinstance(meant, accepted) or (isinstance(meant, bool) and bool not in accepted):
            raise bad_request(f"{name} is {self.types.replace('|', ' or ')}, not {str(value)[:100]!r}")
        return meant

    def meant(self, text: str) -> Any:
        if self.types == "boolean":
            return TRUTHS.get(text, text)
        return int(text) if self.as_text and NUMBER.fullmatch(text) else text

    def described(self) -> list[str]:
        """The JSON types that are taken."""
        text = ["string"] if self.as_text or self.types == "boolean" else []
        return [*self.types.split("|"), *text]


Fields = Mapping[str, Field]


@dataclass(slots=True)
class Ask:
    """One request, taken apart and checked."""

    node: Node
    user: User
    path: Mapping[str, str]
    query: Mapping[str, str]
    given: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)

    def vhost(self) -> VirtualHost:
        """The one that the path names. Raises Refusal where there is none, or it is not for this user."""
        vhost = self.node.broker.vhosts.get(self.path["vhost"])
        if vhost is None:
            raise Refusal(*NOT_FOUND)
        if not self.sees(vhost.name):
            raise Refusal(401, "not_authorised", "User not authorised to access virtual host")
        return vhost

    def sees(self, vhost: str) -> bool:
        return vhost in self.user.permissions or any(tag in SUFFICE["monitoring"] for tag in self.user.tags)

    def vhosts(self) -> list[VirtualHost]:
        return [vhost for vhost in self.node.broker.vhosts.values() if self.sees(vhost.name)]


@dataclass(frozen=True, slots=True)
class Answer:
    content: Any = None
    status: int = 200


@dataclass(frozen=True, slots=True)
class Route:
    method: Method
    template: str
    summary: str
    work: Callable[[Ask], Answer]
    need: Need = "management"
    fields: Fields | None = None
    shape: str = ""
    """The name of what is given, with [] behind it for a list; empty for nothing."""
    statuses: Sequence[int] = (200,)

    @property
    def parts(self) -> list[str]:
        return self.template.strip("/").split("/")

    def match(self, path: Sequence[str]) -> dict[str, str] | None:
        """What the path has for the names in braces; None where it is another path."""
        parts = self.parts
        if len(parts) != len(path):
            return None
        pairs = list(zip(parts, path, strict=True))
        if any(part != given for part, given in pairs if part[0] != "{"):
            return None
        return {part[1:-1]: given for part, given in pairs if part[0] == "{"}

    def taken(self, given: Any) -> dict[str, Any]:
        """What was sent, with defaults for what was not. Raises Refusal."""
        return taken(self.fields or {}, given)


def taken(fields: Fields, given: Any) -> dict[str, Any]:
    """What was sent, with defaults for what was not. Raises Refusal."""
    if not isinstance(given, dict):
        raise bad_request("not_json_object")
    missing = [name for name, one in fields.items() if one.required and name not in given]
    if missing:
        raise bad_request("[" + ",".join(f"{{key_missing,{name}}}" for name in missing) + "]")
    sent = {name: value for name, value in given.items() if not left_out(fields.get(name), value)}
    read = {name: one.read(name, sent[name]) for name, one in fields.items() if name in sent}
    return {**{name: one.default for name, one in fields.items()}, **sent, **read}


def left_out(one: Field | None, value: Any) -> bool:
    """A null where there can be none is as if nothing had been said, unless something must be."""
    return value is None and one is not None and not one.required and one.types != ANY and "null" not in one.types


Work = Callable[[Ask], Answer]


def route(
    routes: list[Route],
    method: Method,
    template: str,
    summary: str,
    *,
    need: Need = "management",
    fields: Fields | None = None,
    shape: str = "",
    statuses: Sequence[int] = (200,),
) -> Callable[[Work], Work]:
    def keep(work: Work) -> Work:
        routes.append(Route(method, template, summary, work, need, fields, shape, statuses))
        return work

    return keep


class Router:
    def __init__(self, routes: Iterable[Route]) -> None:
        self.routes = list(routes)

    def find(self, method: str, path: Sequence[str]) -> tuple[Route, dict[str, str]]:
        """Raises Refusal: no such path, or not this method there."""
        found = [(one, names) for one in self.routes if (names := one.match(path)) is not None]
        for one, names in found:
            if one.method == method:
                return one, names
        if found:
            allowed = ", ".join(one.method for one, _ in found)
            raise Refusal(405, "method_not_allowed", f"{method[:20]} is not among {allowed}")
        raise Refusal(*NOT_FOUND)


def taken_apart(target: str) -> tuple[list[str], dict[str, str]]:
    """The parts of a path, and the query."""
    parts = urlsplit(target)
    return [unquote(part) for part in parts.path.strip("/").split("/")], dict(parse_qsl(parts.query))
