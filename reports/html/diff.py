"""The comparison of two runs as a page of its own, in the look of the report: the same words, and the exchanges drawn.

Each exchange is a ladder with the state beside its steps, as in the report; the page needs no script and has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from reports import diff
from reports.html import FOLDER, environment, policy, visible
from reports.html.exchange import CaseView, case_view


def render(document: Mapping[str, Any], reports: Mapping[str, str] | None = None) -> str:
    """The page for what `amqp-conformance diff --format json` prints; `reports`: where those of the two sides are."""
    shown = visible(document)
    css = "".join((FOLDER / name).read_text("utf-8") for name in ("page.css", "diff.css"))
    return (
        environment()
        .get_template("diff.html.j2")
        .render(
            document=shown,
            sections=list(diff.sections(shown)),
            footing=diff.footing(shown),
            question=diff.question,
            tied=diff.tied,
            view=_view,
            reports=reports or {},
            css=Markup(css),
            policy=policy(css, ""),
        )
    )


def _view(change: Mapping[str, Any], case: Mapping[str, Any]) -> CaseView:
    side = list(change["shown"]).index(case)
    return case_view(case, f"{side}")
