"""Rights that are not asked for, asked of the wrong thing, or kept for longer than they hold.

Most of these change what a method takes (`Needs.of`), or whether a pattern grants it (`Needs.check`). They come before
the classes of a dialect, and leave to them what they do not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import codec
from codec import methods as m
from reference_broker.core import routing
from reference_broker.core.access import RIGHTS, Permission, Right, Rights, TopicPermission
from reference_broker.core.channels import topology
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections.connection import Connection
from reference_broker.core.errors import AmqpException, ChannelException, not_allowed, precondition
from reference_broker.core.needs import DEFAULT, GENERATED, Need, Needs
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import listed
from reference_broker.mutants.kinds import changes, memory

if TYPE_CHECKING:
    from reference_broker.core.access import User

Change = Callable[[Channel, Any, list[Need]], Iterable[Need]]


def mixes(part: str, name: str, says: str, *rules: str, field: str = "") -> Callable[[type[Any]], type[Any]]:
    """The methods of the decorated class come before those of this part."""

    def add(other: type[Any]) -> type[Any]:
        @changes(name, says, *rules, field=field)
        def apply(parts: Parts) -> None:
            parts.extend(part, other)

        return other

    return add


def takes(kinds: tuple[type[codec.Method], ...], name: str, says: str, *rules: str) -> Callable[[Change], Change]:
    """The decorated function makes other needs of those that these methods have."""

    def add(change: Change) -> Change:
        @mixes("needs", name, says, *rules)
        class Otherwise(Needs):
            def of(self, channel: Channel, method: codec.Method) -> Iterable[Need]:
                needs = [*super().of(channel, method)]
                return change(channel, method, needs) if isinstance(method, kinds) else needs

        return change

    return add


# -- what is not asked for


def _free(kind: type[codec.Method], name: str, says: str, rule: str) -> None:
    """Anybody may."""

    @takes((kind,), name, says, rule)
    def nothing(channel: Channel, method: Any, needs: list[Need]) -> Iterable[Need]:
        return ()


_free(m.QueueDelete, "rights.deletes-freely", "everybody may delete queues", "AUTH-002")
_free(m.ExchangeDelete, "rights.deletes-exchanges-freely", "everybody may delete exchanges", "AUTH-005")
_free(m.QueueUnbind, "rights.unbinds-freely", "everybody may unbind queues", "AUTH-008")
_free(m.ExchangeBind, "rights.binds-exchanges-freely", "everybody may bind exchanges", "AUTH-009")
_free(m.BasicGet, "rights.gets-freely", "everybody may get from any queue", "AUTH-011")
_free(m.BasicConsume, "rights.consumes-freely", "everybody may consume from any queue", "AUTH-012")


def _left_out(kind: type[codec.Method], name: str, says: str, rule: str, left_out: Callable[[Need], bool]) -> None:
    """Some of what it takes is not asked for."""

    @takes((kind,), name, says, rule)
    def rest(channel: Channel, method: Any, needs: list[Need]) -> Iterable[Need]:
        return [need for need in needs if not left_out(need)]


def _configures(need: Need) -> bool:
    return need[0] == "configure" and need[2] != GENERATED


def _of_exchange(need: Need) -> bool:
    return need[1] == "exchange"


def _of_queue(need: Need) -> bool:
    return need[1] == "queue"


def _reads(need: Need) -> bool:
    return need[0] == "read"


def _writes(need: Need) -> bool:
    return need[0] == "write"


_left_out(m.QueueDeclare, "rights.declares-freely", "everybody may declare queues", "AUTH-001", _configures)
_left_out(m.QueueDeclare, "rights.any-heir", "everybody may name any dead-letter exchange", "AUTH-003", _of_exchange)
_left_out(m.QueueDeclare, "rights.heir-of-unread", "dead letters may come from unread queues", "AUTH-003", _reads)
_left_out(
    m.ExchangeDeclare, "rights.declares-exchanges-freely", "everybody may declare exchanges", "AUTH-004", _configures
)
_left_out(m.ExchangeDeclare, "rights.any-alternate", "everybody may name any alternate exchange", "AUTH-006", _writes)
_left_out(m.QueueBind, "rights.binds-to-any-exchange", "only the queue is asked about", "AUTH-007", _of_exchange)
_left_out(m.QueueBind, "rights.binds-any-queue", "only the exchange is asked about", "AUTH-007", _of_queue)
_left_out(
    m.BasicPublish, "rights.publishes-freely", "everybody may publish", "AUTH-010", lambda need: need[2] != DEFAULT
)
_left_out(
    m.BasicPublish, "rights.default-for-all", "all may use the default exchange", "AUTH-018", lambda n: n[2] == DEFAULT
)
_left_out(
    m.QueueDeclare,
    "rights.unnamed-freely",
    "any name may be left to the broker",
    "AUTH-017",
    lambda n: n[2] == GENERATED,
)


# -- what is asked for instead, or beside


def _instead(kinds: tuple[type[codec.Method], ...], name: str, says: str, rule: str, **rights: Right) -> None:
    """One right is taken for another."""

    @takes(kinds, name, says, rule)
    def other(channel: Channel, method: Any, needs: list[Need]) -> Iterable[Need]:
        return [(rights.get(right, right), kind, name) for right, kind, name in needs]


_instead(
    (m.QueueDelete,), "rights.deleting-is-writing", "who may write a queue may delete it", "AUTH-002", configure="write"
)
_instead(
    (m.ExchangeBind, m.ExchangeUnbind),
    "rights.ends-mixed-up",
    "the source is written, and the destination read",
    "AUTH-009",
    read="write",
    write="read",
)
_instead((m.BasicPublish,), "rights.publishing-is-reading", "who may read may publish", "AUTH-010", write="read")
_instead((m.QueuePurge,), "rights.purging-is-configuring", "who may configure may purge", "AUTH-013", read="configure")


@takes((m.QueuePurge,), "rights.purge-takes-two", "a purge takes the right to configure as well", "AUTH-014")
def purge_takes_two(channel: Channel, method: m.QueuePurge, needs: list[Need]) -> Iterable[Need]:
    return [*needs, *(("configure", kind, name) for _, kind, name in needs)]


@takes((m.BasicGet,), "rights.get-takes-all", "basic.get takes all three rights", "AUTH-014")
def get_takes_all(channel: Channel, method: m.BasicGet, needs: list[Need]) -> Iterable[Need]:
    return [(right, kind, name) for _, kind, name in needs for right in RIGHTS]


@takes((m.QueueDelete,), "rights.delete-takes-two", "queue.delete takes the right to write as well", "AUTH-014")
def delete_takes_two(channel: Channel, method: m.QueueDelete, needs: list[Need]) -> Iterable[Need]:
    return [*needs, *(("write", kind, name) for _, kind, name in needs)]


@takes((m.QueueDeclare,), "rights.unnamed-is-empty", "a name that is left out is asked about as it is", "AUTH-017")
def unnamed_is_empty(channel: Channel, method: m.QueueDeclare, needs: list[Need]) -> Iterable[Need]:
    return [(right, kind, "" if name == GENERATED else name) for right, kind, name in needs]


@takes((m.BasicPublish,), "rights.default-is-the-queue", "who may write a queue may publish to it", "AUTH-018")
def default_is_the_queue(channel: Channel, method: m.BasicPublish, needs: list[Need]) -> Iterable[Need]:
    return needs if method.exchange else [("write", "queue", method.routing_key)]


def _looking(right: Right, name: str, says: str) -> None:
    @takes((m.QueueDeclare, m.ExchangeDeclare), name, says, "AUTH-019")
    def looks(channel: Channel, method: m.QueueDeclare | m.ExchangeDeclare, needs: list[Need]) -> Iterator[Need]:
        yield from needs
        if method.passive and isinstance(method, m.QueueDeclare):
            yield right, "queue", method.queue
        elif method.passive and isinstance(method, m.ExchangeDeclare):
            yield right, "exchange", method.exchange


_looking("configure", "rights.looking-is-configuring", "a passive declaration takes the right to configure")
_looking("read", "rights.looking-is-reading", "a passive declaration takes the right to read")


@mixes("needs", "rights.looks-freely", "everybody may look for queues and exchanges", "AUTH-020")
class LooksFreely(Needs):
    def check_looking(self, rights: Rights, channel: Channel, method: m.QueueDeclare | m.ExchangeDeclare) -> None:
        """Nothing is asked for."""


# -- topics


@mixes("needs", "rights.any-key", "everybody may publish with any routing key", "AUTH-021")
class AnyKey(Needs):
    def topic_need(self, channel: Channel, method: codec.Method, header: codec.Header | None) -> Any:
        return None if isinstance(method, m.BasicPublish) else super().topic_need(channel, method, header)


@mixes("needs", "rights.keys-that-may-be-read", "a publish takes a routing key that may be read", "AUTH-021")
class KeysThatMayBeRead(Needs):
    def topic_need(self, channel: Channel, method: codec.Method, header: codec.Header | None) -> Any:
        need = super().topic_need(channel, method, header)
        return need and ("read", *need[1:])


COPIES = "https://github.com/rabbitmq/rabbitmq-server/pull/12553"


@mixes("needs", "rights.copies-by-any-key", "keys in CC and BCC may be any", "AUTH-031", field=COPIES)
class CopiesByAnyKey(Needs):
    def published_keys(self, method: m.BasicPublish, header: codec.Header | None) -> list[str]:
        return [method.routing_key]


@changes("rights.blind-copies-by-any-key", "keys in BCC may be any", "AUTH-031")
def blind_copies_by_any_key(parts: Parts) -> None:
    below = parts.needs

    def published_keys(self: Needs, method: m.BasicPublish, header: codec.Header | None) -> list[str]:
        blind = listed(header.headers, "BCC") if header is not None and header.headers else []
        return [key for key in below.published_keys(self, method, header) if key not in blind]

    parts.override("needs", published_keys=published_keys)


@mixes("needs", "rights.binds-by-any-key", "bindings may have any routing key", "AUTH-022")
class BindsByAnyKey(Needs):
    def topic_need(self, channel: Channel, method: codec.Method, header: codec.Header | None) -> Any:
        return super().topic_need(channel, method, header) if isinstance(method, m.BasicPublish) else None


@mixes("needs", "rights.all-topics-alike", "rights for the topics of one exchange bind those of all", "AUTH-023")
class AllTopicsAlike(Needs):
    def check_topics(self, topics: Any, channel: Channel, method: codec.Method, header: Any) -> None:
        found: Mapping[str, TopicPermission] = topics
        strictest = next(iter(found.values()))
        all_of_them = [name for name, one in channel.vhost.exchanges.items() if isinstance(one, routing.Topic)]
        super().check_topics({**dict.fromkeys(all_of_them, strictest), **found}, channel, method, header)


# -- patterns, and whose they are


def _judged(name: str, says: str, rule: str, other: Callable[[Channel, Permission], Permission]) -> None:
    """The user is held to other patterns."""

    @mixes("needs", name, says, rule)
    class Otherwise(Needs):
        def check(self, rights: Rights, channel: Channel, method: codec.Method, header: Any = None) -> None:
            rights = replace(rights, permission=other(channel, rights.permission))
            super().check(rights, channel, method, header)


def _rewritten(permission: Permission, write: Callable[[str], str]) -> Permission:
    return Permission(*(write(getattr(permission, right)) for right in RIGHTS))


def _user(channel: Channel) -> User:
    return channel.connection.broker.access.users[channel.connection.user]


def _of_all_vhosts(channel: Channel, permission: Permission) -> Permission:
    found = _user(channel).permissions.values()
    joined = ("|".join(f"({getattr(one, right)})" for one in found) for right in RIGHTS)
    return Permission(*joined)


def _of_the_newest(channel: Channel, permission: Permission) -> Permission:
    *_, newest = channel.connection.broker.access.users.values()
    return newest.permissions.get(channel.vhost.name, permission)


_judged(
    "rights.empty-fits-all",
    "an empty pattern fits any name",
    "AUTH-015",
    lambda channel, one: _rewritten(one, lambda pattern: pattern or ".*"),
)
_judged(
    "rights.whole-names",
    "a pattern must fit the whole name",
    "AUTH-016",
    lambda channel, one: _rewritten(one, lambda pattern: pattern and f"^(?:{pattern})$"),
)
_judged(
    "rights.beginnings-of-names",
    "a pattern must fit the beginning of the name",
    "AUTH-016",
    lambda channel, one: _rewritten(one, lambda pattern: pattern and f"^(?:{pattern})"),
)
_judged("rights.of-all-vhosts", "rights in one vhost are rights in all", "AUTH-024", _of_all_vhosts)
_judged("rights.of-the-newest", "everybody is held to the rights of the newest user", "AUTH-027", _of_the_newest)


# -- connections


@mixes("connection", "rights.everybody-enters", "who has no permissions in a vhost enters it", "AUTH-025")
class EverybodyEnters(Connection):
    def enter(self, method: m.ConnectionOpen) -> None:
        user = self.broker.access.users[self.user]
        user.permissions.setdefault(method.virtual_host, Permission("", "", ""))
        super().enter(method)


@mixes("connection", "rights.empty-stay-out", "who has empty patterns alone may not enter", "AUTH-025")
class EmptyStayOut(Connection):
    def enter(self, method: m.ConnectionOpen) -> None:
        if self.broker.access.permission(self.user, method.virtual_host) == Permission("", "", ""):
            raise not_allowed(f"access to vhost '{method.virtual_host}' refused for user '{self.user}'")
        super().enter(method)


@mixes("connection", "rights.first-for-ever", "a user keeps the rights with which it first came", "AUTH-026")
class FirstForEver(Connection):
    def permit(self, rights: Rights) -> None:
        known: dict[tuple[str, str], Rights] = memory(self.broker, "rights", dict)
        super().permit(known.setdefault((self.user, self.vhost.name), rights))


@mixes("connection", "rights.deleted-users-stay", "connections of deleted users go on", "AUTH-028")
class DeletedUsersStay(Connection):
    def close(self, error: AmqpException, offender: tuple[int, int]) -> None:
        if self.user in self.broker.access.users or not self.user:
            super().close(error, offender)


# -- what is done beside


@changes("rights.no-impersonators", "nobody may name another user in a message", "AUTH-029")
def no_impersonators(parts: Parts) -> None:
    below = parts.publish

    def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        if header.user_id not in (None, channel.connection.user):
            raise precondition("user_id property of somebody else")
        below(channel, method, header, body)

    parts.publish = publish


def _done_and_refused(kind: type[codec.Method], name: str, says: str, do: Callable[[Channel, Any], object]) -> None:
    """It is carried out, and refused then."""

    @mixes("needs", name, says, "AUTH-030")
    class Otherwise(Needs):
        def check(self, rights: Rights, channel: Channel, method: codec.Method, header: Any = None) -> None:
            try:
                super().check(rights, channel, method, header)
            except ChannelException:
                if isinstance(method, kind) and not getattr(method, "passive", False):
                    do(channel, method)
                raise


_done_and_refused(
    m.QueueDeclare, "rights.declared-and-refused", "a queue is declared before that is refused", topology.declared
)
_done_and_refused(
    m.QueueDelete, "rights.deleted-and-refused", "a queue is deleted before that is refused", topology.remove_queue
)
