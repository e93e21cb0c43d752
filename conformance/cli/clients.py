"""`amqp-conformance clients`: what client libraries show their applications of each rule, on one broker.

The broker is the one of a URL, or the embedded reference broker; each library plays the directed checks of the suite on
it, all at the same time unless the broker's clock is ours. The document is plain data, and all that is said is said
from it. A library's differences close no gate: only what the wire holds against the broker does, as everywhere.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any

from conformance import __version__
from conformance.catalogue import deviations, profiles, rules
from conformance.clients import page as clients_page
from conformance.clients.libraries import SHIPPED
from conformance.clients.libraries.process import BadAdapter, Library
from conformance.clients.run import Account, perform
from conformance.drive.around import Around
from conformance.drive.drivers.errors import ConnectionLost, Unreachable
from conformance.drive.drivers.target import BadUrl
from conformance.drive.run.bench import Bench
from conformance.drive.run.plays import Play, plays_for
from conformance.drive.run.size import DEPTHS
from conformance.session import brokers
from conformance.session.exits import GATE_CLOSED, GATE_OPEN, HARNESS_ERROR, UNREACHABLE, WRONG_USE, Refused
from conformance.session.interrupts import results
from conformance.session.places import local
from conformance.session.running import terminable
from conformance.session.session import around, patient

SCHEMA = "amqp-conformance/clients/1"
INSTALL = "pip install 'amqp-conformance[clients]'"

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ClientsOptions:
    """What the user said. `adapters` are commands of the user's own, `libraries` names of those that come with us."""

    url: str | None = None
    libraries: Sequence[str] = ()
    adapters: Sequence[str] = ()
    rules: str = "*"
    depth: str = "smoke"
    profile: str | None = None
    admin: str | None = None
    deviations: str | None = None

    def commands(self) -> dict[str, list[str]]:
        """Adapters by name. Raises Refused where one is unknown, or its library is not installed."""
        names = self.libraries or (() if self.adapters else tuple(SHIPPED))
        for name in names:
            if name not in SHIPPED:
                raise Refused(
                    WRONG_USE,
                    f"--library {name} is not known; known are {', '.join(SHIPPED)}. For one of "
                    "your own give --adapter COMMAND.",
                )
        missing = {SHIPPED[name].package: name for name in names if _absent(SHIPPED[name].module)}
        if missing:
            raise Refused(
                WRONG_USE,
                f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed. "
                f"Install what is needed with: {INSTALL}, or name libraries with --library.",
            )
        own = [shlex.split(command) for command in self.adapters]
        return {**{name: list(SHIPPED[name].command) for name in names}, **{Path(one[-1]).name: one for one in own}}


def arguments(added: argparse.ArgumentParser) -> None:
    added.epilog = (
        "exit codes: 0 done; 1 on the wire the broker broke a MUST outside its known deviations; 2 wrong "
        "use; 3 the broker is unreachable"
    )
    added.add_argument("url", nargs="?", help="amqp or amqps URL; default: the embedded reference broker")
    added.add_argument(
        "--library",
        action="append",
        default=[],
        metavar="NAME",
        dest="libraries",
        help="pika-select, pika-blocking or py-amqp; may repeat (default: all)",
    )
    added.add_argument(
        "--adapter",
        action="append",
        default=[],
        metavar="COMMAND",
        dest="adapters",
        help="a library of your own, by an adapter (docs/test-a-client.md); may repeat",
    )
    added.add_argument("--rules", default="*", metavar="GLOB", help="only the scenes of these rules, e.g. 'CNF-*'")
    added.add_argument("--depth", choices=DEPTHS, default="smoke", help="how much is played (default: %(default)s)")
    added.add_argument("--broker-admin", metavar="URL", help="RabbitMQ-style management API; lets scenes set policies")
    added.add_argument("--profile", metavar="NAME", help="the profile to judge the broker by (default: detected)")
    added.add_argument("--deviations", metavar="FILE", help="known deviations (default: the profile's own)")
    added.add_argument("--out", type=local, metavar="FILE", help="write to this file (default: print)")
    added.add_argument(
        "--format",
        choices=("text", "json", "markdown"),
        default="text",
        help="a summary, the document (`schema clients`), or a page",
    )


def run(options: argparse.Namespace) -> int:
    wanted = ClientsOptions(
        options.url,
        options.libraries,
        options.adapters,
        options.rules,
        options.depth,
        options.profile,
        options.broker_admin,
        options.deviations,
    )
    return tell(wanted, options.format, options.out)


def _absent(module: str) -> bool:
    return importlib.util.find_spec(module) is None


