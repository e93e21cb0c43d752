"""Behind the front door: what the pytest plugin and the command line share."""
