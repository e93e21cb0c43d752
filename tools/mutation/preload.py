"""Imported once in the process from which exams are forked: all that they need."""

from conformance.drive.run.plays import plays
from tools.mutation import campaign, exam, survey

__all__ = ["campaign", "exam", "survey"]
plays()
