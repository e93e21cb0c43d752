"""`amqp-conformance`: every verb is a few lines over the rest.

Data goes to stdout, progress and complaints to stderr. Whatever is wrong is one paragraph and a documented exit code,
never a traceback: 0 gate open, 1 gate closed, 2 wrong use, 3 broker unreachable, 4 harness error, 130 interrupted.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import random
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from conformance import __version__
from conformance.cli import verbs as wide
from conformance.outcome.screen import colored, complain, width
from conformance.session.exits import GATE_OPEN, HARNESS_ERROR, INTERRUPTED, MEANING, UNREACHABLE, WRONG_USE, Refused
from conformance.session.options import DEPTHS, LEVELS, TABLE, Options
from conformance.session.places import local

HUNT = 10.0
"""Minutes of a hunt of which nobody says how long it is."""

Verb = Callable[[argparse.Namespace], int]
FULL = (errno.ENOSPC, errno.EDQUOT)


class Parser(argparse.ArgumentParser):
    """Complaints of argparse, in our words and with our exit code."""

    def error(self, message: str) -> NoReturn:
        raise Refused(WRONG_USE, f"{message[:1].upper()}{message[1:]}. See: {self.prog} --help.")


def entry() -> NoReturn:
    """The console script."""
    sys.exit(main())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        known = parser()
        if "_ARGCOMPLETE" in os.environ:
            with suppress(ImportError):
                import_module("argcomplete").autocomplete(known)
        options = known.parse_args(words)
        options.words, options.complain = ["amqp-conformance", *words], complain
        verb: Verb = options.verb
        code = verb(options)
        sys.stdout.flush()
        return code
    except Refused as refused:
        complain(refused.message)
        return refused.code
    except KeyboardInterrupt:
        complain("Interrupted.")
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return GATE_OPEN
    except Exception as fault:
        if isinstance(fault, OSError) and fault.errno in FULL:
            complain(f"The disk is full: {fault.filename or 'nothing more'} could not be written.")
            return WRONG_USE
        at = fault.__traceback__
        while at is not None and at.tb_next is not None:
            at = at.tb_next
        where = f" at {at.tb_frame.f_code.co_filename}:{at.tb_lineno}" if at else ""
        complain(f"A fault of this suite, not of the broker: {type(fault).__name__}: {fault}{where}. Please report it.")
        return HARNESS_ERROR


def parser() -> argparse.ArgumentParser:
    codes = "\n".join(f"  {code:<4}{meaning}" for code, meaning in MEANING.items())
    top = Parser(
        prog="amqp-conformance", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Examines AMQP 0-9-1 brokers, rule by rule, with evidence.", epilog=f"exit codes:\n{codes}",
    )
    top.add_argument("--version", action="version", version=f"amqp-conformance {__version__}")
    verbs = top.add_subparsers(required=True, metavar="VERB", parser_class=Parser)
    for add in (_run, _hunt, _doctor, _list, _explain, _replay, _baseline, _diff, _broker, _report, _schema, _trace,
                _mutants, _clients, _demo, _watch):
        add(verbs)
    return top


def _verb(verbs: argparse._SubParsersAction[Parser], name: str, verb: Verb, about: str) -> Parser:
    end = "" if about.endswith("?") else "."
    added = verbs.add_parser(name, help=about, description=f"{about[:1].upper()}{about[1:]}{end}")
    added.set_defaults(verb=verb)
    return added


def _run(verbs: argparse._SubParsersAction[Parser]) -> None:
    added = _verb(verbs, "run", run, "run the suite on a broker, and tell whether the gate is open")
    _examines(added)
    added.add_argument("other", nargs="?", metavar="URL", help="with --preset: the broker after the upgrade")
    added.add_argument("--preset", choices=("rabbitmq-upgrade",), help="rabbitmq-upgrade URL URL: examine both, and "
                       "tell what changes for your applications, into --report DIR (default: upgrade)")


def _examines(added: Parser, *, hunts: bool = False) -> None:
    """The options of a run."""
    added.add_argument("url", nargs="?", help="amqp or amqps URL [AMQP_URL]; default: the embedded reference broker")
    for option in TABLE:
        if option.hunts and (not hunts or option.name == "hunt"):
            continue
        if option.flag:
            added.add_argument(f"--{option.name}", action="store_true", help=option.help)
        elif option.many:
            added.add_argument(f"--{option.name}", action="append", default=[], metavar="URL", help=argparse.SUPPRESS)
        else:
            wide.completed(added.add_argument(f"--{option.name}", metavar=option.metavar, help=option.help))
    if not hunts:
        added.add_argument("-n", "--workers", metavar="N", help="run in N processes, or 'auto'")
    added.add_argument("-v", "--verbose", action="store_true", help="print the exchanges that show what is wrong")
    wide.printed(added, "what is printed: a summary, or the results document")


def run(options: argparse.Namespace) -> int:
    if options.preset:
        return upgraded(options)
    if options.other:
        raise Refused(WRONG_USE, "One run examines one broker. Two are compared by --preset rabbitmq-upgrade URL URL.")
    return examined(options, _workers(options.workers))


def upgraded(options: argparse.Namespace) -> int:
    """Both sides of an upgrade."""
    from conformance.cli.upgrade import OUT, Wishes, upgrade
    from conformance.session.places import writable

    if not (options.url and options.other) or options.broker_url or options.mutant or options.recording:
        raise Refused(WRONG_USE, f"--preset {options.preset} takes two URLs: the broker before, and the one after.")
    if options.broker_admin or options.consumer_timeout:
        raise Refused(WRONG_USE, "Each broker has its own: give it behind its URL, as in URL,admin=URL or "
                                 "URL,consumer-timeout=MS.")
    own = ("report", "recording", "hunt", "again", "mutant", "broker-admin", "consumer-timeout")
    said = {option: getattr(options, option.name.replace("-", "_"), None) for option in TABLE
            if not option.many and option.name not in own}
    Options.checked(lambda name: next((value for option, value in said.items() if option.name == name), None), {})
    words = [word for option, value in said.items() if value
             for word in ([f"--{option.name}"] if option.flag else [f"--{option.name}", str(value)])]
    words += ["-n", options.workers] if _workers(options.workers) else []
    out = writable("report", options.report or OUT)
    code = upgrade(Wishes((options.url, options.other), out, words, options.format, colored(sys.stdout)))
    print(f"report: {out / 'index.html'}", file=sys.stderr)
    return code


def _hunt(verbs: argparse._SubParsersAction[Parser]) -> None:
    added = _verb(verbs, "hunt", hunt, "run the suite, then go on with new seeds at rising sizes, at what was not "
                                       "reached yet, until the time is over")
    added.add_argument("--hours", type=float, default=0.0, metavar="H", help="for so long, the suite included")
    added.add_argument("--minutes", type=float, default=0.0, metavar="M", help="the same; both add up (default: 10)")
    _examines(added, hunts=True)


def hunt(options: argparse.Namespace) -> int:
    """A seed that nobody gave is another one each time, and is told."""
    minutes = 0.0 if options.again else options.hours * 60 + options.minutes or HUNT
    options.seed = options.seed or str(random.SystemRandom().randrange(2**31))
    options.depth = options.depth or "smoke"
    return examined(options, None, f"--amqp-hunt={minutes}", hunts=True)


def examined(options: argparse.Namespace, workers: str | None, *more: str, hunts: bool = False) -> int:
    """The run that these options ask for, and what is said of it."""
    urls = [*([options.url] if options.url else []), *options.broker_url]
    Options.checked(lambda name: urls if name == "broker-url" else getattr(options, name.replace("-", "_"), None))
    from conformance.cli.running import grief
    from conformance.cli.running import run as run_suite
    from conformance.outcome.results import to_json
    from conformance.outcome.terminal import summary

    arguments = [f"--amqp-broker-url={url}" for url in urls]
    for option in TABLE:
        value = getattr(options, option.name.replace("-", "_"), None)
        if value and not option.many:
            arguments.append(f"--amqp-{option.name}" if option.flag else f"--amqp-{option.name}={value}")
    outcome = run_suite([*arguments, *more], options.words, workers, hunts=hunts)
    if outcome.results is None:
        complain(grief(outcome))
    elif options.format == "json":
        print(to_json(outcome.results), end="")
    else:
        print(summary(outcome.results, color=colored(sys.stdout), width=width(), verbose=options.verbose), end="")
    for path in outcome.written:
        if path.suffix == ".html":
            print(f"{'report' if path.stem == 'index' else path.stem}: {path}", file=sys.stderr)
    return outcome.code


def _workers(said: str | None) -> str | None:
    if said is None or said == "auto" or (said.isdecimal() and said != "0"):
        return said
    raise Refused(WRONG_USE, f"-n {said} is no number of processes; give one of at least 1, or 'auto'.")


def _doctor(verbs: argparse._SubParsersAction[Parser]) -> None:
    added = _verb(verbs, "doctor", doctor, "name the layer at which a broker cannot be used, or say what it offers")
    added.add_argument("url", help="amqp or amqps URL")
    wide.printed(added, "text, or one JSON object")


def doctor(options: argparse.Namespace) -> int:
    from conformance.cli.doctor import examine, told
    from conformance.drive.drivers.target import BadUrl, Target
    from conformance.outcome.terminal import painter

    try:
        target = Target.parse(options.url)
    except BadUrl as bad:
        raise Refused(WRONG_USE, str(bad)) from None
    diagnosis = examine(target)
    if options.format == "json":
        print(json.dumps(diagnosis.plain(), indent=1))
    else:
        print(told(diagnosis, painter(colored(sys.stdout))), end="")
    return UNREACHABLE if diagnosis.failed else GATE_OPEN


def _list(verbs: argparse._SubParsersAction[Parser]) -> None:
    added = _verb(verbs, "list", listing, "list the catalogue of rules")
    added.add_argument("rules", nargs="?", default="*", metavar="GLOB", help="only these ids, e.g. 'ACK-*'")
    added.add_argument("--level", choices=LEVELS, default="may", help="lowest level that is listed")
    wide.printed(added, "text, or a JSON list")


def listing(options: argparse.Namespace) -> int:
    from conformance.catalogue import explain, rules

    chosen = rules.select(options.rules, options.level)
    if not chosen:
        raise Refused(WRONG_USE, f"No rule matches {options.rules!r}. Families are {', '.join(rules.FAMILIES)}.")
    print(explain.as_json(chosen) if options.format == "json" else explain.listing(chosen), end="")
    return GATE_OPEN


def _explain(verbs: argparse._SubParsersAction[Parser]) -> None:
    added = _verb(verbs, "explain", explaining, "explain one rule: source, openness, how real brokers behave")
    wide.completed(added.add_argument("rule", help="a rule id, e.g. ACK-010"))
    added.add_argument("results", nargs="?", type=Path, metavar="RESULTS", help="draw how it was broken in this run: "
                       "results.json, or its directory (default: how a broker that is wrong on purpose breaks it)")
    added.add_argument("--no-exchange", action="store_true", help="draw no exchange, which takes a moment to be played")
    wide.printed(added, "text, or one JSON object")


def explaining(options: argparse.Namespace) -> int:
    from conformance.catalogue import explain, rules

    try:
        rule = rules.get(options.rule)
    except rules.UnknownRule as unknown:
        raise Refused(WRONG_USE, f"{str(unknown)[:1].upper()}{str(unknown)[1:]}. See: amqp-conformance list.") from None
    if options.format == "json":
        print(explain.explain_json(rule), end="")
        return GATE_OPEN
    print(explain.explain(rule, width()), end="", flush=True)
    if not options.no_exchange:
        _draw(rule.id, options.results)
    return GATE_OPEN


def _draw(rule: str, results: Path | None) -> None:
    """How the rule is broken, where that can be shown."""
    from conformance.cli import example
    from conformance.diff.compare import results_in

    found = example.seen(results_in(results), rule) if results else example.played(rule)
    if found is not None:
        print(f"\n{example.told(found, width(), color=colored(sys.stdout))}", end="")
    elif results:
        complain(f"{results} holds no exchange that breaks {rule}.")


def _broker(verbs: argparse._SubParsersAction[Parser]) -> None:
    """Its words are those of the broker's own command."""
    added = verbs.add_parser("broker", help="start the reference broker, until interrupted", prefix_chars="\0",
                             add_help=False)
    added.set_defaults(verb=broker)
    added.add_argument("options", nargs=argparse.REMAINDER)


