"""What is said to be nothing is taken for what is not said."""

from __future__ import annotations

import codec
from codec import methods as m
from reference_broker.core.channels.channel import Channel
from reference_broker.core.parts import Parts
from reference_broker.mutants.kinds import changes


@changes("unsaid.user-id", "an empty user-id is none", "CONTENT-006")
def user_id(parts: Parts) -> None:
    below = parts.publish

    def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        if header.user_id == "":
            present = {name: value for name, value in header.properties().items() if name != "user_id"}
            header = codec.header(0, len(body), **present)
        below(channel, method, header, body)

    parts.publish = publish
