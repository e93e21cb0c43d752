"""State machines that draw random histories from an alphabet of commands; the monitors judge them."""
