"""Turns what a run found into results: the ledger, the gate, the terminal report, results.json."""
