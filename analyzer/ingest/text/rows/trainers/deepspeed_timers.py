"""DeepSpeed's breakdown of a step (``wall_clock_breakdown``), per micro-step and per step.

    [...] [logging.py:96:log_dist] [Rank 0] rank=0 time (ms) | fwd_microstep: 31.66 | bwd_microstep: 36.61 | bwd_inner_microstep: 36.45 | ...
    [...] [logging.py:96:log_dist] [Rank 0] time (ms) | fwd: 63.30 | bwd: 73.25 | bwd_inner: 72.96 | bwd_allreduce: 0.26 | step: 9.82

``bwd`` holds ``bwd_inner`` and ``bwd_allreduce``; a breakdown that was not collected prints zeros.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.ingest.text.log_line import WritesAtOnce
from analyzer.ingest.text.rows.printed_numbers import NUMBER, parse_number
from analyzer.lazy_regex import LazyRegex

if TYPE_CHECKING:
    from analyzer.ingest.text.log_line import LogLine, LogState

_ENTRY = LazyRegex(rf"\b(?P<name>[a-z_]{{3,40}}): (?P<value>{NUMBER})(?= \||\s*$)")
_NAMES = {"fwd": "fwd_ms", "bwd": "bwd_ms", "bwd_allreduce": "allreduce_ms", "step": "optimizer_ms"}


class DeepSpeedTimers(WritesAtOnce):
    """Reads the lines of a breakdown."""

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        _, found, entries = line.raw.partition("time (ms) | ")
        if not found:
            return False
        for match in _ENTRY.finditer(entries):
            name = _NAMES.get(match["name"].removesuffix("_microstep"))
            value = parse_number(match["value"])
            if name is not None and value:
                # a micro-step is a part of a step: its own series
                suffix = "@microstep" if match["name"].endswith("_microstep") else ""
                log.metric(f"{name}{suffix}", value, line, log.step)
        return True
