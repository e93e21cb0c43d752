"""Client libraries as drivers: what is known of pika and py-amqp is what comes out, and no library accuses a broker."""

from __future__ import annotations

import itertools
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from codec import Method
from codec import methods as m
from conformance import cli
from conformance.campaigns.hunt import embedded
from conformance.catalogue.profiles import load
from conformance.cli import clients
from conformance.cli import schema as schemas
from conformance.clients.compare import LibraryComparison, came, sent
from conformance.clients.libraries import SHIPPED
from conformance.clients.libraries.process import Library, ShownMethod
from conformance.clients.rules import CANNOT, CHANGED, HIDDEN, NOT_MET, PARTLY, SHOWN, seen
from conformance.clients.run import Account, perform
from conformance.drive.run.bench import Bench
from conformance.drive.run.plays import plays_for
from conformance.fixture import EmbeddedBroker
from conformance.history.events import TO_BROKER, TO_CLIENT, Event, EventBuilder, Labels
from reference_broker import ReferenceBroker

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "test-a-client.md"
POLICY = "TMO-022"
"""Its scenes give a queue a policy."""
Examine = Callable[..., Account]


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with embedded("documented", 0, "smoke", deadline=10.0) as made:
        yield made


@pytest.fixture(scope="module")
def examine(bench: Bench) -> Iterator[Examine]:
    """The scenes of these rules, on classic queues, by this library."""
    libraries = {name: Library(shipped.command) for name, shipped in SHIPPED.items()}

    def examined(name: str, *rules: str) -> Account:
        scenes = [play for play in plays_for(rules, bench.profile, "smoke") if not play.machine]
        chosen = [play for play in scenes if play.queue_type == "classic"]
        return perform(chosen, bench, libraries[name], lambda play: None)

    yield examined
    for library in libraries.values():
        library.stop()


@pytest.mark.parametrize("name", SHIPPED)
def test_what_every_library_shows(examine: Examine, name: str) -> None:
    account = examine(name, "TAG-001", "TAG-006", "ACK-001", "ACK-002")
    assert {account.rule(rule).status for rule in account.statuses} == {SHOWN}
    assert not account.findings + account.stuck + account.broken_off
    assert account.methods["basic.get-ok"].came == account.methods["basic.get-ok"].shown > 10


@pytest.mark.parametrize(
    ("name", "absent"),
    [
        ("pika-select", set()),
        ("py-amqp", set()),
        ("pika-blocking", {"delivery_tag", "multiple"}),
    ],
)
def test_what_a_confirm_shows(examine: Examine, name: str, absent: set[str]) -> None:
    account = examine(name, "CNF-004")
    assert set(account.methods["basic.ack"].absent) == absent
    assert account.rule("CNF-004").status == (PARTLY if absent else SHOWN)


def test_a_call_that_waits_shows_its_answer_before_what_came_earlier(examine: Examine) -> None:
    account = examine("pika-blocking", "TAG-003")
    assert account.rule("TAG-003").status == CHANGED
    assert "basic.get-ok before basic.deliver" in account.disorder
    assert not account.findings, "the wire is in order"


def test_what_a_library_has_no_word_for(examine: Examine) -> None:
    account = examine("py-amqp", "ACK-011")
    assert account.rule("ACK-011").status == CANNOT
    assert set(account.cannot) == {"basic.nack"}


def test_what_a_library_does_unasked(examine: Examine) -> None:
    account = examine("py-amqp", "ERR-003")
    assert account.itself["channel.open"] == 1
    assert account.methods["channel.close"].absent["channel"] == 1


@pytest.fixture(scope="module")
def crossing() -> Iterator[Bench]:
    """A broker on which settlements reach into other channels."""
    with embedded("documented", 0, "smoke", ["settle.crosses-channels"], deadline=2.0) as wrong:
        yield wrong


@pytest.mark.parametrize(("known", "accused"), [("", True), ("ACK-005", True), ("ACK-004", False)])
def test_a_wrong_broker_is_found_through_a_library(
    crossing: Bench,
    tmp_path: Path,
    known: str,
    accused: bool,
) -> None:
    """Known deviations excuse what they excuse at the gate: their own rule, not its sisters."""
    path = tmp_path / "known.toml"
    entry = f'[[deviation]]\nrule = "{known}"\nreason = "."\nnote = "n"\nevidence = "e"\nowner = "o"\n'
    path.write_text(entry if known else "", encoding="utf-8")
    wrong = replace(crossing, profile=replace(crossing.profile, deviations=str(path)))
    library = Library(SHIPPED["pika-select"].command)
    try:
        scenes = [play for play in plays_for(["ACK-004"], wrong.profile, "smoke") if not play.machine]
        account = perform(scenes[:1], wrong, library, lambda play: None)
    finally:
        library.stop()
    assert ("ACK-004" in {finding.rule for _, finding in account.findings}) is accused


