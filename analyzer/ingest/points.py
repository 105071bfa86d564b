"""The points of one metric that a log gives one by one, in bounded memory.

A log of many gigabytes holds millions of points of each metric. The first ``MAX_POINTS`` are kept as they
are; whenever there are more, every second one is dropped. Kept are, with their neighbours, the smallest and
the largest value of every ``SPAN`` points, every point where a run of NaN or infinite values begins or ends
(so a single NaN among numbers is never lost) and every point where the step falls back (a restart).
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from analyzer.model.arrays import Integers, Mask, Values

MAX_POINTS = 40_960
"""Points kept of a metric: 32 bytes each, several times over while they become a table. More than any detector or plot needs; a
log of any length with a dozen metrics is read within 150 MB."""

MAX_POINTS_OF_FILE = 4_000_000
"""Points kept of all metrics of one table: 130 MB here, and as much again where they become one table of the run. A table
of 3,000 columns has as many rows of none."""

SPAN = 256
"""Points of which the extremes are kept: with neighbours, 2 % more than a plain half."""


class Points:
    """Growing columns, of which the caller may read all and append through the methods.

    Attributes:
        steps: int64; ``NULL_INT`` where no step was logged.
        values: float64.
        lines: int64; 0 where unknown.
        times_s: float64; NaN where unknown.
        dropped: Points left out so far.
    """

    __slots__ = ("dropped", "limit", "lines", "steps", "times_s", "values")

    def __init__(self, limit: int = MAX_POINTS) -> None:
        self.limit = limit
        self.steps = array("q")
        self.values = array("d")
        self.lines = array("q")
        self.times_s = array("d")
        self.dropped = 0

    def add(self, step: int, value: float, line: int, time_s: float) -> None:
        """Append one point."""
        self.steps.append(step)
        self.values.append(value)
        self.lines.append(line)
        self.times_s.append(time_s)
        if len(self.values) > self.limit:
            self.thin()

    def extend(self, steps: Integers, values: Values, lines: Integers, times_s: Values) -> None:
        """Append many points, as if one by one; all arrays have shape (n_points,)."""
        done = 0
        while done < values.size:
            end = done + self.limit + 1 - len(self.values)
            self.steps.frombytes(np.ascontiguousarray(steps[done:end]).tobytes())
            self.values.frombytes(np.ascontiguousarray(values[done:end]).tobytes())
            self.lines.frombytes(np.ascontiguousarray(lines[done:end]).tobytes())
            self.times_s.frombytes(np.ascontiguousarray(times_s[done:end]).tobytes())
            done = end
            if len(self.values) > self.limit:
                self.thin()

    def arrays(self) -> tuple[Integers, Values, Integers, Values]:
        """Steps, values, lines and times; while they are in use, no further point can be added."""
        # a reader that was interrupted may have left its last point unfinished
        whole = min(len(self.steps), len(self.values), len(self.lines), len(self.times_s))
        if not whole:
            return np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64), np.zeros(0)
        return (
            np.frombuffer(self.steps, np.int64, whole),
            np.frombuffer(self.values, np.float64, whole),
            np.frombuffer(self.lines, np.int64, whole),
            np.frombuffer(self.times_s, np.float64, whole),
        )

    def thin(self) -> None:
        """Drop about half of the points."""
        steps, values, lines, times_s = self.arrays()
        kept = kept_when_halved(steps, values)
        if int(kept.sum()) > self.limit * 3 // 4:  # every second value is NaN: a plain half tells that too
            kept = np.arange(values.size) % 2 == 0
            kept[-1] = True
        fewer = (
            array("q", steps[kept].tobytes()),
            array("d", values[kept].tobytes()),
            array("q", lines[kept].tobytes()),
            array("d", times_s[kept].tobytes()),
        )
        self.dropped += int(values.size - kept.sum())
        self.steps, self.values, self.lines, self.times_s = fewer  # at once: nothing comes between


def told_of_dropped(counts: Sequence[int]) -> str:
    """What is said of the points that were left out of each metric of a file."""
    return (
        f"long log: {sum(counts)} points of {len(counts)} metrics are left out; extremes, restarts and"
        " the borders of NaN are kept with their neighbours, of the rest every n-th point"
    )


def kept_when_halved(steps: Integers, values: Values) -> Mask:
    """Which points stay when every second one goes.

    Args:
        steps: int64, shape (n_points,).
        values: float64, shape (n_points,); at least one.

    Returns:
        bool, shape (n_points,).
    """
    count = values.size
    finite = np.isfinite(values)
    marked = np.zeros(count, np.bool_)
    marked[[0, -1]] = True
    marked[1:] |= (finite[1:] != finite[:-1]) | (steps[1:] < steps[:-1])
    for fill, pick in ((np.inf, np.argmin), (-np.inf, np.argmax)):
        whole = np.full(-(-count // SPAN) * SPAN, fill)
        whole[:count] = np.where(finite, values, fill)
        rows = pick(whole.reshape(-1, SPAN), axis=1)
        marked[np.minimum(rows + np.arange(rows.size) * SPAN, count - 1)] = True
    kept = marked.copy()
    kept[1:] |= marked[:-1]
    kept[:-1] |= marked[1:]
    kept[::2] = True
    return kept
