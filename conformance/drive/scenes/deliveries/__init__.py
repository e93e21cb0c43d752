"""Deliveries: tags, acknowledgement modes, settling, and the errors that come of it."""
