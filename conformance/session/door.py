"""The plugin's state in one pytest session, and the hooks that need it.

Registered in every session, at work only in those that collect checks of the suite: imports of weight happen inside.
A session is *ours* once a check is collected here or an entry arrives from a worker; only then are results made and
the exit code changed.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from conformance.outcome.ledger import PROPERTY, Ledger, Trouble
from conformance.session.exits import GATE_CLOSED, GATE_OPEN, HARNESS_ERROR, INTERRUPTED, WRONG_USE, Refused
from conformance.session.interrupts import heard, once
from conformance.session.options import Options
from conformance.session.ticket import Clocks, Ticket
from conformance.session.workers import ENTRIES, Workers

if TYPE_CHECKING:
    from conformance.drive.run.check import Check
    from conformance.outcome.results import Results
    from conformance.session.checks import Attempt
    from conformance.session.session import OpenedBroker, Session

SUITE = Path(__file__).resolve().parent.parent / "drive" / "scenes"
NAME = "amqp-conformance-door"
COMMAND: pytest.StashKey[list[str]] = pytest.StashKey()
CHECK: pytest.StashKey[Check] = pytest.StashKey()
ATTEMPT: pytest.StashKey[Attempt] = pytest.StashKey()
_FIXTURES = ("stage", "campaign")
TURN = "turn"
"""What a check of a hunt asks for."""


def door_of(config: pytest.Config) -> Door:
    door = config.pluginmanager.get_plugin(NAME)
    assert isinstance(door, Door)
    return door


class Door:
    """One per process and session."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._input: dict[str, Any] | None = getattr(config, "workerinput", None)
        words = config.stash.get(COMMAND, ["pytest", *map(str, config.invocation_params.args)])
        self.ticket = Ticket(*self._input["amqp_ticket"]) if self._input else Ticket.drawn(words)
        self.ledger, self.workers = Ledger(), Workers()
        self._began = Clocks.now()
        self.results: Results | None = None
        self.written: list[Path] = []
        self.unwritten = ""
        self.refused: Refused | None = None
        self._options: Options | None = None
        self._session: Session | None = None
        self._ours = self._others_failed = self._broken_collection = False

    # -- what the user said, and the broker it is about

    @property
    def options(self) -> Options:
        if self._options is None:
            self._options = Options.checked(self._value_of)
        return self._options

    def _value_of(self, name: str) -> object:
        dest = "amqp_" + name.replace("-", "_")
        typed = self._config.getoption(dest)
        return self._config.getini(dest) if typed is None else typed

    @property
    def _allure(self) -> str | None:
        """Where allure-pytest writes in this session, if it does."""
        return getattr(self._config.option, "allure_report_dir", None)

    @property
    def session(self) -> Session:
        if self._session is None:
            from conformance.session.session import Session

            worker = str(self._input["workerid"]) if self._input else "main"
            self._session = Session(self.options, self.ticket, worker)
        return self._session

    def opened(self) -> OpenedBroker:
        """The broker; where it is refused, the session ends with the refusal's code."""
        try:
            return self.session.opened()
        except Refused as refused:
            self.stop(refused)

    def stop(self, refused: Refused) -> NoReturn:
        """End the session with this code; a worker also tells its controller."""
        self.refused = refused
        output = getattr(self._config, "workeroutput", None)
        if output is not None:
            output["amqp_refused"] = (refused.code, refused.message)
        pytest.exit(refused.message, refused.code)

    # -- collection

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """A check is made for each queue type of its mark, and a hunt for each minute of it."""
        check = check_of(metafunc.definition)
        if check is not None:
            if TURN in metafunc.fixturenames:
                metafunc.parametrize(TURN, range(self._turns(len(check.queue_types))))
            for fixture in _FIXTURES:
                if fixture in metafunc.fixturenames:
                    metafunc.parametrize(fixture, check.queue_types, ids=list(check.queue_types), indirect=True)
                    break

    def _turns(self, queue_types: int) -> int:
        """Of a hunt, on each of these queue types. What is wrong with the options is said when checks are chosen."""
        try:
            return max(round(self.options.hunt / queue_types), 1)
        except Refused:
            return 1

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        check = check_of(item)
        if check is not None:
            item.stash[CHECK] = check
            for name in sorted(check.levels()):
                item.add_marker(name)
            if self._allure:
                from conformance.outcome.allured import mark

                mark(item)
            item.extra_keyword_matches.update(check.rules)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and _of_the_suite(report.nodeid):
            self._broken_collection = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        checks = [item for item in items if CHECK in item.stash]
        if not checks or config.option.collectonly:
            return
        self._ours = True
        try:
            dropped = {item for item in checks if not self._wanted(item)}
        except Refused as refused:
            self.stop(refused)
        if dropped:
            config.hook.pytest_deselected(items=sorted(dropped, key=lambda item: item.nodeid))
            items[:] = [item for item in items if item not in dropped]
        _order(items)
        _put_last(items, revived=self.options.revived)
        turns = sum(map(_hunts, items))
        if turns:
            self.opened().hunt.turns = turns

    def _wanted(self, item: pytest.Item) -> bool:
        """Selected by rule, level and depth, and on a queue type of this broker, if the check knows one."""
        from conformance.session.selection import wanted

        check = item.stash[CHECK]
        if not wanted(check, self.options):
            return False
        offered = self.session.opened().profile.queue_types
        return queue_type_of(item) in offered or not set(check.queue_types) & set(offered)

    def pytest_report_collectionfinish(self) -> list[str]:
        return [f"broker: {self.opened().line()}"] if self._session is not None else []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """An interrupt goes on without the lines it came from: it may have met an instruction that belongs to none,
        and pytest fails to describe that."""
        with contextlib.ExitStack() as stack:
            for hearing in (heard, once) if self._input else (heard,):
                if self._ours:
                    stack.enter_context(hearing())
            try:
                return (yield)
            except KeyboardInterrupt:
                raise KeyboardInterrupt from None

    # -- reports of checks

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        taken = self.ledger.take(report.nodeid, report.user_properties)
        self._ours = self._ours or taken
        if report.failed and not (taken and report.when == "call"):
            if _of_the_suite(report.nodeid):
                scene = report.nodeid.rpartition("::")[2]
                self.ledger.note(report.nodeid, Trouble(scene, "", "harness", f"{report.when}: {_last_line(report)}"))
            else:
                self._others_failed = True

    # -- workers

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["amqp_ticket"] = self.ticket.packed()
        self.workers.add(node)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        said = getattr(node, "workeroutput", {})
        self.unwritten = self.unwritten or said.get("amqp_unwritten", "")
        refused = said.get("amqp_refused")
        if refused:
            self._ours = True
            self.stop(Refused(*refused))

    # -- the end

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        """Inside, fixtures are torn down and workers stop; then this process lets go of its broker."""
        interrupted = session.exitstatus == pytest.ExitCode.INTERRUPTED
        self._flush()
        if self._ours and self._input is not None and interrupted:
            self._config.workeroutput[ENTRIES] = self.ledger.packed()  # type: ignore[attr-defined]
        if self._input is None and interrupted:
            for check, entry in self.workers.interrupt():
                self._ours = self.ledger.take(check, [(PROPERTY, entry)]) or self._ours
        if self._ours and self._input is None and not self._config.option.collectonly:
            self._conclude(session)
        try:
            yield
        finally:
            if self._session is not None:
                self._session.close()

    def _flush(self) -> None:
        """The recording, and whether it is whole; a worker tells its controller."""
        told = self._session.unwritten() if self._session else ""
        self.unwritten = self.unwritten or told
        if told and self._input is not None:
            self._config.workeroutput["amqp_unwritten"] = told  # type: ignore[attr-defined]

    def _conclude(self, session: pytest.Session) -> None:
        if self._broken_collection:
            session.exitstatus = HARNESS_ERROR
        if self.refused is not None or self._broken_collection:
            return
        if not self.ledger.entries:
            if session.exitstatus == pytest.ExitCode.INTERRUPTED:
                session.exitstatus = INTERRUPTED
            return
        from conformance.session.conclude import conclude, exit_code

        stopped = session.exitstatus not in (0, 1) or bool(session.shouldstop or session.shouldfail)
        self.results = conclude(self.options, self.ticket, self.ledger, complete=not stopped, began=self._began)
        if not stopped:
            from conformance.campaigns.likeness import faults

            self.results = replace(self.results, faults=faults(self.results))
        code = exit_code(self.results)
        if session.exitstatus == pytest.ExitCode.INTERNAL_ERROR:
            code = HARNESS_ERROR
        elif session.exitstatus == pytest.ExitCode.INTERRUPTED and code in (0, 1):
            code = INTERRUPTED
        session.exitstatus = code or int(self._others_failed)
        try:
            self._deliver(self.results)
        except OSError as fault:
            from conformance.outcome.deliver import unwritten

            self.unwritten = unwritten(fault)
        if self.unwritten and code in (GATE_OPEN, GATE_CLOSED):
            session.exitstatus = WRONG_USE

    def _deliver(self, results: Results) -> None:
        if self.options.report is not None or self.options.history is not None:
            from conformance.outcome.deliver import deliver

            self.written = deliver(results, self.options.report, self.options.history)
        if self._allure:
            from conformance.outcome.allured import replace_checks
            from conformance.outcome.results import to_json

            replace_checks(Path(self._allure), json.loads(to_json(results)))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.results is None:
            return
        from conformance.outcome.terminal import summary

        terminalreporter.section("AMQP conformance")
        color, verbose = terminalreporter.hasmarkup, terminalreporter.verbosity > 0
        terminalreporter.write(summary(self.results, color=color, verbose=verbose))
        for path in self.written[1:2]:
            terminalreporter.write_line(f"report: {path}")
        if self.unwritten:
            terminalreporter.write_line(self.unwritten)


