"""Talks to the broker: sockets, the stage where a history is made, probes, the pulse, scenes, machines, time limits."""
