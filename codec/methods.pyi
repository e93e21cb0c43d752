"""Written by `python -m tools.stubs` from the declaration; a test keeps it fresh."""

from collections.abc import Callable
from typing import Final

from codec.kinds import Method
from codec.lower import Op
from codec.values import FieldTable

BY_NAME: Final[dict[str, type[Method]]]
BY_INDEX: Final[dict[int, type[Method]]]
DECODERS: Final[dict[int, Callable[..., Method]]]

def class_name(name: str) -> str: ...
def arguments(ops: list[Op]) -> list[tuple[str, str]]: ...
def method_ops(class_id: int, method_id: int) -> tuple[list[Op], list[Op]]: ...

class ConnectionStart(Method):
    version_major: int
    version_minor: int
    server_properties: FieldTable
    mechanisms: bytes
    locales: bytes
    def __init__(
        self,
        channel: int,
        version_major: int = 0,
        version_minor: int = 0,
        server_properties: FieldTable = ...,
        mechanisms: bytes = b"",
        locales: bytes = b"",
    ) -> None: ...

class ConnectionStartOk(Method):
    client_properties: FieldTable
    mechanism: str
    response: bytes
    locale: str
    def __init__(
        self,
        channel: int,
        client_properties: FieldTable = ...,
        mechanism: str = "",
        response: bytes = b"",
        locale: str = "",
    ) -> None: ...

class ConnectionSecure(Method):
    challenge: bytes
    def __init__(self, channel: int, challenge: bytes = b"") -> None: ...

class ConnectionSecureOk(Method):
    response: bytes
    def __init__(self, channel: int, response: bytes = b"") -> None: ...

class ConnectionTune(Method):
    channel_max: int
    frame_max: int
    heartbeat: int
    def __init__(
        self,
        channel: int,
        channel_max: int = 0,
        frame_max: int = 0,
        heartbeat: int = 0,
    ) -> None: ...

class ConnectionTuneOk(Method):
    channel_max: int
    frame_max: int
    heartbeat: int
    def __init__(
        self,
        channel: int,
        channel_max: int = 0,
        frame_max: int = 0,
        heartbeat: int = 0,
    ) -> None: ...

class ConnectionOpen(Method):
    virtual_host: str
    reserved_1: str
    reserved_2: bool
    def __init__(
        self,
        channel: int,
        virtual_host: str = "",
        reserved_1: str = "",
        reserved_2: bool = False,
    ) -> None: ...

class ConnectionOpenOk(Method):
    reserved_1: str
    def __init__(self, channel: int, reserved_1: str = "") -> None: ...

class ConnectionClose(Method):
    reply_code: int
    reply_text: str
    class_id: int
    method_id: int
    def __init__(
        self,
        channel: int,
        reply_code: int = 0,
        reply_text: str = "",
        class_id: int = 0,
        method_id: int = 0,
    ) -> None: ...

class ConnectionCloseOk(Method):
    def __init__(self, channel: int) -> None: ...

class ConnectionBlocked(Method):
    reason: str
    def __init__(self, channel: int, reason: str = "") -> None: ...

class ConnectionUnblocked(Method):
    def __init__(self, channel: int) -> None: ...

class ConnectionUpdateSecret(Method):
    new_secret: bytes
    reason: str
    def __init__(self, channel: int, new_secret: bytes = b"", reason: str = "") -> None: ...

class ConnectionUpdateSecretOk(Method):
    def __init__(self, channel: int) -> None: ...

class ChannelOpen(Method):
    reserved_1: str
    def __init__(self, channel: int, reserved_1: str = "") -> None: ...

class ChannelOpenOk(Method):
    reserved_1: bytes
    def __init__(self, channel: int, reserved_1: bytes = b"") -> None: ...

class ChannelFlow(Method):
    active: bool
    def __init__(self, channel: int, active: bool = False) -> None: ...

class ChannelFlowOk(Method):
    active: bool
    def __init__(self, channel: int, active: bool = False) -> None: ...

class ChannelClose(Method):
    reply_code: int
    reply_text: str
    class_id: int
    method_id: int
    def __init__(
        self,
        channel: int,
        reply_code: int = 0,
        reply_text: str = "",
        class_id: int = 0,
        method_id: int = 0,
    ) -> None: ...

class ChannelCloseOk(Method):
    def __init__(self, channel: int) -> None: ...

class AccessRequest(Method):
    realm: str
    exclusive: bool
    passive: bool
    active: bool
    write: bool
    read: bool
    def __init__(
        self,
        channel: int,
        realm: str = "",
        exclusive: bool = False,
        passive: bool = False,
        active: bool = False,
        write: bool = False,
        read: bool = False,
    ) -> None: ...

