"""Runs the suite against brokers whose faults are known (mutants, lawful chaos), and shows a finding on them."""
