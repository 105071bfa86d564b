"""Exit codes of the command line: a contract, documented in the README and tested."""

from __future__ import annotations

DONE = 0
"""The run was read and judged, whatever the judgement."""

FINDING = 1
"""A finding at or above ``--fail-on``."""

USAGE = 2
"""Wrong usage of the command line."""

UNREADABLE = 3
"""Nothing could be read or parsed; never to be taken for healthy."""

RULES_INVALID = 4
"""A rule pack, a rule or one of its cases is wrong."""

INCOMPLETE = 5
"""A triage is finished, but some of its runs could not be diagnosed, or a shard is missing."""

OUR_BUG = 70
"""A bug in analyzer (EX_SOFTWARE)."""

INTERRUPTED = 130
"""Ended by Ctrl-C, as shells report it."""
