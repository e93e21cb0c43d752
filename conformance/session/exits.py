"""Exit codes, and the one exception that ends a run before it has verdicts.

The same numbers are used by the command line and, where pytest lets us, by a pytest run of the suite.
"""

from __future__ import annotations

GATE_OPEN = 0
GATE_CLOSED = 1
WRONG_USE = 2
UNREACHABLE = 3
HARNESS_ERROR = 4
INTERRUPTED = 130

MEANING = {
    GATE_OPEN: "gate open",
    GATE_CLOSED: "gate closed: broken rules outside the deviations, stale or expired deviations",
    WRONG_USE: "wrong use: URL, option, profile or file",
    UNREACHABLE: "broker unreachable, login refused, or gone half-way",
    HARNESS_ERROR: "a fault of this suite; nothing is said about the broker",
    INTERRUPTED: "interrupted; everything recorded so far is kept",
}


class Refused(Exception):
    """The run cannot go on. The message is one paragraph that says what is wrong and what to type instead."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def reason(problem: Exception) -> str:
    """What is wrong with a file, without the number and the name that the system puts before and after it."""
    return getattr(problem, "strerror", None) or str(problem)