class AccessRequestOk(Method):
    reserved_1: int
    def __init__(self, channel: int, reserved_1: int = 0) -> None: ...

class ExchangeDeclare(Method):
    reserved_1: int
    exchange: str
    type: str
    passive: bool
    durable: bool
    auto_delete: bool
    internal: bool
    no_wait: bool
    arguments: FieldTable
    def __init__(
        self,
        channel: int,
        reserved_1: int = 0,
        exchange: str = "",
        type: str = "",
        passive: bool = False,
        durable: bool = False,
        auto_delete: bool = False,
        internal: bool = False,
        no_wait: bool = False,
        arguments: FieldTable = ...,
    ) -> None: ...

class ExchangeDeclareOk(Method):
    def __init__(self, channel: int) -> None: ...

class ExchangeDelete(Method):
    reserved_1: int
    exchange: str
    if_unused: bool
    no_wait: bool
    def __init__(
        self,
        channel: int,
        reserved_1: int = 0,
        exchange: str = "",
        if_unused: bool = False,
        no_wait: bool = False,
    ) -> None: ...

class ExchangeDeleteOk(Method):
    def __init__(self, channel: int) -> None: ...

class ExchangeBind(Method):
    reserved_1: int
    destination: str
    source: str
    routing_key: str
    no_wait: bool
    arguments: FieldTable
    def __init__(
        self,
        channel: int,
        reserved_1: int = 0,
        destination: str = "",
        source: str = "",
        routing_key: str = "",
        no_wait: bool = False,
        arguments: FieldTable = ...,
    ) -> None: ...

class ExchangeBindOk(Method):
    def __init__(self, channel: int) -> None: ...

class ExchangeUnbind(Method):
    reserved_1: int
    destination: str
    source: str
    routing_key: str
    no_wait: bool
    arguments: FieldTable
    def __init__(
        self,
        channel: int,
        reserved_1: int = 0,
        destination: str = "",
        source: str = "",
        routing_key: str = "",
        no_wait: bool = False,
        arguments: FieldTable = ...,
    ) -> None: ...

class ExchangeUnbindOk(Method):
    def __init__(self, channel: int) -> None: ...

class QueueDeclare(Method):
    reserved_1: int
    queue: str
    passive: bool
    durable: bool
    exclusive: bool
    auto_delete: bool
    no_wait: bool
    arguments: FieldTable
    def __init__(
        self,
        channel: int,
        reserved_1: int = 0,
        queue: str = "",
        passive: bool = False,
        durable: bool = False,
        exclusive: bool = False,
        auto_delete: bool = False,
        no_wait: bool = False,
        arguments: FieldTable = ...,
    ) -> None: ...

class QueueDeclareOk(Method):
    queue: str
    message_count: int
    consumer_count: int
    def __init__(
        self,
        channel: int,
        queue: str = "",
        message_count: int = 0,
        consumer_count: int = 0,
    ) -> None: ...

class QueueBind(Method):
    reserved_1: int
    queue: str
    exchange: str
    routing_key: str
    no_wait: bool
    arguments: FieldTable
    def __init__(
        self,
        channel: int,
        reserved_1: int = 0,
        queue: str = "",
        exchange: str = "",
        routing_key: str = "",
        no_wait: bool = False,
        arguments: FieldTable = ...,
    ) -> None: ...

class QueueBindOk(Method):
    def __init__(self, channel: int) -> None: ...

class QueuePurge(Method):
    reserved_1: int
    queue: str
    no_wait: bool
    def __init__(self, channel: int, reserved_1: int = 0, queue: str = "", no_wait: bool = False) -> None: ...

class QueuePurgeOk(Method):
    message_count: int
    def __init__(self, channel: int, message_count: int = 0) -> None: ...

class QueueDelete(Method):
    reserved_1: int
    queue: str
    if_unused: bool
    if_empty: bool
    no_wait: bool
    def __init__(
        self,
        channel: int,
        reserved_1: int = 0,
        queue: str = "",
        if_unused: bool = False,
        if_empty: bool = False,
        no_wait: bool = False,
    ) -> None: ...

class QueueDeleteOk(Method):
    message_count: int
    def __init__(self, channel: int, message_count: int = 0) -> None: ...

class QueueUnbind(Method):
    reserved_1: int
    queue: str
    exchange: str
    routing_key: str
    arguments: FieldTable
    def __init__(
        self,
        channel: int,
        reserved_1: int = 0,
        queue: str = "",
        exchange: str = "",
        routing_key: str = "",
        arguments: FieldTable = ...,
    ) -> None: ...

class QueueUnbindOk(Method):
    def __init__(self, channel: int) -> None: ...

