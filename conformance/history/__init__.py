"""Records what happened: wire events, their order, and recordings in files. It judges nothing."""
