"""`broker`: the reference broker. Its words are those of its own command."""

from __future__ import annotations

import argparse

from reference_broker.__main__ import main as serve


def arguments(added: argparse.ArgumentParser) -> None:
    added.add_argument("options", nargs=argparse.REMAINDER)


def run(options: argparse.Namespace) -> int:
    try:
        return serve(options.options, "amqp-conformance broker")
    except SystemExit as ended:
        if not ended.code:
            raise  # it has helped
        return int(ended.code)  # its own parser has said what is wrong
