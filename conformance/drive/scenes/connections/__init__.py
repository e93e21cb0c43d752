"""Connections and rights: handshakes, channels, frames, permissions, alarms."""
