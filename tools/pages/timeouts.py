"""The precedence of consumer timeouts, expected and measured, as a page.

    python -m tools.pages.timeouts [NODE...]

Every combination of levels that can differ in outcome runs on the reference broker, and on the brokers that are given
as `.ci/brokers.py nodes rmq43 rmq43-short` prints them: there, whatever their management APIs can set beside what is in
their configuration. Measurements of one version share a column. Writes docs/timeouts.md.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from conformance.diff.nodes import Node
from conformance.drive.around import Around
from conformance.drive.drivers.admin import Admin
from conformance.drive.run.bench import Bench
from conformance.drive.scenes.precedence import combinations_of, possible, stage_rows
from conformance.drive.stage import Stage
from conformance.history.events import TO_CLIENT
from conformance.oracle.model.consumers.clocks import Levels
from conformance.session import brokers
from conformance.session.brokers import BrokerUnderTest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "timeouts.md"
Measured = Mapping[Levels, int]

HEAD = """# Consumer timeouts: which level counts

Made by `python -m tools.pages.timeouts`. A consumer of a quorum queue holds one delivery. The table shows how many
milliseconds later basic.cancel came. The consumer's own timeout comes first. Without it, the smaller of the queue's
argument and its policy counts. Without these, the broker's own setting counts (rules
[TMO-002](rules.md#tmo-002--the-consumers-own-timeout-comes-first) to
[TMO-005](rules.md#tmo-005--the-timeout-is-30-minutes-by-default)). Each level is set or not, and
only the order of the levels that are set can matter. So there is one row for each order of each subset.

On the reference broker the suite moves the clock, in steps of a twentieth of a second around each deadline. A real
broker has its own setting in its configuration, so two nodes of one version share a column. The rows without a broker
setting ran on a node with the default of half an hour, the others on a node with a short timeout. The time begins when
the client has read the delivery. While the client is busy with other rows, that is some hundredths of a second after
the broker sent it.

"""


def measured(broker: BrokerUnderTest, around: Around) -> Measured:
    """Milliseconds from each row's delivery to its notification."""
    bench = Bench(broker.target, broker.profile, around, broker.deadline, run="timeouts")
    with bench.staged(Stage, "timeouts", queue_type="quorum") as stage:
        rows = stage_rows(stage, possible(around))
        came: dict[str, int] = {}
        found: dict[Levels, int] = {}
        for event in stage.events:
            if event.direction == TO_CLIENT and event.method == "basic.deliver":
                came.setdefault(event.consumer_tag or "", event.time_ns)
            elif event.direction == TO_CLIENT and event.method == "basic.cancel" and event.consumer_tag in rows:
                found.setdefault(rows[event.consumer_tag], (event.time_ns - came[event.consumer_tag]) // 1_000_000)
        stage.finish()
        return found


def table(columns: Mapping[str, Measured]) -> str:
    """A row for each combination."""
    heads = ["consumer", "queue argument", "policy", "broker", "expected", *columns]
    lines = [f"| {' | '.join(heads)} |", "|" + "--:|" * len(heads)]
    for row in combinations_of():
        levels = [row.consumer, row.argument, row.policy, row.general, row.effective()]
        cells = [*levels, *(column.get(row) for column in columns.values())]
        lines.append(f"| {' | '.join('' if cell is None else str(cell) for cell in cells)} |")
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str]) -> None:
    columns: dict[str, Measured] = {}
    with brokers.resolve(None) as reference:
        assert reference.embedded is not None
        around = Around(Admin(reference.embedded.admin_url), reference.embedded.leap)
        columns["reference broker"] = measured(reference, around)
    for node in map(Node.parse, argv):
        with brokers.resolve(node.url) as real:
            admin = Admin(node.admin, real.target.vhost) if node.admin else None
            column = measured(real, Around(admin, general=node.consumer_timeout))
            columns[real.name] = {**columns.get(real.name, {}), **column}
    PAGE.write_text(HEAD + table(columns), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
