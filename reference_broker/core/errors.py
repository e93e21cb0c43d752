"""Exceptions in the AMQP sense: what a handler raises to have a channel or a connection closed.

A handler never sends a close itself. It raises, before it changes anything, and `connection.py`
turns the exception into the close method, filling in the class and method of the offender. Codes
and texts are RabbitMQ's, because clients and operators know them; the text is cut to what a short
string can hold. Texts are written for the default virtual host; whoever sends one puts the name of its own there.
"""

from __future__ import annotations

from codec.errors import ReplyCode


class AmqpException(Exception):
    """Something the peer did that costs it a channel or the connection."""

    def __init__(self, code: ReplyCode, text: str = "", *, offender: tuple[int, int] | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.offender = offender

    def reply_text(self, vhost: str = "/") -> str:
        """As much of the text as a short string can hold."""
        return self.whole_text(vhost).encode()[:255].decode(errors="ignore")

    def whole_text(self, vhost: str = "/") -> str:
        full = f"{self.code.text} - {self.text}" if self.text else self.code.text
        if vhost != "/":
            full = full.replace("vhost '/'", f"vhost '{vhost}'")
        return full


class ChannelException(AmqpException):
    """Soft: the channel is closed, the connection and its other channels live on."""


class ConnectionException(AmqpException):
    """Hard: the whole connection is closed."""


def raised(code: ReplyCode, text: str) -> AmqpException:
    """The exception of the kind that this code belongs to."""
    return (ChannelException if code.soft else ConnectionException)(code, text)


def not_found(what: str, name: str) -> ChannelException:
    return ChannelException(ReplyCode.NOT_FOUND, f"no {what} '{name}' in vhost '/'")


def precondition(text: str) -> ChannelException:
    return ChannelException(ReplyCode.PRECONDITION_FAILED, text)


def refused(text: str) -> ChannelException:
    return ChannelException(ReplyCode.ACCESS_REFUSED, text)


def locked(queue: str) -> ChannelException:
    return ChannelException(
        ReplyCode.RESOURCE_LOCKED,
        f"cannot obtain exclusive access to locked queue '{queue}' in vhost '/'. It could be originally "
        "declared on another connection or the exclusive property value does not match that of the "
        "original declaration.",
    )


def not_implemented(text: str) -> ConnectionException:
    return ConnectionException(ReplyCode.NOT_IMPLEMENTED, text)


def not_allowed(text: str, *, offender: tuple[int, int] | None = None) -> ConnectionException:
    return ConnectionException(ReplyCode.NOT_ALLOWED, text, offender=offender)


def reused(tag: str) -> ConnectionException:
    return not_allowed(f"attempt to reuse consumer tag '{tag}'")
