"""Runs the suite in pytest: options, the broker, which checks are played and how."""
