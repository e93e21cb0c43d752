"""Compares two runs, or two brokers, and reports where they disagree."""
