"""Dead letters: what is known of messages that die, what brings that about, and which must have arrived by now."""
