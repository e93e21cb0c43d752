"""The doctor: from TCP to clean-up, layer by layer, and the first one that fails is named.

What a run needs is tried in the order in which it is needed, with the driver that a run uses. The handshake of the
driver knows its own layers; what comes after it (rights, queues, clean-up) is tried here with one private queue, which
is gone afterwards, also when the patient dies on the table. Who has passed all of them is asked what it offers, as in a
run.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import chain
from typing import Any

from codec import methods as m
from conformance.catalogue import profiles
from conformance.catalogue.rules.features import DELETE
from conformance.cli.parsing import printed
from conformance.drive.drivers.errors import ConnectionLost, Unreachable
from conformance.drive.drivers.raw import RawConnection
from conformance.drive.drivers.sweep import sweep, unrecorded
from conformance.drive.drivers.target import BadUrl, Target
from conformance.drive.probing import offers, probes
from conformance.drive.probing.ways import ACCESS_REFUSED
from conformance.history.events import Event
from conformance.outcome import short_timeout
from conformance.outcome.screen import ENDLESS, colored, line_width
from conformance.outcome.terminal import painter
from conformance.session import brokers
from conformance.session.exits import GATE_OPEN, UNREACHABLE, WRONG_USE, Refused

LAYERS = ("tcp", "tls", "header", "login", "vhost", "rights", "queues", "clean-up")
CLEAN_UP = LAYERS[-1]
_PATIENCE = 5.0
WAYS = ((True, False), (False, True), (False, False))
"""How a queue may be declared: as exclusive, as durable."""
STAYS = "Queues cannot be deleted here: those that a run declares stay, and are empty."


def arguments(added: argparse.ArgumentParser) -> None:
    added.add_argument("url", help="amqp or amqps URL")
    printed(added, "text, or one JSON object")


def run(options: argparse.Namespace) -> int:
    try:
        target = Target.parse(options.url)
    except BadUrl as bad:
        raise Refused(WRONG_USE, str(bad)) from None
    diagnosis = examine(target)
    if options.format == "json":
        print(json.dumps(diagnosis.plain(), indent=1))
    else:
        print(format_diagnosis(diagnosis, painter(colored(sys.stdout)), line_width()), end="")
    return UNREACHABLE if diagnosis.failed else GATE_OPEN


@dataclass
class Diagnosis:
    """What was found. `failed` names the layer at which it ended, if it did; `message` says why and what to do."""

    url: str
    passed: list[str] = field(default_factory=list)
    failed: str | None = None
    message: str = ""
    product: str = ""
    version: str = ""
    capabilities: list[str] = field(default_factory=list)
    negotiated: dict[str, int] = field(default_factory=dict)
    queue_types: list[str] = field(default_factory=list)
    profile: str = ""
    matched: str = ""
    """What is not certain of the profile; empty where it was measured on this version."""
    offers: list[str] = field(default_factory=list)
    """What it was found to offer and to refuse, line by line."""
    advice: list[str] = field(default_factory=list)
    """What would have to be set up for rules that cannot be judged on it as it is, line by line."""

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def examine(target: Target) -> Diagnosis:
    """Try everything a run needs."""
    diagnosis = Diagnosis(str(target))
    layers = [layer for layer in LAYERS if layer != "tls" or target.tls]
    try:
        _examine(target, diagnosis)
    except Unreachable as unreachable:
        diagnosis.failed, diagnosis.message = unreachable.layer, unreachable.message
    end = layers.index(diagnosis.failed) if diagnosis.failed in layers else len(layers)
    diagnosis.passed = [layer for layer in layers[:end] if layer != CLEAN_UP or STAYS not in diagnosis.advice]
    return diagnosis


def _examine(target: Target, diagnosis: Diagnosis) -> None:
    target, connection = brokers.welcome(target)
    patient = _Patient(connection, target)
    try:
        properties = connection.server_properties
        diagnosis.product, diagnosis.version = (profiles.told(properties, name) for name in ("product", "version"))
        diagnosis.capabilities = _offered(properties)
        diagnosis.negotiated = dict(connection.tuned._asdict())
        match = profiles.match(properties)
        diagnosis.profile, diagnosis.matched = match.profile.name, match.how
        patient.use()
        patient.connection.close()
    finally:
        patient.connection.abort()
    known = match.kind != profiles.TEXTS
    answers = probes.Inquiry(target, _PATIENCE, stranger=not known).answers()
    fitting = offers.adapted(match.profile, answers, known=known)
    diagnosis.queue_types, diagnosis.offers = list(fitting.queue_types), offers.describe_answers(answers)
    diagnosis.advice = [*short_timeout.advice(fitting.choices)]
    if not fitting.has(DELETE):
        diagnosis.advice.append(STAYS)


def _offered(properties: Mapping[str, Any]) -> list[str]:
    announced = properties.get("capabilities")
    return sorted(name for name, on in announced.items() if on) if isinstance(announced, Mapping) else []


class _UnusableHere(Unreachable):
    """Another way may do."""


class _Patient:
    """One connection, one channel, one private queue."""

    def __init__(self, connection: RawConnection, target: Target) -> None:
        self.connection, self._target = connection, target
        self._number = 0

    def use(self) -> None:
        """Declare, publish, get: the rights that a run needs; then delete: that it can clean up."""
        name = f"amqpconf.doctor.{secrets.token_hex(4)}"
        self._declare(name)
        self.connection.queue((m.BasicPublish(self._number, 0, "", name), b"doctor", {}))
        get = m.BasicGet(self._number, 0, name, True)
        try:
            self._ask("queues", "publish and get a message", get, "basic.get-ok", "basic.get-empty")
            self._ask(CLEAN_UP, "delete its own queue", m.QueueDelete(self._number, 0, name), "queue.delete-ok")
        except _UnusableHere:
            self.connection.abort()
            sweep(self._target, (name,), (), _PATIENCE)
            return  # the questions that follow look for another way, or tell what is lacking

    def _declare(self, name: str) -> None:
        """In the first way that is not refused. Raises what came of the first."""
        first: Unreachable | None = None
        for exclusive, durable in WAYS:
            try:
                self._open()
                declare = m.QueueDeclare(self._number, queue=name, exclusive=exclusive, durable=durable)
                self._ask("queues", "declare a queue", declare, "queue.declare-ok")
                return
            except _UnusableHere as refused:
                first = first or refused
            self.connection.abort()
            try:
                self.connection, self._number = unrecorded(self._target), 0
            except Unreachable:
                break
        assert first is not None
        raise first

    def _open(self) -> None:
        self._number += 1
        self._ask("queues", "open a channel", m.ChannelOpen(self._number), "channel.open-ok")

    def _ask(self, layer: str, what: str, request: Any, *wanted: str) -> None:
        try:
            self.connection.send(request)
        except ConnectionLost:
            raise self._lost(layer, what) from None
        until = time.monotonic() + _PATIENCE
        while self.connection.alive and time.monotonic() < until:
            for event in self.connection.receive(until - time.monotonic()):
                if event.method in wanted:
                    return
                self._complain(layer, what, event)
        if not self.connection.alive:
            raise self._lost(layer, what)
        raise _UnusableHere(
            layer,
            f"{self._target.address} does not answer within {_PATIENCE:g} s when asked to {what}. "
            "Check whether the broker is overloaded, or blocked by an alarm.",
        )

    def _complain(self, layer: str, what: str, event: Event) -> None:
        if event.method in ("channel.close", "connection.close"):
            code, text = event.args.get("reply_code"), event.args.get("reply_text")
            said = f"{self._target.address} refuses to {what}: {code} {text!r}."
            if code != ACCESS_REFUSED:
                raise _UnusableHere(layer, f"{said} Every check needs that. See the broker's log for the reason.")
            raise Unreachable(
                "rights",
                (
                    f"{said} The user {self._target.user!r} needs the rights to configure, write and read queues named "
                    "amqpconf.* in this vhost, and to write to the default exchange."
                ),
            )

    def _lost(self, layer: str, what: str) -> Unreachable:
        return _UnusableHere(
            layer,
            f"{self._target.address} ends the connection when asked to {what}. Look into the "
            "broker's log for the reason.",
        )


def format_diagnosis(diagnosis: Diagnosis, paint: Callable[[str, str], str], columns: int = ENDLESS) -> str:
    """The diagnosis as text."""
    lines = [diagnosis.url]
    lines += [f"  {paint('good', 'ok')}    {layer}" for layer in diagnosis.passed]
    if diagnosis.failed:
        lines += [f"  {paint('bad', 'FAIL')}  {diagnosis.failed}", "", *_wrapped(diagnosis.message, columns, "", "")]
    else:
        facts = (_wrapped(value, columns, f"  {name:<13}", " " * 15) for name, value in _facts(diagnosis))
        lines += ["", *chain.from_iterable(facts), ""]
        lines += [part for line in diagnosis.offers for part in _wrapped(line, columns, "  ", "  ")]
        lines += [""] if diagnosis.advice else []
        lines += [part for line in diagnosis.advice for part in _advised(line, columns)]
    return "\n".join(lines) + "\n"


def _wrapped(text: str, columns: int, first: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text, columns, initial_indent=first, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _advised(line: str, columns: int) -> list[str]:
    """What is to be typed stays in one piece."""
    typed = line.startswith(" ") or "amqp-conformance " in line
    return [f"  {line}"] if typed else _wrapped(line, columns, "  ", "  ")


def _facts(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    limits = ", ".join(f"{name.replace('_', '-')} {value}" for name, value in diagnosis.negotiated.items())
    return [
        ("product", f"{diagnosis.product or 'not named'} {diagnosis.version}".rstrip()),
        ("negotiated", limits),
        ("capabilities", ", ".join(diagnosis.capabilities) or "none announced"),
        ("queue types", ", ".join(diagnosis.queue_types)),
        ("profile", diagnosis.profile),
        *([("", diagnosis.matched)] if diagnosis.matched else []),
    ]
