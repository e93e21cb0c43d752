"""pika's SelectConnection: whose cancel-ok does the callback of a cancel get?

    python pika_cancel_twice.py amqp://guest:guest@localhost:5672/%2F ...

One channel has two consumers, and cancels both without waiting in between, each with a callback of its own. Printed is
what each callback was told.
"""

from __future__ import annotations

import sys
from typing import Any

import pika

TAGS = ("first", "second")


def told(url: str) -> tuple[str, list[tuple[str, str]]]:
    """The broker, and (the tag that was cancelled, the tag that its callback got) in the order of calls."""
    calls: list[tuple[str, str]] = []
    broker: list[str] = []

    def opened(channel: Any) -> None:
        broker.append("{product} {version}".format(**channel.connection.server_properties))
        channel.queue_declare("", exclusive=True, callback=lambda answer: consume(channel, answer.method.queue))

    def consume(channel: Any, queue: str) -> None:
        for tag in TAGS:
            channel.basic_consume(
                queue,
                lambda *message: None,
                consumer_tag=tag,
                callback=(lambda answer: cancel(channel)) if tag == TAGS[-1] else None,
            )

    def cancel(channel: Any) -> None:
        for tag in TAGS:
            channel.basic_cancel(tag, lambda answer, tag=tag: calls.append((tag, answer.method.consumer_tag)))
        channel.basic_qos(prefetch_count=1, callback=lambda answer: connection.close())

    connection = pika.SelectConnection(
        pika.URLParameters(url),
        on_open_callback=lambda made: made.channel(on_open_callback=opened),
        on_close_callback=lambda made, reason: made.ioloop.stop(),
        on_open_error_callback=lambda made, error: made.ioloop.stop(),
    )
    connection.ioloop.start()
    return broker[0], calls


def main() -> None:
    for url in sys.argv[1:]:
        broker, calls = told(url)
        print(f"pika {pika.__version__} on {broker}")
        for tag in TAGS:
            answers = [answer for cancelled, answer in calls if cancelled == tag]
            print(f"  the callback of the cancel of {tag!r} was called for: {', '.join(answers) or 'nothing'}")


if __name__ == "__main__":
    main()
