"""Consumers: prefetch, cancellation, timeouts, and who may consume."""
