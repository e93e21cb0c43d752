"""Turns packet captures into wire events, in plain Python: files -> packets -> segments -> streams -> rows.

    files     pcap and pcapng, any byte order and resolution        file -> packets, in the order of time
    links     Ethernet, VLAN, Linux cooked, loopback, raw; IPv4/6   packet -> TCP segment
    tcp       reordering, retransmission, holes                     segments -> octets, both directions in causal order
    frames    where a frame begins and ends, also after a hole      octets -> frames
    identity  what differs from message to message: its id          header -> words, id
    rows      events in columns, repeated ones made once            frames -> rows -> Event or Arrow
    streams   one connection: what is joined, lost, cut             octets -> rows
    capture   who talks to whom; one history for each broker        all of it
    rings     which files are one capture; about: of what
    loose     what crosses from one file of a ring to the next
    stitch    the same, told when all files are read                loose ends -> rows
    columns   rows as Arrow

A capture is one observer at one point between clients and broker, so all connections to one broker are one history.
Nothing here knows Spark; `reports.pipeline.sources` reads captures with it.
"""
