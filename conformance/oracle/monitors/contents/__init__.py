"""Contents: properties, bodies, gets and returns."""
