"""Campaigns on the suite itself. Not in the wheel; nothing imports this."""
