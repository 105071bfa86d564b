"""Makers of the committed sample runs: real, tiny training runs that fail for a known cause."""
