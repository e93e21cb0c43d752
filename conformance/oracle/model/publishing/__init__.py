"""Publishes: their routes, their confirms and returns, and transactions."""