class BasicQos(Method):
    prefetch_size: int
    prefetch_count: int
    global_: bool
    def __init__(
        self,
        channel: int,
        prefetch_size: int = 0,
        prefetch_count: int = 0,
        global_: bool = False,
    ) -> None: ...

class BasicQosOk(Method):
    def __init__(self, channel: int) -> None: ...

class BasicConsume(Method):
    reserved_1: int
    queue: str
    consumer_tag: str
    no_local: bool
    no_ack: bool
    exclusive: bool
    no_wait: bool
    arguments: FieldTable
    def __init__(
        self,
        channel: int,
        reserved_1: int = 0,
        queue: str = "",
        consumer_tag: str = "",
        no_local: bool = False,
        no_ack: bool = False,
        exclusive: bool = False,
        no_wait: bool = False,
        arguments: FieldTable = ...,
    ) -> None: ...

class BasicConsumeOk(Method):
    consumer_tag: str
    def __init__(self, channel: int, consumer_tag: str = "") -> None: ...

class BasicCancel(Method):
    consumer_tag: str
    no_wait: bool
    def __init__(self, channel: int, consumer_tag: str = "", no_wait: bool = False) -> None: ...

class BasicCancelOk(Method):
    consumer_tag: str
    def __init__(self, channel: int, consumer_tag: str = "") -> None: ...

class BasicPublish(Method):
    reserved_1: int
    exchange: str
    routing_key: str
    mandatory: bool
    immediate: bool
    def __init__(
        self,
        channel: int,
        reserved_1: int = 0,
        exchange: str = "",
        routing_key: str = "",
        mandatory: bool = False,
        immediate: bool = False,
    ) -> None: ...

class BasicReturn(Method):
    reply_code: int
    reply_text: str
    exchange: str
    routing_key: str
    def __init__(
        self,
        channel: int,
        reply_code: int = 0,
        reply_text: str = "",
        exchange: str = "",
        routing_key: str = "",
    ) -> None: ...

class BasicDeliver(Method):
    consumer_tag: str
    delivery_tag: int
    redelivered: bool
    exchange: str
    routing_key: str
    def __init__(
        self,
        channel: int,
        consumer_tag: str = "",
        delivery_tag: int = 0,
        redelivered: bool = False,
        exchange: str = "",
        routing_key: str = "",
    ) -> None: ...

class BasicGet(Method):
    reserved_1: int
    queue: str
    no_ack: bool
    def __init__(self, channel: int, reserved_1: int = 0, queue: str = "", no_ack: bool = False) -> None: ...

class BasicGetOk(Method):
    delivery_tag: int
    redelivered: bool
    exchange: str
    routing_key: str
    message_count: int
    def __init__(
        self,
        channel: int,
        delivery_tag: int = 0,
        redelivered: bool = False,
        exchange: str = "",
        routing_key: str = "",
        message_count: int = 0,
    ) -> None: ...

class BasicGetEmpty(Method):
    reserved_1: str
    def __init__(self, channel: int, reserved_1: str = "") -> None: ...

class BasicAck(Method):
    delivery_tag: int
    multiple: bool
    def __init__(self, channel: int, delivery_tag: int = 0, multiple: bool = False) -> None: ...

class BasicReject(Method):
    delivery_tag: int
    requeue: bool
    def __init__(self, channel: int, delivery_tag: int = 0, requeue: bool = False) -> None: ...

class BasicRecoverAsync(Method):
    requeue: bool
    def __init__(self, channel: int, requeue: bool = False) -> None: ...

class BasicRecover(Method):
    requeue: bool
    def __init__(self, channel: int, requeue: bool = False) -> None: ...

class BasicRecoverOk(Method):
    def __init__(self, channel: int) -> None: ...

class BasicNack(Method):
    delivery_tag: int
    multiple: bool
    requeue: bool
    def __init__(
        self,
        channel: int,
        delivery_tag: int = 0,
        multiple: bool = False,
        requeue: bool = False,
    ) -> None: ...

class ConfirmSelect(Method):
    no_wait: bool
    def __init__(self, channel: int, no_wait: bool = False) -> None: ...

class ConfirmSelectOk(Method):
    def __init__(self, channel: int) -> None: ...

class TxSelect(Method):
    def __init__(self, channel: int) -> None: ...

class TxSelectOk(Method):
    def __init__(self, channel: int) -> None: ...

class TxCommit(Method):
    def __init__(self, channel: int) -> None: ...

class TxCommitOk(Method):
    def __init__(self, channel: int) -> None: ...

class TxRollback(Method):
    def __init__(self, channel: int) -> None: ...

class TxRollbackOk(Method):
    def __init__(self, channel: int) -> None: ...
