"""Users, password hashes, permissions: the table of who may do what."""

from __future__ import annotations

from itertools import count

import pytest

from reference_broker.core.access import SHA256, SHA512, Access, InvalidAccess, Permission, checked_hash, hashed


@pytest.fixture
def access() -> Access:
    numbers = count(1)
    return Access({"guest": "guest", "alice": "secret"}, "/", lambda: next(numbers).to_bytes(4, "big"))


def test_a_hash_of_rabbitmq_is_understood(access: Access) -> None:
    """Salt 90 8D C6 0A, password test12: the example of RabbitMQ's guide to passwords."""
    assert hashed("test12", bytes.fromhex("908DC60A")) == "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR"
    access.put("bob", password_hash="kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR")
    assert access.by_password("bob", "test12", True) is access.users["bob"]
    assert access.by_password("bob", "test13", True) is None


def test_the_same_password_has_another_hash_for_everybody(access: Access) -> None:
    access.put("carol", password="secret")
    assert access.users["carol"].password_hash != access.users["alice"].password_hash


def test_who_has_no_hash_logs_in_with_no_password(access: Access) -> None:
    access.put("cert", tags=("management",))
    assert access.by_password("cert", "", True) is None


def test_a_sha512_hash_is_understood(access: Access) -> None:
    access.put("dave", password_hash=hashed("pw", b"salt", SHA512), algorithm=SHA512)
    assert access.by_password("dave", "pw", True) is not None


@pytest.mark.parametrize(("text", "algorithm"), [("!!!", SHA256), ("AAAA", SHA256), ("", "md5")])
def test_what_is_no_hash_is_refused(text: str, algorithm: str) -> None:
    with pytest.raises(InvalidAccess):
        checked_hash(text, algorithm)


def test_guest_comes_from_this_machine_only(access: Access) -> None:
    assert access.by_password("guest", "guest", loopback=True) is not None
    assert access.by_password("guest", "guest", loopback=False) is None
    assert access.by_password("alice", "secret", loopback=False) is not None


def test_a_changed_user_keeps_its_permissions(access: Access) -> None:
    assert access.put("alice", password="new") is False
    assert access.permission("alice", "/") == Permission()
    assert access.by_password("alice", "secret", True) is None


@pytest.mark.parametrize(
    ("pattern", "name", "granted"),
    [
        (".*", "anything", True),
        ("", "anything", False),
        ("^$", "anything", False),
        ("q", "a-queue", True),
        ("^q", "a-queue", False),
        ("^(a|b)$", "b", True),
        ("^(a|b)$", "ab", False),
    ],
)
def test_a_pattern_is_searched_for_in_the_name(pattern: str, name: str, granted: bool) -> None:
    assert Permission(configure=pattern).grants("configure", name) is granted


def test_a_pattern_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidAccess, match="write is no regular expression"):
        Permission(write="(")
