"""A story to scripts that anybody can run: one file each, with the story on top and the player below it.

There is one over plain sockets, and one for each client library by which the story can be told as it was. A library
that hides what matters, or waits where the story does not, gets none, and the case says why.
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
_FILES = {RAW: "raw.py", PIKA: "pika_wire.py", AMQP: "amqp_wire.py"}
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


def scripts(story: Sequence[Mapping[str, Any]], about: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The scripts by library, and why there is none for the others. `about`: id, title, clause, allowed, observed, and
    how often it was seen again (reproduced)."""
    made, absent = {RAW: _script(RAW, story, about)}, {}
    for library in (PIKA, AMQP):
        why = obstacle(story, library)
        if why:
            absent[library] = why
        else:
            made[library] = _script(library, story, about)
    return made, absent


def obstacle(story: Sequence[Mapping[str, Any]], library: str) -> str | None:
    """Why the library cannot tell this story as it was; None where it can."""
    for row in story:
        if row["method"] == "connect" and not row["capabilities"].get("consumer_cancel_notify"):
            return f"{library} always announces capabilities that this client does not"
        if row["method"] in ("hang_up", "end"):
            return f"{library} cannot leave a connection without a word, or see it left"
        if row["who"] == ">" and row["method"] not in _SAYS[library]:
            return f"{library} has no plain way to send {row['method']}"
        if row["who"] == ">" and row.get("no_wait"):
            return f"{library} waits for the answer to {row['method']}, and the exchange asks for none"
        if row["who"] == "<" and row["method"] in _HEARS and not (library == PIKA and row["method"] == "basic.cancel"):
            return f"{library} does not show {row['method']} as it comes"
    awaited = [method for one in story[-1].get("awaited", ()) for method in one["methods"]]
    hidden = [method for method in awaited if method not in ("channel.close", "connection.close", "basic.deliver")]
    if hidden or story[-1].get("unconfirmed"):
        return f"{library} waits by itself for what does not come"
    return _pace(story, library) or _hidden(story[-1], library)


def _pace(story: Sequence[Mapping[str, Any]], library: str) -> str | None:
    """A blocking call that the exchange did not wait for."""
    for row, following in itertools.pairwise(story):
        blocking = row["who"] == ">" and row["method"] not in _SILENT | _SET_UP
        if blocking and following["who"] == ">":
            return f"{library} waits for the answer to {row['method']}, and the exchange does not"
    opened = [(row["on"], row["channel"]) for row in story if row["method"] == "channel.open"]
    if len(opened) != len(set(opened)):
        return f"{library} does not open a channel number again at once"
    return None


def _hidden(last: Mapping[str, Any], library: str) -> str | None:
    """Fields of the decisive frame that the library does not show."""
    if last["who"] == "<" and last["method"] in ("channel.close", "connection.close"):
        return f"{library} shows of {last['method']} its code alone"
    if last["method"] in _CONFIRMS or last["method"] == "basic.return":
        return f"{library} waits for each confirm by itself"
    if (
        last["who"] == "<"
        and (last["method"] == "end" or last["method"].endswith("-ok"))
        and (last["method"] != "basic.get-ok")
    ):
        return f"{library} keeps {last['method']} to itself"
    return None


def _script(library: str, story: Sequence[Mapping[str, Any]], about: Mapping[str, str]) -> str:
    wire, player = _source(_FILES[library]), _source("player.py")
    imports = sorted(
        {*_imports(wire), *_imports(player), "import sys", "import uuid"},
        key=lambda line: (line.startswith("from"), line),
    )
    tries = 1 if about["reproduced"].split(" of ")[0] == about["reproduced"].split(" of ")[-1] else 5
    parts = [
        "#!/usr/bin/env python3",
        f'"""{_head(library, about)}"""',
        "\n".join(imports),
        _told(story),
        f"TRIES = {tries}",
        _body(player),
        _body(wire),
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


def _told(story: Sequence[Mapping[str, Any]]) -> str:
    """The story as Python, a row on each line."""
    rows = (pprint.pformat(dict(row), width=10_000, compact=True, sort_dicts=False) for row in story)
    return "# > the client sends, < the broker says, - beside the wire; the last row contradicts the rule\n" + (
        "STORY = [\n" + "".join(f"    {row},\n" for row in rows) + "]"
    )


def _source(name: str) -> str:
    return (SOURCES / name).read_text(encoding="utf-8")


def _imports(source: str) -> Iterable[str]:
    return [line for line in source.splitlines() if line.startswith(("import ", "from "))]


def _body(source: str) -> str:
    """The source without its imports; its head as a comment."""
    head, _, rest = source.removeprefix('"""').partition('"""')
    kept = "\n".join(line for line in rest.splitlines() if not line.startswith(("import ", "from ")))
    return "\n".join(f"# {line}".rstrip() for line in head.strip().splitlines()) + "\n\n" + kept.strip()
