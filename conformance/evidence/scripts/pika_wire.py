"""The reproducer's steps by pika's BlockingConnection."""

import contextlib
from typing import Any

import pika
from pika import exceptions

from conformance.evidence.scripts.blocking import METHODS, LibraryWire


class Wire(LibraryWire):
    confirm_select = "confirm_delivery"
    methods = METHODS | {
        "exchange.declare": (
            "exchange_declare",
            {"exchange": "exchange", "type": "exchange_type", "durable": "durable"},
        ),
        "basic.qos": (
            "basic_qos",
            {"prefetch_size": "prefetch_size", "prefetch_count": "prefetch_count", "global_": "global_qos"},
        ),
    }

    def connect(self, name: str, capabilities: dict[str, Any]) -> None:
        self.connections[name] = pika.BlockingConnection(pika.URLParameters(self.url))

    def _look(self, connection: Any) -> None:
        connection.process_data_events(0.02)

    def clean(self) -> None:
        """Removes what was declared."""
        for name, connection in self.connections.items():
            if name not in self.gone and connection.is_open:
                connection.close()
        broom = pika.BlockingConnection(pika.URLParameters(self.url))
        for kind, name in self.declared:
            with contextlib.suppress(exceptions.AMQPError):
                getattr(broom.channel(), f"{kind}_delete")(name)
        broom.close()

    def _guarded(self, name: str, number: int, action: Any) -> None:
        """An end by the broker is a frame, too."""
        try:
            action()
        except exceptions.ChannelClosedByBroker:
            pass  # told below: pika also notices an end without a word
        except exceptions.ConnectionClosedByBroker as closed:
            self.gone.add(name)
            self._note(name, 0, "connection.close", reply_code=closed.reply_code, reply_text=closed.reply_text)
        except exceptions.AMQPConnectionError:
            self.gone.add(name)
            self._note(name, 0, "end")
        except exceptions.ChannelWrongStateError:
            pass  # pika does not send on a channel that has been closed
        self._ends(name)

    def _ends(self, name: str) -> None:
        """The channels that the broker has closed."""
        for (on, number), known in list(self.channels.items()):
            reason = known._closing_reason
            if on == name and known.is_closed and isinstance(reason, exceptions.ChannelClosedByBroker):
                del self.channels[on, number]
                self._note(name, number, "channel.close", reply_code=reason.reply_code, reply_text=reason.reply_text)

    def _publish(self, name: str, number: int, row: dict[str, Any]) -> None:
        properties = pika.BasicProperties(**row.get("properties", {}))
        self.channels[name, number].basic_publish(
            row.get("exchange", ""),
            row.get("routing_key", ""),
            row.get("body", "").encode("latin-1"),
            properties,
            mandatory=row.get("mandatory", False),
        )

    def _open(self, name: str, number: int) -> None:
        channel = self.channels[name, number] = self.connections[name].channel(number)
        channel.add_on_cancel_callback(
            lambda frame: self._note(
                name, number, "basic.cancel", consumer_tag=frame.method.consumer_tag, no_wait=frame.method.nowait
            )
        )
        channel.add_on_return_callback(
            lambda _, method, properties, body: self._note(
                name,
                number,
                "basic.return",
                reply_code=method.reply_code,
                exchange=method.exchange,
                routing_key=method.routing_key,
                message=properties.message_id or body.decode("latin-1"),
            )
        )

    def _get(self, name: str, number: int, row: dict[str, Any]) -> None:
        method, properties, body = self.channels[name, number].basic_get(row["queue"], row.get("no_ack", False))
        if method is None:
            self._note(name, number, "basic.get-empty")
        else:
            self._note(
                name,
                number,
                "basic.get-ok",
                delivery_tag=method.delivery_tag,
                redelivered=method.redelivered,
                exchange=method.exchange,
                routing_key=method.routing_key,
                headers=properties.headers,
                message=properties.message_id or body.decode("latin-1"),
            )

    def _consume(self, name: str, number: int, row: dict[str, Any]) -> None:
        def delivered(_: Any, method: Any, properties: Any, body: bytes) -> None:
            self._note(
                name,
                number,
                "basic.deliver",
                consumer_tag=method.consumer_tag,
                exchange=method.exchange,
                delivery_tag=method.delivery_tag,
                redelivered=method.redelivered,
                headers=properties.headers,
                routing_key=method.routing_key,
                message=properties.message_id or body.decode("latin-1"),
            )

        tag = self.channels[name, number].basic_consume(
            row["queue"],
            delivered,
            row.get("no_ack", False),
            row.get("exclusive", False),
            row.get("consumer_tag") or None,
            row.get("arguments"),
        )
        self._note(name, number, "basic.consume-ok", consumer_tag=tag)
