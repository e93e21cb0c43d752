"""Is the fault that a broker has the one that is named? Asked of every mutant of the reference broker."""
