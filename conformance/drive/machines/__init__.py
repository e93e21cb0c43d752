"""State machines: random histories over an alphabet of commands, for the monitors to judge."""
