"""What was confirmed is kept: an append-only log of segments, one fsync per group, recovered after any crash."""
