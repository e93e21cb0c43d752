"""Broken inputs for the core of the broker, and a siege of its sockets: `python -m benchmarks.fuzz`."""
