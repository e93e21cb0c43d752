"""Two runs, or two brokers, and what they disagree on."""