def broker(options: argparse.Namespace) -> int:
    from reference_broker.__main__ import main as serve

    try:
        return serve(options.options, "amqp-conformance broker")
    except SystemExit as ended:
        if not ended.code:
            raise  # it has helped
        return int(ended.code)  # its own parser has said what is wrong


def _report(verbs: argparse._SubParsersAction[Parser]) -> None:
    added = _verb(verbs, "report", report, "make the report of results again, or one page of several")
    added.add_argument("paths", nargs="+", type=Path, metavar="PATH",
                       help="results.json, several of them, or history.json; or their directories")
    added.add_argument("--history", type=local, metavar="DIR", help="of one run: what --history DIR of runs has kept; "
                       "this one is added")
    added.add_argument("--out", type=local, help="directory for the report (default: where the results are; of "
                                                 "several: report)")


def report(options: argparse.Namespace) -> int:
    from conformance.cli.report import made

    print(made(options.paths, options.out, options.history))
    return GATE_OPEN


def _schema(verbs: argparse._SubParsersAction[Parser]) -> None:
    added = _verb(verbs, "schema", schema, "print the JSON Schema of something that is written or read")
    added.add_argument("name", nargs="?", help="results, case, recording, deviations, ...; default: list them")


def schema(options: argparse.Namespace) -> int:
    from conformance.cli import schema as schemas

    print(schemas.text(options.name) if options.name else schemas.listing(), end="")
    return GATE_OPEN


