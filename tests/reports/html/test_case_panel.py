"""The panel of a case: the state beside each step, what plays the exchange again, and where the files are."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from conformance.outcome.results import Case, to_json
from reports import html
from reports.html.exchange import case_view
from reports.html.ladder import STATE, Rung, ladder
from tests.support.runs import STEPS, case, results, rule

STORY = (
    {"n": 1, "who": "-", "on": "c1", "method": "connect", "capabilities": {}},
    {"n": 2, "who": ">", "on": "c1", "channel": 1, "method": "channel.open"},
    {"n": 3, "who": "<", "on": "c1", "channel": 1, "method": "channel.close", "decisive": True},
)
RERUN = "amqp-conformance run --rules ACK-002 --seed 0"


def document(*cases: Case, name: str = "Broker 1") -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(to_json(results(name, [rule("ACK-002", "broken", *cases)])))
    return plain


def case_panel(**given: Any) -> Case:
    given = {"story": STORY, "rerun": RERUN, "absent": {"pika": "pika hides it"}, **given}
    return case("ACK-002", "it stays", **given)


def test_the_state_stands_beside_its_step_in_the_picture_and_in_the_list() -> None:
    view = case_view(json.loads(json.dumps(document(case_panel())["rules"][0]["cases"][0])), "b")
    assert re.search(r'class="box unacked" [^>]*/><text class="in" [^>]*>1</text><title>c1.1 unacked 1<', view.ladder)
    assert "unacked, unconfirmed" in view.ladder
    assert [step.state for step in view.steps] == ["", "c1.1 unacked 1"]
    assert "then c1.1 unacked 1" in html.render(document(case_panel()))


def test_a_picture_without_states_has_no_column_for_them() -> None:
    rungs = [Rung("1", "c1", ">", "basic.ack 1", "plain")]
    narrow = ladder(rungs, "n", "about")
    wide = ladder([replace(rungs[0], state="what nobody can read back " + "x" * 60)], "n", "about")
    assert "unacked, unconfirmed" not in narrow
    widths = [int(str(picture).split('viewBox="0 0 ')[1].split()[0]) for picture in (narrow, wide)]
    assert widths[1] - widths[0] == STATE
    assert "…<title>what nobody can read back xxx" in wide


def test_a_state_is_escaped() -> None:
    assert "<script" not in ladder([Rung("1", "c1", ">", "x", "plain", "", "<script>alert(1)</script>")], "n", "a")


def test_the_panel_has_the_script_and_what_to_type_and_where_the_files_are() -> None:
    page = html.render(document(case_panel()))
    assert "amqp-conformance replay cases/ACK-002-1.json" in page
    assert "STORY = [" in page
    assert 'href="cases/ACK-002-1.raw.py"' in page
    assert 'href="cases/ACK-002-1.py-amqp.py"' in page
    assert 'href="cases/ACK-002-1.pika.py"' not in page
    assert "No script by pika: pika hides it." in page


def test_a_case_without_a_story_says_why_and_promises_nothing() -> None:
    page = html.render(document(case_panel(story=(), untold="trying it would take too long")))
    assert "No script and no replay: trying it would take too long." in page
    assert "amqp-conformance replay" not in page
    assert 'href="cases/ACK-002-1.json"' in page
    assert "raw.py" not in page


def test_pages_without_a_folder_of_cases_link_to_none() -> None:
    assert 'href="cases/' not in html.render(document(case_panel(rerun="amqp-conformance trace check x", story=())))
    assert 'href="cases/' not in html.render_many([document(case_panel()), document(case_panel(), name="Broker 2")])


def test_what_a_broker_says_is_no_markup_in_its_script() -> None:
    hostile = replace(case_panel(steps=STEPS), observed="</pre><script>alert(1)</script>")
    page = html.render(document(hostile))
    assert "<script>alert" not in page
