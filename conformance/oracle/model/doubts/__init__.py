"""What a history leaves open: races, gaps and crashes, and what is no longer believed after a fault."""
