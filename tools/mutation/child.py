"""A function in a process of its own, which is ended in time whatever it does: a wrong broker may hang its thread.

Processes are forked from one that has loaded the suite and has no threads, so each begins within milliseconds.
"""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Callable, Sequence
from functools import cache
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from typing import Any, TypeVar

T = TypeVar("T")
Answer = dict[str, Any]
Send = Callable[[Answer], None]
TROUBLE = "trouble"
"""Where this is in the answer, the function failed, and this tells how."""


@cache
def _context(preload: Sequence[str]) -> ForkServerContext:
    context = get_context("forkserver")
    context.set_forkserver_preload(list(preload))
    return context


def bounded(function: Callable[[T, Send], None], argument: T, seconds: float, preload: Sequence[str]) -> Answer | None:
    """What the function sent first; None where that took longer."""
    context = _context(tuple(preload))
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(function, argument, there), daemon=True)
    process.start()
    there.close()
    try:
        if not here.poll(seconds):
            return None
        answer: Answer = here.recv()
    except EOFError:
        return {TROUBLE: "the process ended without an answer"}
    finally:
        process.kill()
        process.join()
        here.close()
    return answer


def _run(function: Callable[[T, Send], None], argument: T, answers: Connection) -> None:
    """Defects of a wrong broker are expected, and are not logged."""
    logging.disable()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        function(argument, answers.send)
    except Exception:
        answers.send({TROUBLE: traceback.format_exc()})
