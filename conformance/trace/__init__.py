"""Recordings and captures: made by a proxy, judged offline, watched as they appear."""
