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
    GATE_CLOSED: "gate closed: a rule is broken and no known deviation, or the list of deviations is wrong",
    WRONG_USE: "wrong use: URL, option, profile or file",
    UNREACHABLE: "the broker cannot be reached, refuses the login, or disappeared during the run",
    HARNESS_ERROR: "the suite itself failed; this says nothing about the broker",
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
