"""The hunt for brokers that are wrong on the wire: the same plays, through a proxy in front of a real broker.

The control is the same proxy with nothing to rewrite. Where there is no real broker, the reference broker stands behind
the proxy, and the document says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from conformance.campaigns.hunt import control, hunt
from conformance.drive.run.bench import Bench
from conformance.drive.run.plays import plays
from conformance.session import brokers
from conformance.session.session import patient
from tools.rewriting import MUTANTS, RewritingProxy, WireMutant

HONEST = WireMutant("wire.honest", "rewrites nothing", (), lambda piece, memory: [piece])
LEAST = 1.0
"""Seconds that a broker gets at least for what it owes."""


def run(url: str | None, depth: str = "ci") -> dict[str, Any]:
    """Each wire mutant in front of this broker, or of an embedded one. Raises BadUrl or Unreachable."""
    with brokers.resolve(url) as behind:
        rows = [_row(mutant, behind, depth) for mutant in MUTANTS.values()]
        return {
            "broker": behind.name,
            "real": url is not None,
            "mutants": rows,
            "killed": sum(row["killed"] for row in rows),
        }


def _row(mutant: WireMutant, behind: brokers.BrokerUnderTest, depth: str) -> dict[str, Any]:
    with bench(behind, mutant, depth) as wrong:
        trail = hunt(mutant.rules, wrong)
    false: list[str] = []
    for play in plays():
        if play.key == trail.play:
            with bench(behind, HONEST, depth) as right:
                false = [told for told in control(play, right).broken if told.startswith(f"{trail.rule} ")]
    return {
        "name": mutant.name,
        "says": mutant.says,
        "rules": list(mutant.rules),
        **trail.plain(),
        "control": false,
        "killed": trail.rule is not None and not false,
    }


@contextmanager
def bench(behind: brokers.BrokerUnderTest, mutant: WireMutant, depth: str) -> Iterator[Bench]:
    with RewritingProxy(behind.target, mutant) as proxy:
        yield Bench(patient(proxy.target), behind.profile, deadline=max(LEAST, behind.deadline / 5), depth=depth)
