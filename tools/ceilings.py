"""How often do the known races show? `python -m tools.ceilings [--write] RESULTS...`: the ceilings of deviations.

Reads results.json of runs on real brokers, sums up for each intermittent deviation how often it was met and how often
its circumstances arose, and says the largest share that fits this: with it, so few or fewer would be seen only once in
a hundred times (`DOUBT`). Several runs of one version count together, whatever their depth; `--measured
rabbitmq-4.3:ERR-008=2/10000` adds what a script of docs/findings counted. `--write` puts the shares into our own files
as `at_most`; a version that was not run keeps what it has.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from conformance.catalogue import deviations
from conformance.catalogue.profiles import load
from conformance.outcome.gate import chance, often
from conformance.outcome.results import Results, from_json

DOUBT = 0.01
FOLDER = Path(deviations.__file__).parent
DIGITS = 2
Seen = tuple[int, int]
"""How often an entry was met, and how often it could have been."""


def tally(runs: Iterable[Results]) -> dict[str, dict[int, Seen]]:
    """By deviations file and place in it."""
    found: dict[str, dict[int, Seen]] = {}
    for run in runs:
        name = load(run.profile).deviations
        rules = {rule.id: rule for rule in run.rules}
        for place, entry in enumerate(deviations.load(name) if name else ()):
            if entry.rule in rules and entry.intermittent and entry.where and name:
                before = found.setdefault(name, {}).get(place, (0, 0))
                now = often(rules[entry.rule], place, entry, run.met)
                found[name][place] = before[0] + now[0], before[1] + now[1]
    return found


def added(found: dict[str, dict[int, Seen]], said: Iterable[str]) -> None:
    """Adds what was counted elsewhere."""
    for one in said:
        name, _, rest = one.partition(":")
        rule, _, counts = rest.partition("=")
        seen, could = map(int, counts.split("/"))
        for place, entry in enumerate(deviations.load(name)):
            if entry.rule == rule and entry.intermittent:
                before = found.setdefault(name, {}).get(place, (0, 0))
                found[name][place] = before[0] + seen, before[1] + could


def ceiling(seen: int, could: int) -> float:
    """The largest share by which it is not too unlikely to see so few, rounded up."""
    if seen >= could:
        return 1.0
    low, high = seen / could, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        if 1 - chance(seen + 1, could, middle) > DOUBT:
            low = middle
        else:
            high = middle
    scale: float = 10.0 ** (DIGITS - 1 - math.floor(math.log10(high)))
    return min(1.0, math.ceil(high * scale) / scale)


def describe_ceilings(found: Mapping[str, Mapping[int, Seen]]) -> Iterator[str]:
    for name, places in found.items():
        entries = deviations.load(name)
        for place, (seen, could) in places.items():
            entry = entries[place]
            yield (
                f"{name} {entry.rule} {entry.where} {'/'.join(entry.queue_types)}: {seen} of {could}, "
                f"at most {ceiling(seen, could) if could else 'unknown'}"
            )


def write(name: str, places: Mapping[int, Seen]) -> None:
    """Sets the ceilings of one of our files."""
    path = FOLDER / f"{name}.toml"
    head, *blocks = re.split(r"(?m)^(?=\[\[deviation]])", path.read_text(encoding="utf-8"))
    for place, (seen, could) in places.items():
        if could:
            bare = re.sub(r"(?m)^at_most = .*\n", "", blocks[place])
            blocks[place] = re.sub(r"(?m)^where = .*\n", rf"\g<0>at_most = {ceiling(seen, could):g}\n", bare)
    path.write_text(head + "".join(blocks), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.ceilings", description="How often do the known races show?")
    parser.add_argument("results", nargs="*", type=Path, metavar="RESULTS", help="results.json of runs on real brokers")
    parser.add_argument("--write", action="store_true", help="set at_most in our own files")
    parser.add_argument(
        "--measured",
        action="append",
        default=[],
        metavar="FILE:RULE=SEEN/COULD",
        help="what was counted otherwise; may repeat",
    )
    options = parser.parse_args(arguments)
    found = tally(from_json(path.read_text(encoding="utf-8")) for path in options.results)
    added(found, options.measured)
    print("\n".join(describe_ceilings(found)))
    for name, places in found.items() if options.write else ():
        write(name, places)


if __name__ == "__main__":
    main()
