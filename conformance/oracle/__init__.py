"""The pure judge: a model of what the wire proves, monitors that find and count, and verdicts. No clock, no files."""
