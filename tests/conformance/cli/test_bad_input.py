"""Whatever is wrong from outside: one paragraph on stderr, the documented exit code, no traceback."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance.cli import main
from conformance.drive.stage import Stage
from conformance.history.recording import Recording
from conformance.oracle.verdicts import Judgement
from reference_broker import ReferenceBroker
from tests.support.ports import Door

QUICK = "?connection_timeout=700"
"""For who is silent."""
Serve = Callable[[Callable[[socket.socket], None]], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a server on loopback that treats each connection as told; gives `127.0.0.1:PORT`."""
    listeners: list[socket.socket] = []

    def accept(listener: socket.socket, treat: Callable[[socket.socket], None]) -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = listener.accept()
                with contextlib.suppress(OSError), sock:
                    treat(sock)

    def start(treat: Callable[[socket.socket], None]) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)
        threading.Thread(target=accept, args=(listener, treat), daemon=True).start()
        return f"127.0.0.1:{listener.getsockname()[1]}"

    yield start
    for listener in listeners:
        listener.close()


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a command that must be refused; gives the paragraph that says why."""

    def run(code: int, *words: str) -> str:
        assert main(words) == code
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.strip()
        assert "Traceback" not in said.err
        assert "\n\n" not in said.err.strip(), "more than one paragraph"
        return " ".join(said.err.split())

    return run


Refused = Callable[..., str]


@pytest.mark.parametrize(
    "url",
    [
        "localhost",
        "http://localhost",
        "amqp://",
        "amqp://host:99999/",
        "amqp://host:port/",
        "amqp://host/a/b",
        "amqp://host/?verify=maybe",
        "redis://host",
        "amqp://host:0/",
        "amqp://[::1",
        "\udcff",
    ],
)
@pytest.mark.parametrize("verb", ["run", "doctor"])
def test_a_malformed_url(verb: str, url: str, refused: Refused) -> None:
    assert "amqp://guest:guest@localhost:5672/%2F" in refused(2, verb, url)


def test_a_password_in_a_malformed_url_is_not_repeated(refused: Refused) -> None:
    assert "secret" not in refused(2, "run", "amqp://me:secret@host:99999/")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--profile", "rabbitmq-3.1"), "rabbitmq-3.10"),
        (("--profile", "none.toml"), "none.toml"),
        (("--deviations", "none.toml"), "none.toml"),
        (("--level", "shall"), "must, should, may"),
        (("--depth", "bottomless"), "smoke, ci, deep"),
        (("--rules", "ACKK-*"), "amqp-conformance list"),
        (("--rules", "TAG-004", "--level", "must"), "level must"),
        (("--set", "guides-0"), "sets are extensions-1, guides-1, protocol-1"),
        (("--set", "guides-1", "--rules", "ROUTE-*"), "no rule of --set guides-1"),
        (("--seed", "x"), "whole number"),
        (("--examples", "0"), "at least 1"),
        (("--report", "/dev/null/x"), "directory"),
        (("--recording", "/dev/null/x"), "directory"),
        (("--broker-url", "a=amqp://host", "--broker-url", "b=amqp://host"), "one broker"),
        (("-n", "many"), "number of processes"),
        (("--colour",), "--help"),
    ],
)
def test_a_wish_that_cannot_be_granted(words: tuple[str, ...], hint: str, refused: Refused) -> None:
    assert hint in refused(2, "run", *words)


def test_a_deviations_file_with_a_mistake_is_refused_with_its_line(tmp_path: Path, refused: Refused) -> None:
    file = tmp_path / "known.toml"
    file.write_text('[[deviation]]\nrule = "ACK-999"\nreason = "x"\nnote = "n"\nevidence = "e"\nowner = "o"\n')
    said = refused(2, "run", "--deviations", str(file))
    assert "line 1" in said
    assert "ACK-999" in said


def test_an_unknown_verb_and_an_unknown_rule(refused: Refused) -> None:
    assert "choose from" in refused(2, "judge")
    assert "did you mean" in refused(2, "explain", "ACK-1")
    assert "No rule matches" in refused(2, "list", "XYZ-*")


@pytest.mark.parametrize("words", [("report", "none.json"), ("report", "/")])
def test_a_report_of_nothing(words: tuple[str, ...], refused: Refused) -> None:
    refused(2, *words)


def test_a_report_of_something_else(tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "results.json").write_text('{"schema": "other/1"}')
    assert "other/1" in refused(2, "report", str(tmp_path))


def test_a_port_where_nothing_listens(refused: Refused) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = taken.getsockname()[1]
    assert "nothing listens" in refused(3, "run", f"amqp://guest:guest@127.0.0.1:{free}/")


def test_a_host_that_does_not_exist(refused: Refused) -> None:
    assert "does not resolve" in refused(3, "run", "amqp://guest:guest@no-such-host.invalid/")


def http(sock: socket.socket) -> None:
    sock.recv(64)
    sock.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")


def tls(sock: socket.socket) -> None:
    """What a TLS server says to anything it cannot read."""
    sock.recv(64)
    sock.sendall(b"\x15\x03\x03\x00\x02\x02\x28")


def silent(sock: socket.socket) -> None:
    while sock.recv(64):
        pass


def rude(sock: socket.socket) -> None:
    sock.recv(8)


@pytest.mark.parametrize(
    ("treat", "hint"),
    [(http, "HTTP"), (tls, "amqps://"), (silent, "says nothing"), (rude, "closes")],
)
def test_a_port_that_speaks_something_else(
    treat: Callable[[socket.socket], None],
    hint: str,
    serve: Serve,
    refused: Refused,
) -> None:
    assert hint in refused(3, "run", f"amqp://guest:guest@{serve(treat)}/{QUICK if treat is silent else ''}")


def test_the_doctor_names_the_layer(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", f"amqp://guest:guest@{serve(http)}/"]) == 3
    said = capsys.readouterr().out
    assert "ok    tcp" in said
    assert "FAIL  header" in said


@pytest.mark.parametrize(
    ("change", "layer"),
    [
        (("guest:guest", "guest:wrong"), "login"),
        (("%2F", "no-such-vhost"), "vhost"),
    ],
)
def test_a_login_or_a_vhost_that_is_refused(
    change: tuple[str, str],
    layer: str,
    refused: Refused,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ReferenceBroker() as broker:
        url = broker.url.replace(*change)
        assert f"({layer})" in refused(3, "run", url)
        assert main(["doctor", "--format", "json", url]) == 3
        diagnosis = json.loads(capsys.readouterr().out)
    assert diagnosis["failed"] == layer
    assert diagnosis["message"]
    assert diagnosis["passed"] == ["tcp", "header", *(["login"] if layer == "vhost" else [])]


@pytest.mark.rabbitmq
@pytest.mark.parametrize(
    ("change", "layer"),
    [
        (("guest:guest", "guest:wrong"), "login"),
        (("%2F", "no-such-vhost"), "vhost"),
    ],
)
def test_a_real_broker_refuses_too(change: tuple[str, str], layer: str, refused: Refused) -> None:
    url = os.environ.get("AMQP_RABBITMQ_URL") or pytest.skip("AMQP_RABBITMQ_URL is not set")
    assert f"({layer})" in refused(3, "run", str(url).replace(*change))


MESSAGES = b"\x00\x3c\x00\x3c", b"\x00\x3c\x00\x47"
"""basic.deliver, basic.get-ok."""


@pytest.fixture
def broker() -> Iterator[ReferenceBroker]:
    with ReferenceBroker() as made:
        yield made


@pytest.mark.parametrize("gone", [False, True])
def test_a_broker_that_closes_half_way(
    gone: bool,
    broker: ReferenceBroker,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    left = iter(range(30))

    def cue(data: bytes, answers: bool) -> bool:
        over = answers and any(method in data for method in MESSAGES) and next(left, None) == 29
        if over and gone:
            door.close()
        return over

    door = Door(broker.port, cue=cue)
    url = f"amqp://guest:guest@127.0.0.1:{door.port}/%2F?connection_timeout=20000"
    words = ["run", url, "--rules", "ACK-00*", "--depth", "smoke"]
    code = main([*words, "--recording", str(tmp_path / "rec"), "--report", str(tmp_path / "out")])
    door.close()
    said = capsys.readouterr()
    assert code == 3, said.out + said.err
    assert "Traceback" not in said.out + said.err
    assert ("accepts no connection" if gone else "ended a connection in the middle") in " ".join(said.out.split())
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert results["complete"] is not gone
    assert not results["gate"]["open"]
    assert results["histories"] > 1
    assert len(list(Recording(tmp_path / "rec").events())) == results["events"]


def interrupted(
    url: str,
    directory: Path,
    number: int,
    *more: str,
    everybody: bool = True,
) -> subprocess.CompletedProcess[str]:
    """Runs the command until something is recorded of it, then sends it a signal; its workers, too, or it alone."""
    recording = directory / "rec"
    words = ["run", url, "--depth", "deep", "--recording", str(recording), "--report", str(directory / "out"), *more]
    process = subprocess.Popen(
        [sys.executable, "-m", "conformance.cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    until = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < until:
        if sum(file.stat().st_size for file in recording.glob("*.jsonl")) > 200_000:
            os.killpg(process.pid, number) if everybody else process.send_signal(number)
            break
        time.sleep(0.02)
    out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(words, process.returncode, out, err)


@pytest.mark.parametrize(
    ("number", "more"),
    [
        (signal.SIGINT, ()),
        (signal.SIGTERM, ()),
        (signal.SIGINT, ("-n", "2")),
        (signal.SIGTERM, ("-n", "2")),
    ],
)
def test_an_interrupted_run_keeps_what_it_has_and_leaves_nothing(
    number: int,
    more: tuple[str, ...],
    broker: ReferenceBroker,
    tmp_path: Path,
    leftovers: Callable[[str, Path], list[str]],
) -> None:
    done = interrupted(broker.url, tmp_path, number, *more, everybody=number == signal.SIGINT)
    assert done.returncode == 130, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert not results["complete"]
    assert not results["gate"]["open"]
    recorded = list(Recording(tmp_path / "rec").events())
    assert 0 < results["events"] <= len(recorded)
    unfinished = len({(event.history, event.run) for event in recorded}) - results["histories"]
    assert unfinished <= 2, "each process loses no more than the history it was in"
    assert "interrupted" in done.stdout
    assert leftovers(broker.url, tmp_path / "rec") == []


def test_an_interrupt_amid_what_belongs_to_no_line(
    broker: ReferenceBroker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    leftovers: Callable[[str, Path], list[str]],
) -> None:
    """CPython knows no line of some instructions, and a signal may come there."""
    code = compile("raise KeyboardInterrupt", "nowhere", "exec")
    units = len(code.co_code) // 2
    lineless = code.replace(co_linetable=bytes(0xF8 | min(8, units - at) - 1 for at in range(0, units, 8)))
    honest, played = Stage.finish, []

    def finish(stage: Stage, *, give_back: bool = False) -> Judgement:
        played.append(stage.name)
        if len(played) > 3:
            exec(lineless)
        return honest(stage, give_back=give_back)

    monkeypatch.setattr(Stage, "finish", finish)
    words = ["run", broker.url, "--rules", "ACK-00*", "--depth", "smoke"]
    assert main([*words, "--recording", str(tmp_path / "rec"), "--report", str(tmp_path / "out")]) == 130
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert not results["complete"]
    assert results["histories"] == 3
    assert leftovers(broker.url, tmp_path / "rec") == []
