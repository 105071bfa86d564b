"""The option ``--fail-on``, which ``diagnose`` and ``triage`` share."""

from __future__ import annotations

from enum import StrEnum


class FailOn(StrEnum):
    """When a finding makes the command exit with 1."""

    never = "never"
    possible = "possible"
    likely = "likely"

    @property
    def threshold(self) -> float:
        """Least probability of such a finding; above 1 if none counts."""
        return {FailOn.possible: 0.3, FailOn.likely: 0.6}.get(self, 2.0)
