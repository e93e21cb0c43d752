"""The one runner: finds the scenes and machines of the suite, plays them on a bench, and ends every history alike."""
