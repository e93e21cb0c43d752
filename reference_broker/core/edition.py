"""What a broker says that it is, and the numbers and names that go with it: the data of a dialect.

What it does otherwise than the texts say is no data: those are the overrides in `dialects/`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from codec.errors import ReplyCode

MEBIBYTE = 1 << 20
Series = Literal["3.8", "3.10", "4.0", "4.3"]


@dataclass(frozen=True, slots=True)
class Edition:
    name: str = "documented"
    product: str = "amqp-conformance reference"
    version: str = ""
    """Empty: the version of this package."""
    policies: Series = "4.3"
    """Whose settings a policy may have: see `policies`."""
    delivery_limit: int | None = 20
    """Of a quorum queue that is declared without one."""
    max_message: int = 128 * MEBIBYTE
    smallest_frame_max: int = 4096
    """The least that a client may want."""
    unknown_exchange_type: ReplyCode = ReplyCode.COMMAND_INVALID


DOCUMENTED = Edition()
