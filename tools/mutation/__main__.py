"""Wrong brokers made by a machine before the suite: `make mutation SAMPLE=400 [SEED=n] [DEPTH=ci|deep]`.

    python -m tools.mutation [--sample N] [--seed SEED] [--depth DEPTH] [--base DEPTH] [--dialect D] [--machines-alone]
        [--kinds KIND ...]

Prints one line a broker and the detection curve. What is done is in a journal that belongs to the sources, so the same
command carries on where it was interrupted. The figures go to build/mutation.json, one document for each depth,
dialect and way; of them docs/trust.md gets a section. The exit code is 1 where a goal is missed (see `curve.sound`).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from conformance.campaigns.detection import describe_seconds
from conformance.campaigns.hunt import DIALECTS
from conformance.campaigns.journal import Journal
from tools.mutation.campaign import BOUNDS, Campaign, Failed, Sampled
from tools.mutation.curve import Figures, figures, line, sound, words
from tools.mutation.sites import mutations
from tools.mutation.survey import ExamSettings
from tools.mutation.triggers import TRIGGERS

FIGURES = Path("build") / "mutation.json"
FOLDER = Path("build") / "mutation"
BASES = {"smoke": "smoke", "ci": "ci", "deep": "ci"}
WORDS = ("__main__.py", "curve.py")
"""What only counts and tells, and changes no exam."""
DONE, MISSED, FAILED, INTERRUPTED = 0, 1, 4, 130


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    settings = ExamSettings(options.depth, options.seed, options.dialect, options.machines_alone)
    journal = Journal(options.folder, f"exams-{own_sources()}")
    campaign = Campaign(
        settings, options.base or BASES[options.depth], journal, options.workers, options.bound, options.kinds
    )
    done: list[Sampled] = []
    code, begin = DONE, time.monotonic()
    try:
        for one in campaign.sampled(options.sample):
            done.append(one)
            left = (time.monotonic() - begin) / len(done) * (options.sample - len(done))
            print(f"{line(len(done), options.sample, one)}; {describe_seconds(left)} left", flush=True)
    except Failed as failed:
        print(failed, file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("Interrupted. What is done is kept; the same command carries on.", file=sys.stderr)
        code = INTERRUPTED
    document = figures(done, campaign, len(mutations()))
    if code == DONE:
        keep(document, options.figures)
    print("\n".join(words(document)))
    return code or (DONE if sound(document) else MISSED)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description="Is what shows sometimes found?")
    parser.add_argument("--sample", type=int, default=400, metavar="N", help="so many brokers (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the draw, and of the machines (default: %(default)s)")
    parser.add_argument("--depth", choices=BOUNDS, default="ci")
    parser.add_argument("--base", choices=BOUNDS, help="depth at which mutations have to show (default: ci at most)")
    parser.add_argument("--dialect", choices=DIALECTS, default="documented", help="as which they are made and judged")
    parser.add_argument("--machines-alone", action="store_true", help="the scenes take no part")
    parser.add_argument("--kinds", nargs="+", choices=TRIGGERS, default=tuple(TRIGGERS), help="of triggers (all)")
    parser.add_argument("--bound", type=float, metavar="SECONDS", help="of one exam (default: by depth)")
    parser.add_argument("-n", "--workers", type=int, default=os.cpu_count() or 1, help="so many at a time")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the journal is (%(default)s)")
    parser.add_argument("--figures", type=Path, default=FIGURES, help="where the figures go (%(default)s)")
    return parser.parse_args(arguments)


def own_sources() -> str:
    """A fingerprint of what draws and examines: the journal's own is of what is examined."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes() if path.name not in WORDS else b"")
    return digest.hexdigest()[:12]


def keep(document: Figures, path: Path) -> None:
    """Beside those of the other depths, dialects and ways."""
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**kept, document["of"]: document}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # nothing of ours is to outlive us
    sys.exit(main())
