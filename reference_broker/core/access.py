"""Who may enter, and what they may do there: users, password hashes, permissions for each virtual host.

A permission is three regular expressions, for what a user may configure, write and read; as in RabbitMQ each is
searched for in the name of the resource, and an empty one grants nothing. One for topics is two more, for the routing
keys of one topic exchange. Passwords are kept as RabbitMQ keeps them
(four octets of salt, then the SHA-256 of salt and password, in base64), so that hashes can be carried from one to the
other. A user without a hash cannot log in with a password, but by certificate.

Nothing here knows of the wire. `needs.py` says which method needs what, `sasl.py` how a client tells who it is. Salt is
chance, so it is an argument.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Right = Literal["configure", "write", "read"]
RIGHTS: tuple[Right, ...] = ("configure", "write", "read")
SHA256, SHA512 = "rabbit_password_hashing_sha256", "rabbit_password_hashing_sha512"
ALGORITHMS: Mapping[str, Callable[[bytes], bytes]] = {
    SHA256: lambda data: hashlib.sha256(data).digest(),
    SHA512: lambda data: hashlib.sha512(data).digest(),
}
SALT = 4
TAGS = ("administrator", "monitoring", "policymaker", "management")
LOOPBACK_ONLY = frozenset({"guest"})
"""Users whose password everybody knows: they may log in from this machine only."""


class InvalidAccess(ValueError):
    """A user or permission that cannot be; the message says why."""


def hashed(password: str, salt: bytes, algorithm: str = SHA256) -> str:
    return base64.b64encode(salt + ALGORITHMS[algorithm](salt + password.encode())).decode()


def checked_hash(text: str, algorithm: str) -> str:
    """The hash as it was given. Raises Invalid."""
    if algorithm not in ALGORITHMS:
        raise InvalidAccess(f"hashing_algorithm is one of {', '.join(ALGORITHMS)}")
    try:
        octets = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidAccess(f"password_hash is not base64: {text[:100]}") from None
    if octets and len(octets) != SALT + len(ALGORITHMS[algorithm](b"")):
        raise InvalidAccess(f"password_hash has {len(octets)} octets, which is no salt and {algorithm}")
    return text


def check_pattern(right: str, pattern: str) -> None:
    """Raises Invalid."""
    try:
        re.compile(pattern)
    except re.error as problem:
        raise InvalidAccess(f"{right} is no regular expression: {pattern[:100]!r}, {problem}") from None


def everywhere(pattern: str) -> bool:
    return pattern in (".*", "^.*$", "^.*", ".*$")


@dataclass(frozen=True, slots=True)
class Permission:
    """What one user may do in one virtual host."""

    configure: str = ".*"
    write: str = ".*"
    read: str = ".*"

    def __post_init__(self) -> None:
        for right in RIGHTS:
            check_pattern(right, getattr(self, right))

    @property
    def unlimited(self) -> bool:
        return all(everywhere(getattr(self, right)) for right in RIGHTS)

    def grants(self, right: Right, name: str) -> bool:
        pattern: str = getattr(self, right)
        return pattern not in ("", "^$") and re.search(pattern, name) is not None


@dataclass(frozen=True, slots=True)
class TopicPermission:
    """Which routing keys one user may publish with to one topic exchange, and bind to it with.

    In a pattern {username} and {vhost} stand for what they are."""

    write: str = ".*"
    read: str = ".*"

    def __post_init__(self) -> None:
        check_pattern("write", self.write)
        check_pattern("read", self.read)

    def grants(self, right: Right, key: str, user: str, vhost: str) -> bool:
        pattern: str = getattr(self, right) or "^$"
        return (
            re.search(pattern.replace("{username}", re.escape(user)).replace("{vhost}", re.escape(vhost)), key)
            is not None
        )


Topics = Mapping[str, TopicPermission]
"""By the name of the exchange; one that is not there is for any routing key."""


@dataclass(frozen=True, slots=True)
class Rights:
    """All that one user may do in one virtual host."""

    permission: Permission
    topics: Topics = field(default_factory=dict)

    @property
    def unlimited(self) -> bool:
        return self.permission.unlimited and not self.topics


@dataclass(slots=True)
class User:
    name: str
    password_hash: str = ""
    algorithm: str = SHA256
    tags: tuple[str, ...] = ()
    permissions: dict[str, Permission] = field(default_factory=dict)
    """By the name of the virtual host."""
    topics: dict[str, Topics] = field(default_factory=dict)
    """Likewise; without any permission they let nobody in."""
    quotas: Mapping[str, int] = field(default_factory=dict)
    """How many connections and channels this one may have at most."""

    def knows(self, password: str) -> bool:
        known = base64.b64decode(self.password_hash)
        given = ALGORITHMS[self.algorithm](known[:SALT] + password.encode())
        return bool(known) and hmac.compare_digest(known[SALT:], given)

    @property
    def manages(self) -> bool:
        """May this user use the management interface at all?"""
        return any(tag in TAGS for tag in self.tags)

    @property
    def administers(self) -> bool:
        return "administrator" in self.tags


class Access:
    """All users of a broker."""

    def __init__(self, passwords: Mapping[str, str], vhost: str, salt: Callable[[], bytes]) -> None:
        """These users may do anything in `vhost`, and administer the broker."""
        self.salt = salt
        self.loopback_only: Iterable[str] = LOOPBACK_ONLY
        self.external = False
        """May somebody log in by a certificate alone?"""
        self.users: dict[str, User] = {}
        for name, password in passwords.items():
            user = User(name, hashed(password, salt()), tags=("administrator",))
            user.permissions[vhost] = Permission()
            self.users[name] = user

    def put(
        self,
        name: str,
        *,
        password: str | None = None,
        password_hash: str = "",
        algorithm: str = SHA256,
        tags: Iterable[str] = (),
    ) -> bool:
        """Make or change a user; was there none of that name? Raises Invalid."""
        found = hashed(password, self.salt()) if password is not None else checked_hash(password_hash, algorithm)
        known = self.users.get(name)
        user = User(name, found, SHA256 if password is not None else algorithm, tuple(tags))
        if known is not None:
            user.permissions, user.topics, user.quotas = known.permissions, known.topics, known.quotas
        self.users[name] = user
        return known is None

    def limit(self, user: User, quotas: Mapping[str, int]) -> None:
        """From now on it may have so much, and no more."""
        user.quotas = quotas
        self.users[user.name] = user

    def by_password(self, name: str, password: str, loopback: bool) -> User | None:
        """The user, if the password is right and the user may come from there."""
        user = self.users.get(name)
        right = user is not None and user.knows(password)
        return user if right and self.may_come(name, loopback) else None

    def may_come(self, name: str, loopback: bool) -> bool:
        return loopback or name not in self.loopback_only

    def permission(self, user: str, vhost: str) -> Permission | None:
        """None: this user may not enter."""
        known = self.users.get(user)
        return None if known is None else known.permissions.get(vhost)

    def rights(self, user: str, vhost: str) -> Rights | None:
        """None: this user may not enter."""
        permission = self.permission(user, vhost)
        return None if permission is None else Rights(permission, self.users[user].topics.get(vhost, {}))

    def forget_vhost(self, vhost: str) -> None:
        for user in self.users.values():
            user.permissions.pop(vhost, None)
            user.topics.pop(vhost, None)
