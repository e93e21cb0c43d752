"""The pure core: octets and times go in, octets and times come out. It knows no socket and no clock.

Here lies what all connections share: the virtual host and its routes, users and their rights, settings and limits.
"""
