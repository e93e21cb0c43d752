"""Sources of the scripts that a case brings along: a player, and a wire for each client library.

They know nothing of this package, because they leave it: `conformance.evidence.emit` puts them, with the story of a
case, into one file. `player` is also what `replay` plays a case with. No wire is ever imported here.
"""
