"""Pace and memory from a handful of rows, whatever the words: slower and slower, waiting for data, growing memory."""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, refs_at
from analyzer.detect.curve import align
from analyzer.detect.curves.trend import trend
from analyzer.detect.robust import slower_at_best
from analyzer.detect.speed.times import unit_times, within_a_minute
from analyzer.lazy_regex import LazyRegex
from analyzer.model.arrays import Values
from analyzer.model.name_words import word_set, words_of
from analyzer.model.ranked import median_of

ROWS = 6
"""Rows in which a slow-down shows: thirds of two, after the first, which holds the start of everything."""

SLOWER = 1.2
"""A fifth more time for the same work; neighbouring rows of a steady run differ by a twentieth."""

LEAST_S = 0.01
"""Seconds a row by which a printed time must grow; below, the load of the host decides."""

SORTED = 2.0
"""Deviations by which the order of all pairs must tell a rise: one chance in forty, beside the difference of the ends."""

GROWS, GROWS_ROWS = 1.3, 6
"""Memory that gains a third over six rows without ever giving back."""

TREMBLES_ROWS, RISES = 20, 0.02
"""Rows from which memory that trembles is judged by its fifths, each of which must gain two percent of the first one."""

SHRINKS = 0.995
"""Free memory that falls in every row, by half a percent and more in all: little, and never given back."""

WAIT_ROWS = 2
"""Rows of a printed wait beside a printed time of the work."""

SLOW_TOKENS = 1000.0
"""Tokens a second of any model that fits a GPU: a CPU, or a batch of few samples, gives less."""

_WAIT = word_set("data load loading loader dataload dataloading dataloader reader read fetch io input")
_WORK = word_set("train training batch iter iteration step compute forward fwd model gpu total net tot")
_TIME = word_set("time cost secs sec seconds s t took elapsed duration latency")
_MEMORY = LazyRegex(r"(?i)(?:^|[\W_])(?:mem|memory|ram|rss|vram|maxrss)(?:[\W_\d]|$)|memory")
_FREE = word_set("free available avail left")
_REMEMBERED, _BYTES = (
    word_set("size len length count buffer replay entries items"),
    word_set("mb gb mib gib bytes b"),
)
"""The memory of an agent is counted in what it remembers: ``memory_size``, ``replay_memory``."""
_LIMIT = word_set("total limit capacity max peak")