@pytest.mark.rabbitmq
def test_on_a_real_broker(capsys: pytest.CaptureFixture[str]) -> None:
    url = str(os.environ.get("AMQP_RABBITMQ_URL") or pytest.skip("AMQP_RABBITMQ_URL is not set"))
    assert cli.main(["clients", url, "--rules", "ACK-001,CNF-009", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert_published(document)
    assert [one["rules"]["ACK-001"]["status"] for one in document["libraries"]] == [SHOWN] * 3
    assert all(one["methods"]["basic.return"]["shown"] for one in document["libraries"])
    assert document["broker"]["product"] == "RabbitMQ"


def assert_published(document: dict[str, Any]) -> None:
    """The document follows its schema, and says nothing that the schema does not know."""
    schema = json.loads(schemas.text("clients"))
    jsonschema.Draft202012Validator(schema).validate(document)
    told = {name for library in document["libraries"] for name in library}
    assert told <= set(schema["properties"]["libraries"]["items"]["properties"])


# -- the comparison by itself


class Wire:
    """Events of one channel, made of methods."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._builder = EventBuilder(Labels("r", "b", "h", "c1"), itertools.count(1).__next__, lambda: 0)
        self._add(self._builder.local("open", host="localhost", port=5672))
        self.sends(m.ChannelOpen(1))
        self.receives(m.ChannelOpenOk(1))

    def sends(self, method: Method) -> Wire:
        return self._add(self._builder.frame(TO_BROKER, method, method.encode()))

    def receives(self, method: Method) -> Wire:
        return self._add(self._builder.frame(TO_CLIENT, method, method.encode()))

    def shows(self, method: str, **fields: object) -> ShownMethod:
        return ShownMethod("c1", 1, method, fields, self.events[-1].seq)

    def _add(self, event: Event | None) -> Wire:
        assert event is not None
        self.events.append(event)
        return self


@pytest.fixture
def wire() -> Wire:
    return Wire()


def compared(wire: Wire, *shown: ShownMethod) -> LibraryComparison:
    opened = ShownMethod("c1", 1, "channel.open-ok", {}, 3)
    return came(wire.events, [opened, *shown], [], "backstage")


def test_what_is_left_out_and_what_differs(wire: Wire) -> None:
    wire.receives(m.BasicAck(1, 3, True))
    (_, match) = compared(wire, wire.shows("basic.ack", delivery_tag=4)).matches
    assert match.changed == {"delivery_tag": (3, 4)}
    assert match.absent == ("multiple",)


def test_the_event_that_fits_is_taken_before_an_earlier_one(wire: Wire) -> None:
    wire.receives(m.BasicAck(1, 1, False)).receives(m.BasicAck(1, 2, False))
    result = compared(wire, wire.shows("basic.ack", delivery_tag=2, multiple=False))
    assert [event.delivery_tag for event in result.hidden] == [1]
    assert not result.matches[1].changed


def test_nothing_is_shown_before_it_came(wire: Wire) -> None:
    early = wire.shows("basic.ack", delivery_tag=1, multiple=False)
    wire.receives(m.BasicAck(1, 1, False))
    result = compared(wire, early)
    assert result.invented == [early]
    assert [event.method for event in result.hidden] == ["basic.ack"]


def test_another_order(wire: Wire) -> None:
    wire.receives(m.BasicAck(1, 1, False)).receives(m.BasicQosOk(1))
    result = compared(wire, wire.shows("basic.qos-ok"), wire.shows("basic.ack", delivery_tag=1, multiple=False))
    assert [(a.event.method, b.event.method) for a, b in result.disorder()] == [("basic.qos-ok", "basic.ack")]


def test_what_comes_on_a_channel_that_the_application_closed_need_not_be_shown(wire: Wire) -> None:
    wire.sends(m.ChannelClose(1, 200)).receives(m.BasicAck(1, 1, False)).receives(m.ChannelCloseOk(1))
    result = compared(wire, wire.shows("channel.close-ok"))
    assert not result.hidden
    assert not result.invented


def test_what_a_library_says_by_itself(wire: Wire) -> None:
    wire.sends(m.BasicAck(1, 1, False)).sends(m.BasicReject(1, 2, True))
    asked = [
        ShownMethod("c1", 1, "channel.open"),
        ShownMethod("c1", 1, "basic.ack", {"delivery_tag": 1, "multiple": True}),
        ShownMethod("c1", 1, "basic.qos"),
    ]
    result = sent(wire.events, asked, "backstage")
    assert [event.method for event in result.hidden] == ["basic.reject"]
    assert [shown.method for shown in result.invented] == ["basic.qos"]
    assert result.matches[1].changed == {"multiple": (False, True)}


def test_a_rule_depends_on_what_is_hidden_where_the_verdict_could_be_another(wire: Wire) -> None:
    """Publish and confirm: without its number the confirm could be for anything; its requeue bit matters to nobody."""
    wire.sends(m.ConfirmSelect(1)).receives(m.ConfirmSelectOk(1))
    wire.sends(m.ChannelFlow(1, True)).receives(m.ChannelFlowOk(1, True))
    shown = [ShownMethod("c1", 1, "confirm.select-ok", {}, 5), ShownMethod("c1", 1, "channel.flow-ok", {}, 7)]
    profile = load("documented")
    assert seen(wire.events, compared(wire, *shown), profile, ["CNF-001"])["CNF-001"].status == SHOWN
    assert seen(wire.events, compared(wire, shown[1]), profile, ["CNF-001"])["CNF-001"].status == HIDDEN


# -- the front door


def example(name: str) -> str:
    """This example of the guide."""
    text = GUIDE.read_text(encoding="utf-8").partition(f"<!-- example: {name} -->\n```python\n")[2]
    return text.partition("```")[0]


def test_an_adapter_of_ones_own_as_in_the_guide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    adapter = tmp_path / "my_adapter.py"
    adapter.write_text(example("adapter"), encoding="utf-8")
    mine = shlex.join([sys.executable, str(adapter)])
    words = ["clients", "--adapter", mine, "--rules", "ACK-001,ACK-011", "--format", "json"]
    assert cli.main(words) == 0
    document = json.loads(capsys.readouterr().out)
    assert_published(document)
    (mine,) = document["libraries"]
    assert (mine["library"], mine["version"], mine["scenes"]) == ("my-client", "1.0", 6)
    assert mine["rules"]["ACK-001"]["status"] == SHOWN
    assert mine["rules"]["ACK-011"] == {"status": CANNOT, "why": ["the library has no basic.nack"]}
    assert mine["methods"]["basic.get-ok"]["absent"]["redelivered"] == mine["methods"]["basic.get-ok"]["came"]


def test_an_adapter_in_a_test_of_ones_own(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    reference_broker: EmbeddedBroker,
) -> None:
    (tmp_path / "my_adapter.py").write_text(example("adapter"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    theirs: dict[str, Any] = {}
    exec(example("fixture"), theirs)
    theirs["test_my_library_invents_nothing"](reference_broker)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--library", "nobody"], 2, "known are pika-select"),
        (["--rules", "NONE-*"], 2, "No check matches"),
        (["--profile", "nobody"], 2, "--profile: there is no profile"),
        (["--deviations", "nobody"], 2, "--deviations: there are no deviations 'nobody'"),
        (["amqp://localhost:0"], 2, "A broker URL looks like"),
        (["amqp://127.0.0.1:1"], 3, "nothing listens there"),
        (["--adapter", "no-such-program"], 2, "cannot be started"),
        (["--adapter", f"{sys.executable} -c 'print(1)'"], 2, "no line of JSON with an object in it"),
        (["--adapter", f"{sys.executable} -c 'pass'"], 2, "has ended"),
    ],
)
def test_wrong_use(words: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    rules = [] if "--rules" in words else ["--rules", "ACK-001"]
    assert cli.main(["clients", *words, *rules]) == code
    assert said in " ".join(capsys.readouterr().err.split())


def test_the_management_interface_unlocks_policies(capsys: pytest.CaptureFixture[str]) -> None:
    with ReferenceBroker(http_port=0, theirs_only=True) as broker:
        words = ["clients", broker.url, "--library", "pika-select", "--rules", POLICY, "--format", "json"]
        met = []
        for more in ([], ["--broker-admin", broker.admin_url]):
            assert cli.main([*words, *more]) == 0
            (mine,) = json.loads(capsys.readouterr().out)["libraries"]
            met.append(mine["rules"][POLICY]["status"])
        assert met[0] == NOT_MET
        assert met[1] in (SHOWN, PARTLY)
        assert cli.main([*words, "--broker-admin", "http://127.0.0.1:1"]) == 2
    assert "--broker-admin cannot be used" in capsys.readouterr().err


def test_a_library_that_is_missing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(clients, "_absent", lambda module: module == "pika")
    assert cli.main(["clients"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "pika is not installed. Install what is needed with: pip install 'amqp-conformance[clients]'" in said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_it_after_the_scene_under_way(number: int) -> None:
    """On one core: there the signal comes, more often than not, just as the main thread begins to wait."""
    words = [sys.executable, "-m", "conformance.cli", "clients", "--library", "py-amqp"]
    process = subprocess.Popen(
        words,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}),
    )
    assert process.stderr is not None
    assert "scene 1 of" in process.stderr.readline()
    process.send_signal(number)
    out, said = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "Interrupted." in said


def test_the_page_says_what_the_document_says(tmp_path: Path) -> None:
    out = tmp_path / "new" / "page.md"
    assert (
        cli.main(
            ["clients", "--library", "py-amqp", "--rules", "CNF-004,ACK-011", "--format", "markdown", "--out", str(out)]
        )
        == 0
    )
    page = out.read_text(encoding="utf-8")
    assert "| a confirm's multiple flag | yes |" in page
    assert "cannot: it gives an application no way to send basic.nack" in page
    assert "(rules.md#cnf-004--every-publish-is-resolved-exactly-once)" in page
