"""Channels: the methods that come on them, their modes, and what of their deliveries is not settled yet."""
