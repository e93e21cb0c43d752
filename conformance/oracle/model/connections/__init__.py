"""Connections and channels: how they are opened and closed, and what of a client's octets is not lawful."""
