"""Consumers: who may be taking, within which windows; what is delivered, settled and timed out."""
