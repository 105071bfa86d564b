"""Exit codes of the command line, a contract, documented in the README and tested; and the option ``--fail-on``."""

from __future__ import annotations

from enum import StrEnum

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


class FailOn(StrEnum):
    """When a finding makes the command exit with 1."""

    never = "never"
    possible = "possible"
    likely = "likely"

    @property
    def threshold(self) -> float:
        """Least probability of such a finding; above 1 if none counts."""
        return {FailOn.possible: 0.3, FailOn.likely: 0.6}.get(self, 2.0)
