"""Requeueing: what goes back to its queue, in which order, and what ends with a channel."""
