"""Queues: what they hold and in which order, how they are declared and changed, and what they do by themselves."""
