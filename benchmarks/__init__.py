"""Side by side with others, in one run: only ratios are results, for machines differ and so do hours."""
