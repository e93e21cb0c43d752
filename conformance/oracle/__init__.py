"""The pure judge: a model of what the wire proves, monitors that judge it, and verdicts. No clock, no files."""
