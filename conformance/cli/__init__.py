"""The command line `amqp-conformance`: one module for each verb."""

from conformance.cli.command import entry, main

__all__ = ["entry", "main"]
