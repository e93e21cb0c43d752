"""Messages: what becomes of those that wait, by expiry, limits, dead letters and priorities."""
