"""The sockets of the suite. A driver sends what it is given, reports what it receives, and judges nothing."""
