"""What was asked of `trace check`."""

from __future__ import annotations

from dataclasses import dataclass

from reports import objects


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """What the user asked for. `spark`: that it is judged there, however little it is."""

    paths: tuple[objects.Place, ...]
    out: objects.Place
    master: str | None = None
    remote: str | None = None
    ports: tuple[int, ...] = ()
    profile: str | None = None
    deviations: str | None = None
    format: str = "text"
    words: tuple[str, ...] = ()
    whole: bool = False
    spark: bool = False
    verbose: bool = False

    @property
    def distributed(self) -> bool:
        return self.spark or self.master is not None or self.remote is not None
