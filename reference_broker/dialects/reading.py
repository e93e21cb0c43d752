"""How frames are put together that do not fit together."""

from __future__ import annotations

import codec
from reference_broker.dialects.kinds import Behaviour, does
from reference_broker.intake import Intake

BEHAVIOURS: list[Behaviour] = []
NEVER = 1 << 62
"""More octets than will ever come."""


@does(
    "intake",
    BEHAVIOURS,
    "reading.longer-body-awaited",
    "after a body that is longer than announced the broker waits for more of it",
    until="4.0",
)
class LongerBodyAwaited(Intake):
    def on_content(self, number: int, frame: codec.Header | codec.Body) -> None:
        assembly = self.assemblies.get(number)
        due = assembly.missing if assembly is not None and assembly.header is not None else NEVER
        if isinstance(frame, codec.Body) and assembly is not None and len(frame.payload) > due:
            assembly.missing = NEVER
        else:
            super().on_content(number, frame)
