"""Makes wrong brokers by machine: each mutates the reference broker's core, and a trigger decides when the fault shows.

A mutation that always shows is found; what hides is a fault that shows only sometimes. So the mutated place of the code
asks its trigger each time (`live.py`), and is the honest place while that says no. `sites.py` finds the places,
`triggers.py` has the triggers, `install.py` puts both into the broker of this process, `exam.py` lets the suite
examine it in a process of its own (`child.py`) by the checks that reach the place (`survey.py`), `campaign.py` draws by
seed and carries on, and `curve.py` counts.
"""
