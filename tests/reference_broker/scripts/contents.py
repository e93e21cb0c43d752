"""Contents: a long body, properties of a message that is returned and got again; counts of messages."""

import codec
from codec import methods as m


def long_and_wordy(client):
    properties = {"delivery_mode": 1, "priority": 3, "headers": [("kind", "S", b"odd")]}
    client.send(m.QueueDeclare(1, 0, "q", passive=True))
    body = b"".join(b"%04d" % number for number in range(2560))
    for _ in range(2):
        client.send(m.QueueBind(1, 0, "q", "amq.direct", "key"))
    client.send(codec.content(m.BasicPublish(1, 0, "amq.direct", "key"), body, **properties))
    client.get()
    client.send(m.BasicNack(1, 1, False, True))
    client.get()


def counted(client):
    """What is ready, what is out, and what is removed."""
    client.publish(*"1234")
    client.gets(2)
    client.send(m.QueueDeclare(1, 0, "q", passive=True), m.QueuePurge(1, 0, "q"))
    client.queue("short")
    client.publish("1", queue="short")
    client.send(m.QueueDelete(1, 0, "short"))
