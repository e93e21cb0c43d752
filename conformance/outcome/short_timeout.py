"""A consumer timeout that is short: where only the node's own counts, nobody waits half an hour for it.

RabbitMQ up to 3.11 knows no other one, and no version lets a client set it. So whoever runs the node writes it into its
configuration, and says so to the suite.
"""

from __future__ import annotations

from collections.abc import Mapping

from conformance.catalogue import rules

MILLISECONDS = 5000
"""Longer than a loaded machine takes to look, and short beside the minute after which a channel looks."""
LINE = f"consumer_timeout = {MILLISECONDS}"
OPTION = f"--consumer-timeout {MILLISECONDS}"
NEEDED = "needs a short timeout of the node"
ASK_FOR = f'"{LINE}" in its rabbitmq.conf, and {OPTION} here'


def advice(choices: Mapping[str, str]) -> list[str]:
    """What to do for the rules of a broker that makes these choices; nothing where they need no such node."""
    needy = [
        rule.id
        for rule in rules.CATALOGUE.values()
        if rule.breakable and rule.otherwise(choices) is None and rule.takes_a_short_timeout(choices)
    ]
    if not needy:
        return []
    return [
        f"for {', '.join(needy)} a node needs a short consumer timeout of its own. In its rabbitmq.conf:",
        f"    {LINE}",
        f"and then:  amqp-conformance run URL {OPTION} --rules 'TMO-*'",
    ]
