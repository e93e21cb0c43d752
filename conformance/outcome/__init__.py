"""What a run found: the ledger, results, the gate, and how they are shown and kept."""
