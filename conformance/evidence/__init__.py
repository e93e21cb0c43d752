"""Makes the evidence for a finding: the minimal exchange, the same exchange in words, and scripts that replay it."""

from conformance.evidence.beside import states
from conformance.evidence.narrative import describe, interest, steps, transcript
from conformance.evidence.slicing import AGAIN, BUDGET, introduced, minimal

__all__ = ["AGAIN", "BUDGET", "describe", "interest", "introduced", "minimal", "states", "steps", "transcript"]
