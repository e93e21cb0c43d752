"""The broker alone, as a process."""

import re
import signal
import subprocess
import sys

import pytest

from reference_broker import ReferenceBroker
from reference_broker.embedded import charter


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
    assert process.communicate(timeout=10) == ("", "")
    assert process.returncode == 0


def test_a_taken_port_is_one_line(run):
    with ReferenceBroker() as broker:
        process = run("--port", str(broker.port))
        _, complaint = process.communicate(timeout=10)
    assert process.returncode == 2
    assert re.fullmatch(rf"reference-broker: cannot listen on 127\.0\.0\.1:{broker.port}: .*\n", complaint)


def test_an_unknown_mutant_is_one_line(run):
    process = run("--mutant", "tags.start-at-one")
    _, complaint = process.communicate(timeout=10)
    assert process.returncode == 2
    assert complaint.startswith("reference-broker: no mutant is called 'tags.start-at-one'; did you mean tags.")
    assert complaint.count("\n") == 1


def test_liberties_are_told(run):
    process = run("--port", "0", "--liberties", "7")
    assert process.stdout.readline().startswith("listening on ")
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=10)[1] == f"{charter(7)}\n"


def test_mutants_are_listed_with_their_rules(run):
    listed, _ = run("--list-mutants").communicate(timeout=10)
    assert "tags.start-at-zero: tags count from 0 (TAG-001, TAG-002)\n" in listed


def test_liberties_are_listed_with_who_grants_them(run):
    listed, _ = run("--list-liberties").communicate(timeout=10)
    assert re.search(r"^confirms\.each: confirm every publish by itself, .* \[guide: .*\]$", listed, re.MULTILINE)
