"""Runs that lie on a W&B server: their addresses, their download into a cache, and lists of them.

``address`` tells what a text points at, ``runs`` is what others call (``fetch_run``, ``list_runs``).
The ``wandb`` package is imported in a process of its own only (``worker``); what it brings is a run directory that the
ingestors read like any other.
"""