def _put_last(items: list[pytest.Item], *, revived: bool) -> None:
    """Checks that are to be played last are so, among the places of all checks; other tests keep theirs. Machines come
    after the checks that know their rule, but before those that may cost the broker, if it is not `revived`. A hunt
    knows what all others have reached. Families take turns: where time runs out, each has had its share of it."""
    places = [place for place, item in enumerate(items) if CHECK in item.stash]
    turns, ordered = Counter[str](), list[tuple[tuple[bool, bool, bool, bool, int], int]]()
    for place in places:
        item, check = items[place], items[place].stash[CHECK]
        family = check.rules[0].partition("-")[0] if check.rules else ""
        turns[family] += 1
        order = _hunts(item), check.last and not revived, not check.rules, check.last, turns[family]
        ordered.append((order, place))
    checks = [items[place] for _, place in sorted(ordered)]
    for place, item in zip(places, checks, strict=True):
        items[place] = item


def _hunts(item: pytest.Item) -> bool:
    return TURN in getattr(item, "fixturenames", ())


def check_of(node: pytest.Item) -> Check | None:
    """What the mark on a check of the suite says; None for anything else."""
    mark = node.get_closest_marker("rule")
    if mark is None or SUITE not in node.path.parents:
        return None
    from conformance.drive.run.check import Check

    return Check.of(mark.args, mark.kwargs)


