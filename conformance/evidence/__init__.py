"""Evidence: what shows a finding to a reader. The minimal exchange, and events in words."""

from conformance.evidence.beside import states
from conformance.evidence.narrative import describe, interest, steps, transcript
from conformance.evidence.slicing import introduced, minimal

__all__ = ["describe", "interest", "introduced", "minimal", "states", "steps", "transcript"]
