"""The conformance suite for AMQP 0-9-1 brokers: rules as data, histories of wire events, verdicts of pure folds."""

__version__ = "0.1.0"
