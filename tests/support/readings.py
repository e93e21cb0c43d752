"""A profile for tests alone: readings that no broker we have measured is held to."""

from __future__ import annotations

from pathlib import Path

OTHER = str(Path(__file__).with_name("other_readings.toml"))
"""In place of a profile's name."""
