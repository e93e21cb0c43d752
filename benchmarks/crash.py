"""Kill the broker, again and again, and see what it kept: `python -m benchmarks.crash`, into build/crash.json.

Clients publish, acknowledge, requeue and commit on real sockets; at a random moment the process gets SIGKILL, now and
then while it starts, and the next one begins with what is in the directory. The log's segments are small, so that many
begin and go in each life. After all kills, and now and then between, the queues are read: every
confirmed message that nobody let go of must be there (else it is `lost`), none whose ack was settled may be
(`resurrected`), and each start must read its log (`unreadable_logs`). A message that was delivered before a kill
and comes again has to say so (`unmarked`).
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Self

from benchmarks.crash_clients import KINDS, Tally, contents, prepare

KILLS = 200
LOAD = (0.02, 0.5)
"""Seconds between the first client and the kill, at least and at most."""
AUDIT = 25
"""Kills between two looks at everything."""
EARLY = 0.1
"""Share of kills while the broker starts."""
START = (0.1, 0.8)
"""Seconds after which those come."""
SEGMENT = 64 << 10
PATIENCE = 60.0
OUT = Path("build/crash.json")


@dataclass
class Outcome:
    seed: int
    sync: str
    kills: int = 0
    confirmed: int = 0
    lost: int = 0
    resurrected: int = 0
    unreadable_logs: int = 0
    unmarked: int = 0
    published: int = 0
    settled: int = 0
    seconds: float = 0.0

    def clean(self) -> bool:
        return not (self.lost or self.resurrected or self.unreadable_logs or self.unmarked)


class Unreadable(Exception):
    """The broker did not start on its own log, or complained of it."""


class Process:
    """The broker on a directory; `kill` is SIGKILL."""

    def __init__(self, data: Path, sync: str, *options: str) -> None:
        command = [
            sys.executable,
            "-m",
            "reference_broker",
            "--port",
            "0",
            "--data",
            str(data),
            "--sync",
            sync,
            "--segment-octets",
            str(SEGMENT),
            *options,
        ]
        self.complaints = data.with_suffix(".stderr")
        self.url = ""
        with self.complaints.open("w") as stderr:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)

    def ready(self) -> Self:
        """When it listens. Raises Unreadable."""
        timer = threading.Timer(PATIENCE, self.process.kill)
        timer.start()
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        timer.cancel()
        if not line.startswith("listening on ") or "damaged" in self.complaints.read_text():
            self.kill()
            raise Unreadable(self.complaints.read_text().strip() or "it did not start")
        self.url = line.split()[-1]
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *about: object) -> None:
        self.kill()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


class Campaign:
    """`variations`: each life of the broker takes others. An ack may then take effect late: none counts as settled."""

    def __init__(self, data: Path, seed: int, sync: str, nondeterminism: bool = False) -> None:
        self.data = data
        self.nondeterminism = nondeterminism
        self.chance = random.Random(seed)
        self.outcome = Outcome(seed, sync)
        self.tally = Tally()
        self.numbers = count(1)
        self.lost: set[int] = set()
        self.resurrected: set[int] = set()

    def run(self, kills: int) -> Outcome:
        began = time.monotonic()
        try:
            for number in range(1, kills + 1):
                if self.chance.random() < EARLY:
                    self.kill_early()
                else:
                    self.life(audit=number % AUDIT == 0)
                self.outcome.kills = number
                if number % AUDIT == 0:
                    print(f"{number} kills, {len(self.tally.confirmed):,} confirmed", file=sys.stderr, flush=True)
            with self.process().ready() as broker:
                self.audit(broker.url)
        except Unreadable as error:
            print(f"after {self.outcome.kills} kills: {error}", file=sys.stderr)
            self.outcome.unreadable_logs += 1
        self.outcome.confirmed, self.outcome.published = len(self.tally.confirmed), len(self.tally.published)
        self.outcome.settled = len(self.tally.settled)
        self.outcome.lost, self.outcome.resurrected = len(self.lost), len(self.resurrected)
        self.outcome.seconds = round(time.monotonic() - began, 1)
        return self.outcome

    def process(self) -> Process:
        options = ["--nondeterminism", str(self.chance.randrange(10**6))] if self.nondeterminism else []
        return Process(self.data, self.outcome.sync, *options)

    def kill_early(self) -> None:
        """It may be reading its log, or already listen."""
        with self.process():
            time.sleep(self.chance.uniform(*START))

    def life(self, audit: bool) -> None:
        """Of the broker, from its start to the kill."""
        with self.process().ready() as broker:
            if audit:
                self.audit(broker.url)
            prepare(broker.url)
            clients = [kind(broker.url, random.Random(self.chance.random()), self.numbers) for kind in KINDS]
            threads = [threading.Thread(target=client.run) for client in clients]
            for thread in threads:
                thread.start()
            time.sleep(self.chance.uniform(*LOAD))
        for thread in threads:
            thread.join()
        for client in clients:
            if self.nondeterminism:
                client.tally.settled.clear()
            self.judge(client.tally)
        for client in clients:
            self.tally.add(client.tally)

    def judge(self, life: Tally) -> None:
        """What was seen in this life, by what was known before it."""
        self.resurrected |= life.delivered & self.tally.settled
        self.outcome.unmarked += len(life.unmarked & self.tally.delivered)

    def audit(self, url: str) -> None:
        there = contents(url)
        self.lost |= self.tally.confirmed - self.tally.let_go - there
        self.resurrected |= there & self.tally.settled


def campaign(kills: int, seed: int, sync: str = "fsync", nondeterminism: bool = False) -> Outcome:
    with tempfile.TemporaryDirectory() as place:
        return Campaign(Path(place, "data"), seed, sync, nondeterminism).run(kills)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    parser.add_argument("--sync", default="fsync", choices=("fsync", "write"))
    parser.add_argument("--nondeterminism", action="store_true", help="of a broker in lawful chaos")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    outcome = campaign(options.kills, options.seed, options.sync, options.nondeterminism)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(asdict(outcome), indent=2) + "\n")
    print(
        ", ".join(
            f"{value:,} {name}" for name, value in asdict(outcome).items() if isinstance(value, int) and name != "seed"
        ),
        f"in {outcome.seconds} s: {OUT}",
    )
    return 0 if outcome.clean() else 1


if __name__ == "__main__":
    sys.exit(main())
