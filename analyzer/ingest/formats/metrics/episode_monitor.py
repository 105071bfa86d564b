"""Episodes as Gym's ``Monitor`` writes them, and Stable-Baselines after it: ``monitor.csv``, ``0.monitor.csv``.

    #{"t_start": 1700000000.5, "env_id": "CartPole-v1"}
    r,l,t                                                   reward, length and seconds since the start, one row per episode
    21.0,21,0.37

The step of an episode is that of the environment at its end, counted from the first row of the file.
"""

from __future__ import annotations

import math

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.metric_columns import MetricColumns, unix_seconds
from analyzer.ingest.scalar_text import json_object, metric_number, metric_value
from analyzer.ingest.source_text import bounded_lines, decode

_COLUMNS = ("r", "l", "t")

LONGEST = 4_096
"""A longer line is no row of numbers."""


class EpisodeMonitor:
    """Reads rewards and lengths of episodes."""

    def sniff(self, candidate: Candidate) -> Match:
        """A comment that holds the time of the start, and below it the three columns."""
        lines = decode(candidate.head[: 2 * LONGEST]).lstrip("\ufeff").split("\n", 2)
        if len(lines) < 2 or _started(lines[0]) is None:
            return Match.NO
        return Match.SURE if tuple(lines[1].strip().split(",")[:3]) == _COLUMNS else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """One point of reward and of length an episode."""
        columns, step, odd = MetricColumns(out), 0, 0
        started = None
        for number, raw in bounded_lines(source, out):
            text = decode(raw[:LONGEST]).strip()
            if text.startswith("#"):
                started = _started(text)
                continue
            cells = [metric_number(cell) for cell in text.split(",")[:3]]
            if tuple(text.split(",")[:3]) == _COLUMNS or not text:
                continue
            if not raw.endswith(b"\n") or len(cells) < 3 or None in cells:  # the last row may be cut
                odd += 1
                continue
            reward, length, seconds = (math.nan if cell is None else cell for cell in cells)
            step += int(length) if 0 <= length < 1e12 else 0
            time_s = unix_seconds(None if started is None else started + seconds)
            columns.add("episode_reward", reward, step=step, line=number, time_s=time_s)
            columns.add("ep_len", length, step=step, line=number, time_s=time_s)
        if odd:
            out.gap("rows that are no episode, or cut", rows_lost=odd)
        columns.flush()


def _started(line: str) -> float | None:
    """The unix time in the comment of the first line; None if it is another comment."""
    if not line.startswith("#{") or len(line) > LONGEST:
        return None
    told = json_object(line[1:])
    return None if told is None else metric_value(told.get("t_start"))
