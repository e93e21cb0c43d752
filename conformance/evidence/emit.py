"""Writes a reproducer as scripts that anybody can run. Each is one file: the reproducer on top, the player below it.

There is one script over plain sockets, and one for each client library that can play the reproducer as it was. If a
library hides what matters, or waits where the reproducer does not, there is no script for it, and the case says why.
"""

from __future__ import annotations

import itertools
import pprint
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).with_name("scripts")
RAW, PIKA, AMQP = "raw", "pika", "py-amqp"
_FILES = {RAW: ("raw.py",), PIKA: ("blocking.py", "pika_wire.py"), AMQP: ("blocking.py", "amqp_wire.py")}
_SILENT = frozenset({"basic.publish", "basic.ack", "basic.nack", "basic.reject", "channel.close-ok"})
_SET_UP = frozenset({"channel.open", "queue.declare", "queue.bind", "exchange.declare", "basic.qos", "confirm.select"})
_COMMON = (
    _SILENT
    | _SET_UP
    | {
        "exchange.delete",
        "queue.purge",
        "queue.delete",
        "basic.consume",
        "basic.get",
        "basic.recover",
        "channel.close",
        "channel.flow",
        "connection.close",
        "tx.select",
        "tx.commit",
        "tx.rollback",
    }
)
_SAYS = {PIKA: _COMMON, AMQP: (_COMMON | {"basic.cancel"}) - {"basic.nack"}}
_CONFIRMS = frozenset({"basic.ack", "basic.nack"})
_HEARS = frozenset({"basic.nack", "channel.flow", "basic.cancel"})

MAIN = """
def main() -> int:
    if len(sys.argv) != 2 or "://" not in sys.argv[1]:
        print(f"usage: {sys.argv[0]} amqp://guest:guest@localhost:5672/%2F", file=sys.stderr)
        return UNCLEAR
    verdict = UNCLEAR
    for _ in range(TRIES):
        try:
            wire = Wire(sys.argv[1])
            player = Player(STORY, wire, f"again-{uuid.uuid4().hex[:12]}.")
            try:
                verdict = player.play()
            finally:
                wire.clean()
        except Exception as problem:
            print(f"The broker cannot be used: {type(problem).__name__}: {problem}", file=sys.stderr)
            return UNCLEAR
        print(player.said)
        if verdict == BROKEN:
            break
    print({BROKEN: "STILL BROKEN", ELSE: "NOT SEEN AGAIN", UNCLEAR: "INCONCLUSIVE"}[verdict])
    return verdict


if __name__ == "__main__":
    sys.exit(main())
"""


