"""The broker alone, as a process."""

import re
import signal
import subprocess
import sys

import pytest

from reference_broker import ReferenceBroker
from reference_broker.configuration import charter


@pytest.fixture
def run():
    processes = []

    def start(*arguments):
        command = [sys.executable, "-m", "reference_broker", *arguments]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_one_line_when_listening_and_a_clean_end(run, number):
    process = run("--port", "0", "--mutant", "tags.start-at-zero")
    line = process.stdout.readline()
    assert re.fullmatch(r"listening on amqp://guest:guest@127\.0\.0\.1:\d+/%2F\n", line)
    process.send_signal(number)
    assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == 0


def test_a_taken_port_is_one_line(run):
    with ReferenceBroker() as broker:
        process = run("--port", str(broker.port))
        _, complaint = process.communicate(timeout=60)
    assert process.returncode == 2
    assert re.fullmatch(rf"reference-broker: cannot listen on 127\.0\.0\.1:{broker.port}: .*\n", complaint)


@pytest.mark.parametrize("option", ["--http", "--tls-port"])
def test_the_port_that_is_taken_is_told(run, option, tmp_path):
    openssl = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2"]
    subprocess.run([*openssl, "-keyout", tmp_path / "key", "-out", tmp_path / "cert"], check=True, capture_output=True)
    with ReferenceBroker() as broker:
        secure = "--tls-cert", str(tmp_path / "cert"), "--tls-key", str(tmp_path / "key")
        process = run("--port", "0", *secure, "--tls-port", "0", option, str(broker.port))
        _, complaint = process.communicate(timeout=60)
    assert process.returncode == 2
    assert complaint == f"reference-broker: cannot listen on 127.0.0.1:{broker.port}: Address already in use\n"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--port", "65536"), "argument --port: '65536' is no number from 0 to 65535"),
        (("--http", "x"), "argument --http: 'x' is no number from 0 to 65535"),
        (("--user", "me"), "argument --user: 'me' is no NAME:PASSWORD"),
        (("--data", ""), "argument --data: it has no name"),
        (("--data", __file__), f"cannot keep data in {__file__}: it is there, and no directory"),
        (("--host", "192.0.2.1", "--port", "0"), "cannot listen on 192.0.2.1:0: Cannot assign requested address"),
        (("--tls-key", "file"), "TLS needs a certificate of the broker's own; name its file with --tls-cert"),
        (("--tls-cert", "no-file"), "no certificate and key in no-file alone: No such file or directory"),
        (("--tls-cert", __file__), f"no certificate and key in {__file__} alone: it has no PEM of that kind"),
    ],
)
def test_wrong_use_is_told_in_a_line(run, options, complaint):
    process = run(*options)
    said, told = process.communicate(timeout=60)
    assert (process.returncode, said) == (2, "")
    assert complaint in told.splitlines()[-1]
    assert "Traceback" not in told


def test_it_listens_on_several_addresses(run):
    process = run("--host", "127.0.0.1", "--host", "127.0.0.2", "--port", "0", "--http", "0")
    lines = [process.stdout.readline() for _ in range(4)]
    ports = {line.rpartition(":")[2].split("/")[0].strip() for line in lines}
    assert [line.split("@")[1].split(":")[0] for line in lines] == ["127.0.0.1", "127.0.0.2"] * 2
    assert len(ports) == 2


def test_an_unknown_mutant_is_one_line(run):
    process = run("--mutant", "tags.start-at-one")
    _, complaint = process.communicate(timeout=60)
    assert process.returncode == 2
    assert complaint.startswith("reference-broker: no mutant is called 'tags.start-at-one'; did you mean tags.")
    assert complaint.count("\n") == 1


def test_variations_are_told(run):
    process = run("--port", "0", "--nondeterminism", "7")
    assert process.stdout.readline().startswith("listening on ")
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=60)[1] == f"{charter(7)}\n"


def test_mutants_are_listed_with_their_rules(run):
    listed, _ = run("--list-mutants").communicate(timeout=60)
    assert "tags.start-at-zero: tags count from 0 (TAG-001, TAG-002)\n" in listed


def test_variations_are_listed_with_who_grants_them(run):
    listed, _ = run("--list-nondeterminism").communicate(timeout=60)
    assert re.search(r"^confirms\.each: confirm every publish by itself, .* \[guide: .*\]$", listed, re.MULTILINE)


def test_a_personality_tells_its_traits(run):
    process = run("--port", "0", "--personality", "sieve")
    assert process.stdout.readline().startswith("listening on ")
    process.send_signal(signal.SIGTERM)
    told = process.communicate(timeout=60)[1].splitlines()
    assert [line.partition(":")[0] for line in told] == [
        "losing.each-20th-message",
        "redelivered.always",
        "queues.never-deleted-by-themselves",
    ]


def test_an_unknown_personality_is_one_line(run):
    process = run("--personality", "seive")
    _, complaint = process.communicate(timeout=60)
    assert process.returncode == 2
    assert complaint == "reference-broker: no personality is called 'seive'; did you mean sieve?\n"


def test_personalities_are_listed_with_their_traits(run):
    listed, _ = run("--list-personalities").communicate(timeout=60)
    assert "sieve: losing.each-20th-message, redelivered.always, queues.never-deleted-by-themselves\n" in listed