def _mutants(verbs: argparse._SubParsersAction[Parser]) -> None:
    about = "list wrong brokers, or hunt them: is each found by a rule that it should break?"
    added = _verb(verbs, "mutants", mutants, about)
    added.add_argument("mutants", nargs="*", metavar="[list|hunt] [GLOB]",
                       help="list (default), or hunt, only these, e.g. 'settle.*'; a GLOB alone is hunted")
    added.add_argument("--seeds", type=int, metavar="N", help="hunt with seeds 0 to N-1 (default: 5)")
    added.add_argument("--depth", choices=DEPTHS, default="ci", help="how much is generated (default: %(default)s)")
    added.add_argument("--legal", type=int, metavar="N", help="instead: is a right broker taken for wrong, in N runs?")
    added.add_argument("--seed", type=int, default=0, metavar="N", help="with --legal: the first seed (default: 0)")
    added.add_argument("-n", "--workers", metavar="N", help="in N processes (default: as many as cores)")
    wide.printed(added, "text, or the matrix of mutants and rules; the tally, with --legal")


def mutants(options: argparse.Namespace) -> int:
    from conformance.cli.mutants import Wishes, listing, run

    if options.legal is not None:
        return legal(options)
    verb, *globs = options.mutants if options.mutants[:1] in (["list"], ["hunt"]) else ["", *options.mutants]
    glob = ",".join(globs) or "*"
    old = bool(globs) or options.seeds is not None or options.workers is not None
    if verb == "list" or not (verb or old):
        print(listing(glob, options.format))
        return GATE_OPEN
    seeds = 5 if options.seeds is None else options.seeds
    if seeds < 1:
        raise Refused(WRONG_USE, f"--seeds {seeds} plays nothing; give at least 1.")
    return run(Wishes(glob, seeds, options.depth, _workers(options.workers), options.format))


