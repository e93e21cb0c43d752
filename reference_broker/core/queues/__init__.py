"""Queues: the messages that they hold, in which order these leave, and when they time out or die."""
