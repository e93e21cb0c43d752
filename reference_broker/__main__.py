"""The broker alone: `python -m reference_broker --port 5672`. Ends cleanly on SIGINT and SIGTERM."""

from __future__ import annotations

import argparse
import asyncio
import errno
import gc
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

from reference_broker.configuration import Configuration, charter, installed_version
from reference_broker.control import Control
from reference_broker.core.connections.limits import SMALLEST_FRAME_MAX, Limits
from reference_broker.core.connections.origin import is_loopback
from reference_broker.dialects import DIALECTS, DOCUMENTED
from reference_broker.mutants import MUTANTS, UnknownMutant
from reference_broker.nondeterminism import VARIATIONS
from reference_broker.personalities import PERSONALITIES, UnknownPersonality, personality
from reference_broker.server import Server
from reference_broker.store.keeper import SYNCS, Store, Unusable
from reference_broker.store.segments import SEGMENT_OCTETS
from reference_broker.tls import VERIFY, BadTls, Secure, Tls

WRONG_USE = 2
HOST = "127.0.0.1"


class CannotListen(ValueError):
    """An address that is taken, or not ours; the message says which, and why."""


def number(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is no number from {least} to {most}")
        return int(text)

    return read


PORT = number(0, 65535)


def arguments(argv: Sequence[str] | None, program: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=program,
        usage="%(prog)s [options]     (--help lists them)",
        description="The AMQP 0-9-1 reference broker of amqp-conformance.",
    )
    parser.add_argument(
        "--host",
        action="append",
        metavar="ADDRESS",
        help=f"address to listen on, 0.0.0.0 or :: for all; may be repeated (default: {HOST}, this machine only)",
    )
    parser.add_argument("--port", type=PORT, default=5672, help="port, 0 for a free one (default: %(default)s)")
    parser.add_argument(
        "--mutant", action="append", default=[], metavar="NAME", help="make this wrong decision; may be repeated"
    )
    parser.add_argument(
        "--nondeterminism",
        "--liberties",
        type=int,
        metavar="SEED",
        help="where the texts leave a choice, choose by this seed",
    )
    parser.add_argument(
        "--dialect", default=DOCUMENTED.name, choices=DIALECTS, help="imitate this broker (default: %(default)s)"
    )
    parser.add_argument("--http", type=PORT, metavar="PORT", help="also serve the management API on this port")
    parser.add_argument(
        "--data", type=directory, metavar="DIR", help="keep durable data in this directory, and load it at the start"
    )
    parser.add_argument(
        "--sync",
        default="fsync",
        choices=SYNCS,
        help="confirm what is on disk, what is written, or what is in memory (default: %(default)s)",
    )
    parser.add_argument(
        "--segment-octets",
        type=number(1 << 10, 1 << 40),
        default=SEGMENT_OCTETS,
        metavar="N",
        help="start a new log file after N octets (default: %(default)s)",
    )
    security(parser)
    parser.add_argument("--personality", metavar="NAME|SEED", help="deviate in several ways at once")
    parser.add_argument("--list-mutants", action="store_true", help="print the known mutants and exit")
    parser.add_argument(
        "--list-nondeterminism",
        "--list-liberties",
        action="store_true",
        help="print the lawful choices, with the text that permits each, and exit",
    )
    parser.add_argument(
        "--list-personalities", action="store_true", help="print the named personalities with their traits, and exit"
    )
    parser.add_argument("--product", metavar="NAME", help="product name to announce (default: the dialect's)")
    parser.add_argument(
        "--version",
        nargs="?",
        const="",
        metavar="VERSION",
        help="version to announce (default: the dialect's); without a value: print the program's version and exit",
    )
    return parser.parse_args(argv)


def security(parser: argparse.ArgumentParser) -> None:
    group, limits = parser.add_argument_group("TLS and users"), Limits()
    group.add_argument(
        "--tls-cert", metavar="FILE", help="the broker's certificate; the broker then also listens for amqps"
    )
    group.add_argument("--tls-key", metavar="FILE", help="its key (default: in the same file)")
    group.add_argument("--tls-ca", metavar="FILE", help="certificate authorities of the clients")
    group.add_argument(
        "--tls-verify",
        nargs="?",
        const="required",
        default="none",
        choices=VERIFY,
        help="whether clients show a certificate (default: %(default)s; without a value: %(const)s)",
    )
    group.add_argument("--tls-external", action="store_true", help="a certificate alone may log in (SASL EXTERNAL)")
    group.add_argument(
        "--tls-port", type=PORT, default=5671, help="port for amqps, 0 for a free one (default: %(default)s)"
    )
    group.add_argument(
        "--user",
        action="append",
        default=[],
        metavar="NAME:PASSWORD",
        type=user,
        help="a user with all rights, instead of guest; may be repeated",
    )
    group.add_argument("--frame-max", type=number(SMALLEST_FRAME_MAX, 1 << 31), default=limits.frame_max, metavar="N")
    group.add_argument("--channel-max", type=number(1, 65535), default=limits.channel_max, metavar="N")
    group.add_argument(
        "--max-message-size",
        type=number(1, 1 << 40),
        metavar="OCTETS",
        help="largest message body; a larger one closes its channel (default: the dialect's)",
    )
    group.add_argument(
        "--memory",
        type=number(1, 1 << 40),
        metavar="OCTETS",
        help="block publishers when message bodies take this much (default: 40 %% of the machine's memory)",
    )
    group.add_argument("--heartbeat", type=number(0, 65535), default=limits.heartbeat, metavar="SECONDS")


def directory(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("it has no name")
    return Path(text)


def user(text: str) -> tuple[str, str]:
    name, colon, password = text.partition(":")
    if not name or not colon:
        raise argparse.ArgumentTypeError(f"{name!r} is no NAME:PASSWORD")
    return name, password


def configured(options: argparse.Namespace) -> Configuration:
    """What the broker is to be. Raises UnknownPersonality."""
    return Configuration(
        mutants=options.mutant,
        nondeterminism=options.nondeterminism,
        dialect=DIALECTS[options.dialect],
        personality=personality(options.personality) if options.personality is not None else None,
        product=options.product,
        version=options.version,
        seed=None,
        users=dict(options.user),
        limits=Limits(
            frame_max=options.frame_max,
            channel_max=options.channel_max,
            heartbeat=options.heartbeat,
            max_message=options.max_message_size,
            memory=options.memory or int(0.4 * installed_memory()),
        ),
        external=options.tls_external,
    )


async def serve(options: argparse.Namespace) -> None:
    """Until SIGINT or SIGTERM. Raises CannotListen, BadTls, Unusable, UnknownMutant and UnknownPersonality."""
    secure = tls(options)
    store = Store.open(options.data, options.sync, options.segment_octets) if options.data is not None else None
    configuration = configured(options)
    core = configuration.core(store)
    server = Server(core, "elastic" if options.http is not None else "real", configuration.connections)
    if store is not None:
        print(f"reference-broker: {store.attach(server, keep_users=bool(options.user))}", file=sys.stderr, flush=True)
    stop = asyncio.Event()
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(signal_number, stop.set)
    hosts = options.host or [HOST]
    who = "guest:guest@" if not options.user else ""
    taken = await everywhere(server.listen, hosts, options.port)
    control = Control(server, configuration.remaking(core, store)) if options.http is not None else None
    if control is not None:
        for place in await everywhere(control.listen, hosts, options.http):
            print(f"management on http://{who}{place}", flush=True)
    if secure is not None:
        for place in await everywhere(partial(server.listen, secure=secure), hosts, options.tls_port):
            print(f"listening on amqps://{who}{place}/%2F", flush=True)
    if options.nondeterminism is not None:
        print(charter(options.nondeterminism), file=sys.stderr, flush=True)
    if configuration.personality is not None:
        print(configuration.personality, file=sys.stderr, flush=True)
    if not all(map(is_loopback, hosts)):
        print(
            "reference-broker: reachable from other machines; guest may log in from this one only",
            file=sys.stderr,
            flush=True,
        )
    for place in taken:
        print(f"listening on amqp://{who}{place}/%2F", flush=True)
    await stop.wait()
    if control is not None:
        await control.close()
    await server.say_goodbye()
    await server.close()


def tls(options: argparse.Namespace) -> Secure | None:
    if options.tls_cert is not None:
        return Tls(
            options.tls_cert, options.tls_key, options.tls_ca, options.tls_verify, options.tls_external
        ).context()
    given = options.tls_key, options.tls_ca, options.tls_external or None
    if any(one is not None for one in given) or options.tls_verify != "none":
        raise BadTls("TLS needs a certificate of the broker's own; name its file with --tls-cert")
    return None


async def everywhere(listen: Callable[[str, int], Awaitable[int]], hosts: Sequence[str], port: int) -> list[str]:
    """Where it listens now: a free port is the same for all. Raises CannotListen."""
    places = []
    for host in hosts:
        try:
            port = await listen(host, port)
        except OSError as error:
            code = error.errno or 0
            reason = os.strerror(code) if code in errno.errorcode else error.strerror or error
            raise CannotListen(f"cannot listen on {address(host, port)}: {reason}") from None
        places.append(address(host, port))
    return places


def installed_memory() -> int:
    """Octets."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def main(argv: Sequence[str] | None = None, program: str = "reference-broker") -> int:
    """Serve until interrupted; the exit code. Wrong options end the process with 2."""
    options = arguments(argv, program)
    if options.version == "":
        print(installed_version())
        return 0
    if options.list_mutants:
        for mutant in MUTANTS.values():
            print(f"{mutant.name}: {mutant.says} ({', '.join(mutant.rules)})")
        return 0
    if options.list_nondeterminism:
        for variation in VARIATIONS.values():
            print(f"{variation.name}: {variation.says} [{variation.granted_by}]")
        return 0
    if options.list_personalities:
        for stranger in PERSONALITIES.values():
            print(f"{stranger.name}: {', '.join(one.name for one in stranger.traits)}")
        return 0
    gc.freeze()
    gc.set_threshold(100_000, 50, 1000)
    try:
        asyncio.run(serve(options))
    except (UnknownMutant, UnknownPersonality, BadTls, Unusable, CannotListen) as error:
        print(f"reference-broker: {error}", file=sys.stderr)
        return WRONG_USE
    return 0


if __name__ == "__main__":
    sys.exit(main())
