"""The mark that ties a scene to its rules.

The plugin reads it: the ids decide whether the scene runs and which findings fail it, the queue types on how many
kinds of queue it is staged, the depth from which `--depth` on it runs.
"""

from __future__ import annotations

from typing import Literal

import pytest

QueueType = Literal["classic", "quorum"]
Depth = Literal["smoke", "ci", "deep"]
EVERY: tuple[QueueType, ...] = ("classic", "quorum")


def rule(
    *ids: str,
    queue_types: tuple[QueueType, ...] = EVERY,
    depth: Depth = "smoke",
    families: tuple[str, ...] = (),
    last: bool = False,
    parts: int = 1,
) -> pytest.MarkDecorator:
    """`pytest.mark.rule(*ids, queue_types=..., depth=...)`, with its arguments checked.

    A machine names no ids but the `families` that it is there for: it runs when a rule of theirs is selected. What is
    known to have broken a broker down, a queue taken away from its consumers, be it those of a channel that had
    failed, is played `last`. Checks that are `parts` of one share its time.
    """
    return pytest.mark.rule(*ids, queue_types=queue_types, depth=depth, families=families, last=last, parts=parts)
