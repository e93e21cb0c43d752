"""The broker alone: `python -m reference_broker --port 5672`. Ends cleanly on SIGINT and SIGTERM."""

from __future__ import annotations

import argparse
import asyncio
import gc
import signal
import sys
from collections.abc import Sequence

from reference_broker.control import Control
from reference_broker.dialects import DIALECTS, DOCUMENTED
from reference_broker.embedded import charter, installed_version, make_core
from reference_broker.freedom import LIBERTIES
from reference_broker.mutants import MUTANTS, UnknownMutant
from reference_broker.server import Server

CANNOT_LISTEN = 2


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="reference-broker", description="The AMQP 0-9-1 reference broker of amqp-conformance."
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=5672, help="port, 0 for a free one (default: %(default)s)")
    parser.add_argument(
        "--mutant", action="append", default=[], metavar="NAME", help="misbehave on purpose; may be repeated"
    )
    parser.add_argument(
        "--liberties", type=int, metavar="SEED", help="do what the text leaves open differently each time"
    )
    parser.add_argument(
        "--dialect", default=DOCUMENTED.name, choices=DIALECTS, help="do as this broker does (default: %(default)s)"
    )
    parser.add_argument("--http", type=int, metavar="PORT", help="serve the management interface here, too")
    parser.add_argument("--list-mutants", action="store_true", help="print the known mutants and exit")
    parser.add_argument("--list-liberties", action="store_true", help="print them, who grants each, and exit")
    parser.add_argument("--version", action="version", version=installed_version())
    return parser.parse_args(argv)


async def serve(
    host: str, port: int, mutants: Sequence[str], dialect: str, http: int | None, liberties: int | None = None,
) -> None:
    core = make_core(mutants=mutants, liberties=liberties, dialect=dialect, seed=None)
    server = Server(core, "elastic" if http is not None else "real")
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    taken = await server.listen(host, port)
    control = Control(server) if http is not None else None
    if control is not None and http is not None:
        print(f"management on http://guest:guest@{host}:{await control.listen(host, http)}", flush=True)
    if liberties is not None:
        print(charter(liberties), file=sys.stderr, flush=True)
    print(f"listening on amqp://guest:guest@{host}:{taken}/%2F", flush=True)
    await stop.wait()
    if control is not None:
        await control.close()
    await server.close()


def main(argv: Sequence[str] | None = None) -> int:
    options = arguments(argv)
    if options.list_mutants:
        for mutant in MUTANTS.values():
            print(f"{mutant.name}: {mutant.says} ({', '.join(mutant.rules)})")
        return 0
    if options.list_liberties:
        for liberty in LIBERTIES.values():
            print(f"{liberty.name}: {liberty.says} [{liberty.granted_by}]")
        return 0
    gc.freeze()
    gc.set_threshold(100_000, 50, 1000)
    try:
        asyncio.run(serve(options.host, options.port, options.mutant, options.dialect, options.http, options.liberties))
    except UnknownMutant as error:
        print(f"reference-broker: {error}", file=sys.stderr)
        return CANNOT_LISTEN
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        print(f"reference-broker: cannot listen on {options.host}:{options.port}: {reason}", file=sys.stderr)
        return CANNOT_LISTEN
    return 0


if __name__ == "__main__":
    sys.exit(main())
