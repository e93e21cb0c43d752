"""Client libraries as witnesses: what they show their applications of each rule, and what they hide."""
