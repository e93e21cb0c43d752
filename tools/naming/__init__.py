"""Measures, for every mutant, whether the report names the fault that the mutant has."""
