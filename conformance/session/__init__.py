"""A run as a whole: what happens to the broker in it, and what is kept of that."""
