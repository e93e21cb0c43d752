"""Publishing: confirms and transactions."""
