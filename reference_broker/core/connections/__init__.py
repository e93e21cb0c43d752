"""Connections: how they begin and end, what they hear, and what they have to say."""
