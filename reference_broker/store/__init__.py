"""Keeps every confirmed message: an append-only log of segments, one fsync for each group, recovery after any crash."""
