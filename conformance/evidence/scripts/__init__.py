"""The source of the scripts that come with a case: a player, and a connection for each client library.

They know nothing else of this package, for they leave it: `conformance.evidence.emit` puts them, with the reproducer of
a case, into one file. `player` is also what `replay` plays a case with. No wire is ever imported here.
"""