def legal(options: argparse.Namespace) -> int:
    from conformance.campaigns.legal import Wishes, run

    if options.legal < 1:
        raise Refused(WRONG_USE, f"--legal {options.legal} plays nothing; give at least 1.")
    workers = _workers(options.workers)
    count = (os.cpu_count() or 1) if workers is None or workers == "auto" else int(workers)
    return run(Wishes(options.legal, options.seed, count, options.format))


def _clients(verbs: argparse._SubParsersAction[Parser]) -> None:
    wide.clients(_verb(verbs, "clients", wide.run_clients,
                       "tell what client libraries show of each rule, and what they hide"))


def _demo(verbs: argparse._SubParsersAction[Parser]) -> None:
    wide.demo(_verb(verbs, "demo", wide.run_demo, "examine a broker that is wrong on purpose, and open its report"))


def _watch(verbs: argparse._SubParsersAction[Parser]) -> None:
    wide.watch(_verb(verbs, "watch", wide.run_watch_broker,
                     "look at a broker every so many minutes, and keep a page about all rounds"))


def _replay(verbs: argparse._SubParsersAction[Parser]) -> None:
    added = _verb(verbs, "replay", replay, "run a recorded counterexample again: FIXED, STILL BROKEN or INCONCLUSIVE")
    added.add_argument("case", type=Path, help="cases/ID.json of a report")
    added.add_argument("url", nargs="?", help="amqp or amqps URL; default: the embedded reference broker")
    added.add_argument("--times", type=int, default=5, metavar="N", help="how often (default: %(default)s)")


def replay(options: argparse.Namespace) -> int:
    from conformance.cli.replay import replay as play_again

    if options.times < 1:
        raise Refused(WRONG_USE, f"--times {options.times}: give a number of at least 1.")
    code, said = play_again(options.case, options.url, options.times)
    print(said)
    return code


def _baseline(verbs: argparse._SubParsersAction[Parser]) -> None:
    wide.baseline(_verb(verbs, "baseline", wide.run_baseline, "write or edit a deviations file, so that it fits runs"))


def _diff(verbs: argparse._SubParsersAction[Parser]) -> None:
    wide.diff(_verb(verbs, "diff", wide.run_diff, "tell what two runs disagree on, as release notes"))


def _trace(verbs: argparse._SubParsersAction[Parser]) -> None:
    group = verbs.add_parser("trace", help="record traffic, and judge what was recorded or captured")
    inner = group.add_subparsers(required=True, metavar="VERB", parser_class=Parser)
    for name, options, verb, about in (
        ("check", wide.trace_check, wide.run_check,
         "judge recordings and captures offline, on this machine or a cluster"),
        ("watch", wide.trace_watch, wide.run_watch,
         "judge recordings as they appear in a directory, until interrupted"),
        ("record", wide.trace_record, wide.run_record,
         "record what passes between any client and a broker, as a proxy"),
    ):
        options(_verb(inner, name, verb, about))
