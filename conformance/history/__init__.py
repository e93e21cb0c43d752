"""What happened: wire events, what numbers them, and files of them. No judgement."""