def queue_type_of(item: pytest.Item) -> str:
    params = getattr(getattr(item, "callspec", None), "params", {})
    return str(next((params[name] for name in _FIXTURES if name in params), ""))


def _order(items: list[pytest.Item]) -> None:
    """By the names of their files, in whatever folders these lie; other tests stay in their places."""
    ordered = iter(sorted((item for item in items if CHECK in item.stash), key=lambda item: item.path.name))
    items[:] = [next(ordered) if CHECK in item.stash else item for item in items]


def _of_the_suite(node: str) -> bool:
    return "conformance/drive/scenes" in node.partition("::")[0]


def _last_line(report: pytest.TestReport) -> str:
    return str(report.longreprtext).strip().rpartition("\n")[2] or "no message"


def attempt(item: pytest.Item, door: Door, queue_type: str) -> Attempt:
    """The attempt of a collected check; skipped, with an entry, where the broker offers nothing to try it on."""
    from conformance.session.checks import Attempt

    opened, check = door.opened(), item.stash[CHECK]
    made = Attempt(item.name.removeprefix("test_"), check, queue_type, opened, door.options)
    absent = check.missing(opened.broker.capabilities, opened.profile.refused)
    ruled_out = check.ruled_out(opened.profile.choices)
    if absent is None and queue_type not in opened.profile.queue_types:
        absent = f"{queue_type} queues"
    if absent is not None:
        item.user_properties.append(made.signed())
        pytest.skip(f"the broker does not offer {absent}")
    if ruled_out is not None:
        item.user_properties.append(made.signed())
        pytest.skip(ruled_out)
    made.unplayed = opened.vitals.begin_check(made.name)
    if not made.unplayed:
        made.fit()
        made.unplayed = opened.vitals.ended
    if made.unplayed:
        item.user_properties.append(made.signed())
        pytest.skip(made.unplayed)
    item.stash[ATTEMPT] = made
    return made
