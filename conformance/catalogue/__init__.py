"""What is promised, as data: rules, how profiles read what is left open, known deviations. It knows nothing of ours."""
