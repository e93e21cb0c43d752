"""`amqp-conformance`, the command line: one module a verb."""

from conformance.cli.command import entry, main

__all__ = ["entry", "main"]
