"""One run of the suite in pytest: options, the broker, the checks, and how each is played."""