def examine(wanted: ClientsOptions, say: Say) -> dict[str, Any]:
    """The document. Raises Refused."""
    commands = wanted.commands()
    try:
        chosen = [rule.id for rule in rules.select(wanted.rules) if rule.judged]
        fixed = profiles.load(wanted.profile) if wanted.profile else None
        with brokers.resolve(wanted.url, fixed) as broker:
            bench = _bench(broker, wanted)
            scenes = [play for play in plays_for(chosen, bench.profile, wanted.depth) if not play.machine]
            if not scenes:
                raise Refused(WRONG_USE, f"No check matches --rules {wanted.rules!r}. See: amqp-conformance list.")
            together = 1 if broker.embedded is not None or bench.around.adjustable else len(commands)
            stop = Event()
            with ThreadPoolExecutor(together) as pool:
                try:
                    work = [
                        pool.submit(_account, name, command, scenes, bench, say, stop)
                        for name, command in commands.items()
                    ]
                    accounts = results(work)
                except BaseException:
                    stop.set()
                    raise
    except BadUrl as bad:
        raise Refused(WRONG_USE, str(bad)) from None
    except profiles.BadProfile as bad:
        raise Refused(WRONG_USE, f"--profile: {bad}.") from None
    except deviations.BadDeviations as bad:
        raise Refused(WRONG_USE, f"--deviations: {bad}.") from None
    except Unreachable as unreachable:
        raise Refused(UNREACHABLE, f"The broker cannot be used ({unreachable.layer}): {unreachable.message}") from None
    except ConnectionLost:
        raise Refused(UNREACHABLE, "The broker accepted the login and then ended the connection.") from None
    return {
        "schema": SCHEMA,
        "suite": __version__,
        "depth": wanted.depth,
        "profile": bench.profile.name,
        "broker": {
            "name": broker.name,
            "product": str(broker.server_properties.get("product", "")),
            "version": str(broker.server_properties.get("version", "")),
        },
        "libraries": accounts,
    }


def _bench(broker: brokers.BrokerUnderTest, wanted: ClientsOptions) -> Bench:
    profile = replace(broker.profile, deviations=wanted.deviations) if wanted.deviations else broker.profile
    if wanted.deviations:
        deviations.load(wanted.deviations)
    return Bench(
        patient(broker.target), profile, around(wanted.admin, None, broker), broker.deadline, depth=wanted.depth
    )


def _account(
    name: str,
    command: Sequence[str],
    scenes: Sequence[Play],
    bench: Bench,
    say: Say,
    stop: Event,
) -> dict[str, Any]:
    """One library's part of the document. Once it is to stop, no further scene begins. Policies that it sets are its
    own."""
    library = Library(command)
    bench = replace(bench, around=Around(bench.around.admin, bench.around.advance, general=bench.around.general))
    done: list[Play] = []

    def tell(play: Play) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        done.append(play)
        if len(done) % 50 == 1:
            say(f"{name}: scene {len(done)} of {len(scenes)}")

    try:
        account = perform(scenes, bench, library, tell)
    except BadAdapter as bad:
        raise Refused(HARNESS_ERROR if name in SHIPPED else WRONG_USE, f"Adapter {name}: {bad}.") from None
    finally:
        library.stop()
    return {"adapter": name, **library.about, **_plain(account)}


def _plain(account: Account) -> dict[str, Any]:
    counts = ("invented", "disorder", "itself", "unsent", "altered", "refused")
    return {
        "scenes": account.scenes,
        "rules": {rule: asdict(account.rule(rule)) for rule in sorted(account.statuses)},
        "methods": {
            name: {
                "came": method.came,
                "shown": method.shown,
                "absent": dict(sorted(method.absent.items())),
                "changed": dict(sorted(method.changed.items())),
                "hidden": dict(sorted(method.hidden.items())),
            }
            for name, method in sorted(account.methods.items())
        },
        **{name: dict(sorted(getattr(account, name).items())) for name in counts},
        "cannot": dict(sorted(account.cannot.items())),
        "stuck": account.stuck,
        "broken_off": account.broken_off,
        "broker": [
            {"scene": scene, "rule": finding.rule, "allowed": finding.allowed, "observed": finding.observed}
            for scene, finding in account.findings
        ],
    }


def tell(wanted: ClientsOptions, form: str, out: Path | None) -> int:
    """Examines, prints or writes, and tells the exit code."""
    with terminable():
        document = examine(wanted, lambda words: print(f"{words}\n", end="", file=sys.stderr, flush=True))
    text = format_document(document, form)
    if out is None:
        print(text, end="")
    else:
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(text, encoding="utf-8")
        except OSError as problem:
            raise Refused(WRONG_USE, f"{out} cannot be written: {problem.strerror or problem}.") from None
    against = {found["rule"] for library in document["libraries"] for found in library["broker"]}
    return GATE_CLOSED if any(rules.get(rule).level == "must" for rule in against) else GATE_OPEN


def format_document(document: Mapping[str, Any], form: str) -> str:
    """The document as `json`, `markdown` or `text`."""
    if form == "json":
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    return clients_page.markdown(document) if form == "markdown" else clients_page.text(document)
