"""The end of a run: the ledger becomes results and an exit code. Clock and files are looked at here."""

from __future__ import annotations

import datetime
import shlex
from dataclasses import replace

from conformance.catalogue import sets
from conformance.oracle.verdicts import Verdict
from conformance.outcome.assemble import Frame, build
from conformance.outcome.gate import Known
from conformance.outcome.incidents import GONE
from conformance.outcome.ledger import Ledger
from conformance.outcome.results import Results
from conformance.outcome.weak import warnings
from conformance.session.checks import HARNESS, LOST
from conformance.session.exits import GATE_CLOSED, GATE_OPEN, HARNESS_ERROR, UNREACHABLE
from conformance.session.options import Options
from conformance.session.session import again, known_for, known_of, profile_of
from conformance.session.ticket import Clocks, Ticket


def conclude(
    options: Options,
    ticket: Ticket,
    ledger: Ledger,
    *,
    complete: bool,
    began: Clocks | None = None,
) -> Results:
    """The results of all that the ledger holds. `began`: the clocks when the run did, where that is known."""
    started = datetime.datetime.fromisoformat(ticket.started)
    seconds = (datetime.datetime.now(datetime.UTC) - started).total_seconds()
    results = build(
        ledger,
        Frame(
            run=ticket.run,
            started=ticket.started,
            seconds=seconds,
            command=ticket.command,
            rerun=again(options),
            seed=options.seed,
            depth=options.depth,
            selection=options.selection,
            known=replace(known(options, ticket, ledger), results=_written(options)),
            complete=complete,
            timeout=options.consumer_timeout if options.url is not None else 0,
        ),
    )
    weak = warnings(
        results.rules,
        admin=options.admin is not None or options.url is None,
        step=began.step(Clocks.now()) if began else 0.0,
        complete=complete,
    )
    return replace(
        results, gate=replace(results.gate, warnings=(*results.gate.warnings, *weak, *sets.drafts(options.set)))
    )


def known(options: Options, ticket: Ticket, ledger: Ledger) -> Known:
    """The deviations that hold for the profile that the processes found."""
    if options.deviations:
        return known_of(options.deviations, ticket)
    found = {entry.profile for entry in ledger.entries}
    profile = options.profile or min(found, default=None)
    return known_for(profile_of(profile), ticket) if profile else Known(today=ticket.today)


def _written(options: Options) -> str:
    """The place of the results, as one types it."""
    return shlex.quote(str(options.report / "results.json")) if options.report else ""


def exit_code(results: Results) -> int:
    """The documented exit code. What kept us from judging outranks what was judged; but a connection that was lost
    on the way says nothing more where a rule is broken anyway."""
    kinds = {trouble.kind for trouble in results.troubles}
    broken = any(rule.verdict == Verdict.BROKEN and rule.selected for rule in results.rules)
    gone = bool(results.unplayed) and any(incident.kind == GONE for incident in results.incidents)
    if gone or (LOST in kinds and not broken):
        return UNREACHABLE
    if HARNESS in kinds:
        return HARNESS_ERROR
    return GATE_OPEN if results.gate.open else GATE_CLOSED
