"""`python -m conformance.cli`."""

from conformance.cli.command import entry

if __name__ == "__main__":
    entry()