_OF_GPU, _OF_HOST = word_set("gpu cuda vram hbm nvidia"), word_set("cpu host rss maxrss ram process proc")


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.pace.*``."""
    _slower(out, view)
    tokens = unit_times(view.curve("tokens_per_second"), 1)
    if tokens is not None:
        slow = float(median_of(tokens.value)) < SLOW_TOKENS
        out.put("tokens_slow", slow, end_of(tokens))
    _waits(out, view)
    _memory(out, view)


def _slower(out: FactWriter, view: RunView) -> None:
    """Seconds for the same work, in the first series that tells them."""
    for name, inverse in (
        ("step_time_s", False), ("tokens_per_second", True), ("samples_per_second", True), ("steps_per_second", True),
        *((name, False) for name in sorted(view.run.metrics.names) if _is_time(name)),
    ):  # fmt: skip
        series = unit_times(view.curve(name), 1)
        if series is None:
            continue
        if len(series) <= ROWS:
            continue
        values = (1.0 / series.value if inverse else series.value)[1:]
        third = len(values) // 3
        early, late = float(median_of(values[:third])), float(median_of(values[-third:]))
        numbers = trend(values)
        ordered = numbers is not None and (
            numbers.order >= SORTED or values[-third:].min() > values[:third].max()
        )
        told = not within_a_minute(series)
        if told:
            out.put("change", late / early, refs_at(series, [len(series) - 1, 1]))
        grows = late >= SLOWER * early and (inverse or late - early >= LEAST_S)
        lasting = ordered and slower_at_best(values) and told
        out.put("slower", grows and lasting, refs_at(series, [len(series) - 1, 1]))
        return


def _is_time(name: str) -> bool:
    """A time that a row took, by its words; one of a part of the work (loading, evaluation) is none."""
    words = set(words_of(name))
    return name in {"time", "time_s", "epoch_time", "epoch_time_s", "seconds"} or bool(
        words & {"time", "seconds", "secs", "sec", "took", "minutes"}
        and words & {"iter", "iteration", "step", "batch", "epoch", "train"}
        and not words
        & (_WAIT | {"eval", "val", "valid", "test", "total", "elapsed", "eta", "left", "remaining"})
    )


def _waits(out: FactWriter, view: RunView) -> None:
    """The share of a wait for data in the time of a step, where both are printed in words of the program's own."""
    if view.curve("data_time_s") is not None and view.curve("step_time_s") is not None:
        return  # ``step_speed`` judges these
    names = sorted(view.run.metrics.names)
    waits = [n for n in names if n == "data_time_s" or _waits_by_words(n)]
    works = [n for n in names if n == "step_time_s" or _works_by_words(n)]
    for wait_name in waits:
        for work_name in works:
            wait, work = view.curve(wait_name), unit_times(view.curve(work_name), WAIT_ROWS)
            if wait is None or work is None:
                continue
            match = align(work, wait)
            rows = np.flatnonzero(match >= 0)
            if rows.size < WAIT_ROWS:
                continue
            waited, worked = wait.value[match[rows]], work.value[rows]
            whole = worked if "total" in words_of(work_name) or (worked >= waited).all() else worked + waited
            share = float(median_of(waited / whole))
            if np.isfinite(share) and 0 <= share <= 1:
                out.put("wait_share", share, refs_at(work, rows[-2:]))
                return


def _waits_by_words(name: str) -> bool:
    words = set(words_of(name))
    return bool(words & _WAIT) and words <= _WAIT | _TIME | {"avg", "mean", "train"}


def _works_by_words(name: str) -> bool:
    words = set(words_of(name))
    return bool(words & _WORK) and words <= _WORK | _TIME | {"avg", "mean"}


def _memory(out: FactWriter, view: RunView) -> None:
    for name in sorted(view.run.metrics.names):
        words = set(words_of(name))
        if (
            name.startswith("system")
            or not _MEMORY.search(name)
            or words & {"reserved", "fragmentation", "percent"}
            or (words & _REMEMBERED and not words & _BYTES)
        ):
            continue
        series = unit_times(view.curve(name), GROWS_ROWS)
        if series is None:
            continue
        values = series.value[1:]  # caches fill in the first step
        steps = np.diff(values)
        if words & _FREE:
            grows = bool((steps < 0).all()) and float(values[-1]) <= SHRINKS * float(values[0])
        elif words & _LIMIT and not (steps > 0).all():
            continue
        else:
            kept = bool((steps >= 0).all()) and float((steps > 0).mean()) >= 0.5
            grows = (kept or _rises_throughout(values)) and float(values[-1]) >= GROWS * float(values[0])
        refs = refs_at(series, [len(series) - 1, 1])
        out.put("memory_grows", grows, refs)
        if grows:
            out.put("memory_ratio", float(values[-1] / values[0]), refs)
            out.put("memory_name", series.logged_as, refs)
            if words & (_OF_GPU | _OF_HOST):
                out.put("memory_of_gpu", bool(words & _OF_GPU), refs)
            return


def _rises_throughout(values: Values) -> bool:
    """Whether each fifth stands clearly above the one before, as of memory whose samples scatter a little."""
    if values.size < TREMBLES_ROWS:
        return False
    fifths = np.array([float(median_of(part)) for part in np.array_split(values, 5)])
    scatter = float(median_of(np.abs(np.diff(values))))
    return bool((np.diff(fifths) > max(scatter, RISES * fifths[0])).all())