def scripts(reproducer: Sequence[Mapping[str, Any]], about: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The scripts by library, and why there is none for the others. `about`: id, title, clause, allowed, observed, and
    how often it was seen again (reproduced)."""
    made, absent = {RAW: _script(RAW, reproducer, about)}, {}
    for library in (PIKA, AMQP):
        why = obstacle(reproducer, library)
        if why:
            absent[library] = why
        else:
            made[library] = _script(library, reproducer, about)
    return made, absent


def obstacle(reproducer: Sequence[Mapping[str, Any]], library: str) -> str | None:
    """Why the library cannot tell this reproducer as it was; None where it can."""
    for row in reproducer:
        if row["method"] == "connect" and not row["capabilities"].get("consumer_cancel_notify"):
            return f"{library} always announces capabilities that this client does not"
        if row["method"] in ("hang_up", "end"):
            return f"{library} cannot drop a connection without closing it, or show that it was dropped"
        if row["who"] == ">" and row["method"] not in _SAYS[library]:
            return f"{library} has no function that sends {row['method']}"
        if row["who"] == ">" and row.get("no_wait"):
            return f"{library} waits for the answer to {row['method']}, and the exchange asks for none"
        if row["who"] == "<" and row["method"] in _HEARS and not (library == PIKA and row["method"] == "basic.cancel"):
            return f"{library} does not show {row['method']} when it arrives"
    awaited = [method for one in reproducer[-1].get("awaited", ()) for method in one["methods"]]
    hidden = [method for method in awaited if method not in ("channel.close", "connection.close", "basic.deliver")]
    if hidden or reproducer[-1].get("unconfirmed"):
        return f"{library} waits for what does not come, and cannot be stopped"
    return _pace(reproducer, library) or _hidden(reproducer[-1], library)


def _pace(reproducer: Sequence[Mapping[str, Any]], library: str) -> str | None:
    """A blocking call that the exchange did not wait for."""
    for row, following in itertools.pairwise(reproducer):
        blocking = row["who"] == ">" and row["method"] not in _SILENT | _SET_UP
        if blocking and following["who"] == ">":
            return f"{library} waits for the answer to {row['method']}, and the exchange does not"
    opened = [(row["on"], row["channel"]) for row in reproducer if row["method"] == "channel.open"]
    if len(opened) != len(set(opened)):
        return f"{library} does not open a channel number again at once"
    return None


def _hidden(last: Mapping[str, Any], library: str) -> str | None:
    """Fields of the decisive frame that the library does not show."""
    if last["who"] == "<" and last["method"] in ("channel.close", "connection.close"):
        return f"{library} shows only the code of {last['method']}"
    if last["method"] in _CONFIRMS or last["method"] == "basic.return":
        return f"{library} waits for each confirm by itself"
    if (
        last["who"] == "<"
        and (last["method"] == "end" or last["method"].endswith("-ok"))
        and (last["method"] != "basic.get-ok")
    ):
        return f"{library} does not show {last['method']}"
    return None


def _script(library: str, reproducer: Sequence[Mapping[str, Any]], about: Mapping[str, str]) -> str:
    sources = [_source(name) for name in ("player.py", *_FILES[library])]
    imports = sorted(
        {"import sys", "import uuid"}.union(*map(_imports, sources)),
        key=lambda line: (line.startswith("from"), line),
    )
    tries = 1 if about["reproduced"].split(" of ")[0] == about["reproduced"].split(" of ")[-1] else 5
    parts = [
        "#!/usr/bin/env python3",
        f'"""{_head(library, about)}"""',
        "\n".join(imports),
        _format_rows(reproducer),
        f"TRIES = {tries}",
        *map(_body, sources),
        MAIN.strip(),
    ]
    return "\n\n".join(parts) + "\n"


def _head(library: str, about: Mapping[str, str]) -> str:
    needs = "nothing but Python 3.10" if library == RAW else library
    text = [
        f"{about['id']}: {about['title']}",
        f"Needs {needs}. Give it the URL of a broker: amqp://guest:guest@localhost:5672/%2F",
        f"The rule     {about['clause']}",
        f"Allowed      {about['allowed']}",
        f"Was observed {about['observed']}",
        "Exit code 1: the broker does what was observed, still. 0: it does something else at this place. 2: the "
        "exchange cannot be repeated up to there, or the broker cannot be reached. The whole suite judges more than "
        "this; see amqp-conformance replay.",
    ]
    lines = ["\n".join(textwrap.wrap(part, 110, subsequent_indent="    ")) for part in text]
    return "\n\n".join(lines).replace("\\", "/").replace('"""', "'''") + "\n"


def _format_rows(reproducer: Sequence[Mapping[str, Any]]) -> str:
    """The reproducer as Python, a row on each line."""
    rows = (pprint.pformat(dict(row), width=10_000, compact=True, sort_dicts=False) for row in reproducer)
    return "# > the client sends, < the broker says, - beside the wire; the last row contradicts the rule\n" + (
        "STORY = [\n" + "".join(f"    {row},\n" for row in rows) + "]"
    )


def _source(name: str) -> str:
    return (SOURCES / name).read_text(encoding="utf-8")


def _imports(source: str) -> Iterable[str]:
    """But for those of each other: all that a script needs of them stands in it."""
    lines = source.splitlines()
    return [line for line in lines if line.startswith(("import ", "from ")) and not line.startswith("from conformance")]


def _body(source: str) -> str:
    """The source without its imports; its head as a comment."""
    head, _, rest = source.removeprefix('"""').partition('"""')
    kept = "\n".join(line for line in rest.splitlines() if not line.startswith(("import ", "from ")))
    return "\n".join(f"# {line}".rstrip() for line in head.strip().splitlines()) + "\n\n" + kept.strip()
