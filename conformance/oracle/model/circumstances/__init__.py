"""The circumstances in which something happened: races and combinations in which brokers are known to fail.

A known deviation excuses a finding only in its own circumstance; that the words are the same is not enough. Each
circumstance has a name and a place: one life of a channel, a queue, a connection, or the whole history. It is noted
when the event that completes it comes, before the model learns from that event, and only from what the wire shows. A
finding has all circumstances that were noted at the places of its fact. Each is given with its name and the narrowest
of these places.

The model also counts how often each circumstance arose. Only together with this number does it mean something how often
a race goes wrong.
"""
