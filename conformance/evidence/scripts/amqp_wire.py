"""The reproducer's steps by py-amqp."""

import contextlib
from typing import Any
from urllib.parse import unquote, urlsplit

import amqp
from amqp import exceptions

from conformance.evidence.scripts.blocking import METHODS, LibraryWire


class Wire(LibraryWire):
    confirm_select = "confirm_select"
    methods = METHODS | {
        "basic.qos": (
            "basic_qos",
            {"prefetch_size": "prefetch_size", "prefetch_count": "prefetch_count", "global_": "a_global"},
        ),
        "basic.cancel": ("basic_cancel", {"consumer_tag": "consumer_tag"}),
    }
    defaults = LibraryWire.defaults | {
        "auto_delete": False,
        "prefetch_size": 0,
        "prefetch_count": 0,
        "a_global": False,
        "global_": False,
    }

    def connect(self, name: str, capabilities: dict[str, Any]) -> None:
        self.connections[name] = self._opened()

    def _look(self, connection: Any) -> None:
        connection.drain_events(0.02)

    def clean(self) -> None:
        """Removes what was declared."""
        for name, connection in self.connections.items():
            if name not in self.gone:
                connection.collect()
        broom = self._opened()
        for kind, name in self.declared:
            with contextlib.suppress(exceptions.AMQPError):
                getattr(broom.channel(), f"{kind}_delete")(name)
        broom.close()

    def _opened(self) -> Any:
        parts = urlsplit(self.url)
        connection = amqp.Connection(
            host=f"{parts.hostname}:{parts.port or 5672}",
            userid=unquote(parts.username or "guest"),
            password=unquote(parts.password or "guest"),
            virtual_host=unquote(parts.path.removeprefix("/")) or "/",
            ssl=parts.scheme == "amqps",
            connect_timeout=10,
        )
        connection.connect()
        return connection

    def _guarded(self, name: str, number: int, action: Any) -> None:
        """An end by the broker is a frame, too."""
        try:
            action()
        except TimeoutError:
            pass
        except exceptions.ChannelError as closed:
            self._note(
                name,
                self._closed(name, number),
                "channel.close",
                reply_code=closed.reply_code,
                reply_text=closed.reply_text,
            )
        except exceptions.ConnectionError as closed:
            self.gone.add(name)
            self._note(name, 0, "connection.close", reply_code=closed.reply_code, reply_text=closed.reply_text)
        except OSError:
            self.gone.add(name)
            self._note(name, 0, "end")

    def _closed(self, name: str, number: int) -> int:
        """Which channel it was that the broker closed."""
        for (on, channel), known in list(self.channels.items()):
            if on == name and not known.is_open:
                del self.channels[on, channel]
                return channel
        return number

    def _publish(self, name: str, number: int, row: dict[str, Any]) -> None:
        message = amqp.Message(row.get("body", ""), **row.get("properties", {}))
        channel = self.channels[name, number]
        publish = channel.basic_publish_confirm if (name, number) in self.numbers else channel.basic_publish
        publish(message, row.get("exchange", ""), row.get("routing_key", ""), mandatory=row.get("mandatory", False))

    def _open(self, name: str, number: int) -> None:
        channel = self.channels[name, number] = self.connections[name].channel(number)
        channel._do_revive = lambda: setattr(channel, "is_open", False)  # or it opens the channel again by itself
        channel.events["basic_return"].add(
            lambda exc, exchange, key, message: self._note(
                name,
                number,
                "basic.return",
                reply_code=exc.reply_code,
                exchange=exchange,
                routing_key=key,
                message=_name(message),
            )
        )

    def _get(self, name: str, number: int, row: dict[str, Any]) -> None:
        message = self.channels[name, number].basic_get(row["queue"], row.get("no_ack", False))
        if message is None:
            self._note(name, number, "basic.get-empty")
        else:
            self._note(name, number, "basic.get-ok", message=_name(message), **_fields_of(message))

    def _consume(self, name: str, number: int, row: dict[str, Any]) -> None:
        def delivered(message: Any) -> None:
            self._note(name, number, "basic.deliver", message=_name(message), **_fields_of(message))

        answer = self.channels[name, number].basic_consume(
            row["queue"],
            row.get("consumer_tag", ""),
            no_ack=row.get("no_ack", False),
            exclusive=row.get("exclusive", False),
            callback=delivered,
            arguments=row.get("arguments"),
        )
        self._note(name, number, "basic.consume-ok", consumer_tag=answer)


def _name(message: Any) -> str:
    body = message.body.decode("latin-1") if isinstance(message.body, bytes) else message.body
    return str(message.properties.get("message_id") or body)


def _fields_of(message: Any) -> dict[str, Any]:
    names = ("consumer_tag", "delivery_tag", "redelivered", "exchange", "routing_key")
    told = {name: message.delivery_info[name] for name in names if name in message.delivery_info}
    return {**told, "headers": message.properties.get("application_headers")}
