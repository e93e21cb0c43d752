"""The exam: what talks to a broker. A stage on which a history is made, what is asked and watched beside it, and limits
of time."""
