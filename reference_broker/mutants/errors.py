"""x"""
from reference_broker.mutants.kinds import Mutant

MUTANTS: list[Mutant] = []
