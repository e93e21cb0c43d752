"""What the tests of reports share: the results of an invented broker, their page as a tree, and a Spark session."""

from __future__ import annotations

import copy
import secrets
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance.catalogue import profiles, rules
from conformance.history import recording
from conformance.history.events import Event
from conformance.oracle.monitors import judge
from conformance.oracle.verdicts import verdict_table
from reports.pipeline import verdicts
from reports.pipeline.session import session
from tests.reports.documents import clean_document, document, document_before
from tests.support import s3 as s3_servers
from tests.support.simulated import Wire, histories
from tools.chrome import Chrome, found

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


VOID = frozenset({"meta", "link", "input", "br", "wbr", "img", "hr"})


class Tree(HTMLParser):
    """Every element with its attributes, and the text outside of styles and scripts; fails on misnesting."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.raw: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"<{tag}> repeats an attribute"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in ("style", "script"):
            self.raw[self._open[-1]] = self.raw.get(self._open[-1], "") + data
        else:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def all(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        return [
            found
            for name, found in self.elements
            if name == tag and all(found.get(key.strip("_")) == value for key, value in attributes.items())
        ]


@pytest.fixture
def parse() -> Callable[[str], Tree]:
    return Tree


TRUST = {
    "mutants": 262,
    "killed": 262,
    "field_bugs": 14,
    "field_bugs_found": 14,
    "chaos_runs": 20020,
    "false_alarms": 0,
}


@pytest.fixture
def before() -> dict[str, Any]:
    return document_before()


@pytest.fixture
def trust() -> dict[str, Any]:
    return dict(TRUST)


@pytest.fixture
def results() -> dict[str, Any]:
    return copy.deepcopy(document())


@pytest.fixture
def clean_results() -> dict[str, Any]:
    return copy.deepcopy(clean_document())


@pytest.fixture
def wire() -> type[Wire]:
    return Wire


@pytest.fixture(scope="session")
def mixed() -> list[Event]:
    return histories()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one Spark session of this process."""
    log = tmp_path_factory.mktemp("spark") / "spark.log"
    made = session(log, master="local[2]", settings={"spark.sql.shuffle.partitions": "2"}, octets=1)
    yield made
    made.stop()


HEADER = {
    "run": "r1",
    "profile": "documented",
    "broker": "Birch 2.9",
    "queue_types": ["classic", "quorum"],
    "capabilities": ["basic.nack"],
    "started": "2026-11-21T15:04:05Z",
}


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory, mixed: list[Event]) -> Path:
    """A recording of all those histories, by three workers."""
    folder = tmp_path_factory.mktemp("recorded")
    for worker in range(3):
        recording.write(folder, HEADER, mixed[worker::3], worker=f"gw{worker}")
    return folder


@pytest.fixture(scope="session")
def table_of(mixed: list[Event]) -> dict[str, str]:
    """Rule to verdict, for that recording, by the plain fold."""
    offered = verdicts.offer(HEADER)
    judged = rules.CATALOGUE
    table = verdict_table(
        judge(mixed, profiles.load("documented")),
        {name: (rule.needed, offered.includes(rule)) for name, rule in judged.items()},
    )
    return {name: (table[name] if rule.judged else rule.status) for name, rule in judged.items()}


@pytest.fixture(scope="session")
def s3_server() -> Iterator[dict[str, str]]:
    with s3_servers.serving() as said:
        yield said


@pytest.fixture
def s3(s3_server: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> str:
    """An address below which nothing is yet, of a server that the environment tells of."""
    for name, value in s3_server.items():
        monkeypatch.setenv(name, value)
    return f"s3://{s3_servers.BUCKET}/{secrets.token_hex(6)}"


@pytest.fixture(scope="session")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    if found() is None:
        pytest.skip("no Chromium on this machine")
    browser = Chrome(tmp_path_factory.mktemp("chrome"))
    yield browser
    browser.close()
