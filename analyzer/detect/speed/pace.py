"""Pace and memory from a handful of rows, whatever the words: slower and slower, waiting for data, growing memory."""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, refs_at
from analyzer.detect.curve import align
from analyzer.detect.curves.trend import trend
from analyzer.detect.robust import slower_at_best
from analyzer.detect.setup.run_course import reward_metrics
from analyzer.detect.speed.times import unit_times, within_a_minute
from analyzer.lazy_regex import LazyRegex
from analyzer.model.arrays import Integers, Mask, Values
from analyzer.model.name_words import read_name, word_set, words_of
from analyzer.model.ranked import median_of
from analyzer.model.refs import SourceRef
from analyzer.model.score_words import read_score
from analyzer.model.tables import Series

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

CREEPS_ROWS, CREEPS_SORTED, CREEPS, STILL_RISES = 9, 2.5, 1.05, 0.7
"""Nine rows, the order of whose pairs is one chance in eighty, a twentieth gained from their first to their last third, and the later
half of that no smaller than seven tenths of the earlier: a cache that fills up gains less and less."""

TABLES = 4
"""Tables of the host's memory of which each shows more in use than the one before: one order in twenty-four, beside a third gained."""

SHRINKS = 0.995
"""Free memory that falls in every row, by half a percent and more in all: little, and never given back."""

DROP_ROWS, DEEP, MIN_DROPS, HALF = 9, 8.0, 3, 0.5
"""Eight rows behind the first; three that take eight times as long as usual, which no jitter of a step does over the steps of a row, and
together half of the time. Two always lie at some regular distance, that of saves or of evaluations that no line tells."""

FEW_DROPS, OFTEN, UNLIKE = 2, 0.1, 1.5
"""Two rows tell it where they are a tenth of all and one takes half as long again as the other: planned work takes the same time each time."""

GRID = 0.1
"""Distances that differ by a tenth are a grid that a counter of rows does not hit exactly."""

_PLANNED = ("checkpoint_saved", "phase_started")
"""Work beside the training that a program tells of."""

_SPEEDS = (
    ("step_time_s", False),
    ("tokens_per_second", True),
    ("samples_per_second", True),
    ("steps_per_second", True),
)
"""What programs print of their speed, and whether less of it is slower."""

WAIT_GROWS = 1.5
"""Half again the wait for data of the first rows: a loader that falls behind, as its files, its cache or its memory do."""

WAIT_TREMBLES = 0.25
"""Share of that growth by which neighbouring rows may differ: beyond it the load of the host decides, whatever the order of the rows."""

WAIT_ROWS = 2
"""Rows of a printed wait beside a printed time of the work."""

SLOW_TOKENS = 1000.0
"""Tokens a second of any model that fits a GPU: a CPU, or a batch of few samples, gives less."""

_WAIT = word_set("data load loading loader dataload dataloading dataloader reader read fetch io input")
_WORK = word_set("train training batch iter iteration step compute forward fwd model gpu total net tot")
_TIME = word_set("time cost secs sec seconds s t took elapsed duration latency")
_SHARES = word_set("share fraction frac ratio percent pct percentage")
_LOADED = word_set("data dataload dataloading dataloader loader input reader")
_WAITED = word_set("wait waiting waited stall time load loading dataload dataloading dataloader loader fetch")
_MEMORY = LazyRegex(r"(?i)(?:^|[\W_])(?:mem|memory|ram|rss|vram|maxrss|vmrss)(?:[\W_\d]|$)|memory")
_FREE = word_set("free available avail left")
_REMEMBERED, _BYTES = (
    word_set("size len length count buffer replay entries items"),
    word_set("mb gb mib gib bytes b"),
)
"""The memory of an agent is counted in what it remembers: ``memory_size``, ``replay_memory``."""
_OF_AGENT, _BUFFERS = (
    word_set("replay reward rewards episode episodes"),
    ("replay_size", "replay_buffer_size", "replay_capacity", "replay_memory_size"),
)
_LIMIT = word_set("total limit capacity max peak")
_NOT_IN_USE = word_set(
    "reserved fragmentation percent required requires needed needs estimate estimated expected planned"
)
"""A plan of memory adds up layer by layer, and none of it was taken yet."""

_OF_GPU, _OF_HOST = (
    word_set("gpu cuda vram hbm nvidia"),
    word_set("cpu host rss maxrss vmrss ram process proc"),
)


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.pace.*``."""
    _slower(out, view)
    tokens = unit_times(view.curve("tokens_per_second"), 1)
    if tokens is not None:
        slow = float(median_of(tokens.value)) < SLOW_TOKENS
        out.put("tokens_slow", slow, end_of(tokens))
    _deep_drops(out, view)
    _waits(out, view)
    _wait_grows(out, view)
    _memory(out, view)


def _slower(out: FactWriter, view: RunView) -> None:
    """Seconds for the same work, in the first series that tells them."""
    for name, inverse in (
        *_SPEEDS,
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


def _deep_drops(out: FactWriter, view: RunView) -> None:
    """Rows whose work took many times as long as usual, and together half of the time, in a run without evaluations that could explain them."""
    if any(_of_held_out(name) for name in view.run.metrics.names):
        return
    for name, inverse in _SPEEDS:
        series = unit_times(view.curve(name), DROP_ROWS)
        if series is None:
            continue
        values = (
            1.0 / series.value[1:] if inverse else series.value[1:]
        )  # the first holds the start of everything
        usual = float(median_of(values))
        deep = np.flatnonzero(values >= DEEP * usual)
        deep = deep[~_beside_planned_work(view, series, deep + 1)]
        share = float(values[deep].sum()) / float(values.sum())
        seen = share >= HALF and _at_odd_times(deep, values)
        refs = refs_at(series, [int(row) + 1 for row in deep[:3]])
        out.put("deep_drops", int(deep.size) if seen else 0, refs)
        if seen:
            out.put("deep_share", share, refs)
        return


def _of_held_out(name: str) -> bool:
    """Whether a series is one of evaluations, by the words of its name."""
    return read_name(name).phase == "eval" or read_score(name).phase == "eval"


def _beside_planned_work(view: RunView, series: Series, rows: Integers) -> Mask:
    """Which rows have a save or the beginning of an evaluation between the row before and the row behind them, or at their step."""
    planned = view.events(*_PLANNED)
    steps = np.array([event.step for event in planned if event.step is not None], np.int64)
    beside: Mask = np.isin(series.step[rows], steps)
    for source in sorted({event.ref.source for event in planned}):
        lines = np.sort([event.ref.line or 0 for event in planned if event.ref.source == source])
        before, behind = series.line[rows - 1], series.line[np.minimum(rows + 1, len(series) - 1)]
        between = np.searchsorted(lines, behind, side="right") > np.searchsorted(lines, before)
        beside |= (series.source[rows] == source) & between
    return beside


def _at_odd_times(deep: Integers, values: Values) -> bool:
    """Whether slow rows come neither at a regular distance, as each epoch or each checkpoint does, nor as a mere pair of equal ones."""
    if deep.size >= MIN_DROPS:
        distances = np.diff(deep)
        return bool(np.ptp(distances) > GRID * distances.max())
    times = values[deep]
    return bool(
        deep.size == FEW_DROPS and deep.size >= OFTEN * values.size and times.max() >= UNLIKE * times.min()
    )


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
    """The share of a wait for data in the time of a step: as printed, or where both times are in words of the program's own."""
    if (told := _printed_share(view)) is not None:
        share = float(median_of(told.value)) / (100.0 if float(told.value.max()) > 1.0 else 1.0)
        out.put("wait_share", min(share, 1.0), end_of(told))
        return
    if view.curve("data_time_s") is not None and view.curve("step_time_s") is not None:
        return  # ``step_speed`` judges these
    names = sorted(view.run.metrics.names)
    waits = [n for n in names if _is_wait(n)]
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


def _printed_share(view: RunView) -> Series | None:
    """The first series that is a share of a wait by the name its logger wrote; no series is built where no name is one."""
    if not any(_is_wait_share(raw) for raw in view.run.metrics.raw_names):
        return None
    told = (view.finite(name, WAIT_ROWS) for name in sorted(view.run.metrics.names))
    return next((series for series in told if series is not None and _is_wait_share(series.logged_as)), None)


def _wait_grows(out: FactWriter, view: RunView) -> None:
    """Whether a printed wait for data grows from row to row, whatever the time of the work beside it."""
    for name in sorted(view.run.metrics.names):
        series = unit_times(view.curve(name), ROWS + 1) if _is_wait(name) else None
        if series is None:
            continue
        values = series.value[1:]
        third = len(values) // 3
        early, late = float(median_of(values[:third])), float(median_of(values[-third:]))
        numbers = trend(values)
        ordered = numbers is not None and numbers.order >= SORTED
        longer = late >= WAIT_GROWS * early and late - early >= LEAST_S and slower_at_best(values)
        calm = float(median_of(np.abs(np.diff(values)))) <= WAIT_TREMBLES * (late - early)
        grows = ordered and longer and calm
        refs = refs_at(series, [len(series) - 1, 1])
        out.put("wait_grows", grows, refs)
        if early > 0:
            out.put("wait_change", late / early, refs)
        return


def _is_wait(name: str) -> bool:
    return name == "data_time_s" or _waits_by_words(name)


def _is_wait_share(name: str) -> bool:
    """Whether a name says that it is the share of a wait for data: ``data_wait_pct``, ``dataloader fraction``; an expert's load is none."""
    words = set(words_of(name))
    return bool(
        words & _SHARES and words & _LOADED and words & _WAITED
    ) and words <= _SHARES | _LOADED | _WAITED | {"of", "avg"}


def _waits_by_words(name: str) -> bool:
    words = set(words_of(name))
    return bool(words & _WAIT) and words <= _WAIT | _TIME | {"avg", "mean", "train"}


def _works_by_words(name: str) -> bool:
    words = set(words_of(name))
    return bool(words & _WORK) and words <= _WORK | _TIME | {"avg", "mean"}


def _memory(out: FactWriter, view: RunView) -> None:
    remembers = _remembers(view)
    for name in sorted(view.run.metrics.names):
        words = set(words_of(name))
        if (
            name.startswith("system")
            or not _MEMORY.search(name)
            or words & _NOT_IN_USE
            or (words & _REMEMBERED and not words & _BYTES)
        ):
            continue
        series = unit_times(view.curve(name), GROWS_ROWS)
        if series is None:
            continue
        values = series.value[1:]  # caches fill in the first step
        if words & _LIMIT and not (np.diff(values) > 0).all():
            continue
        refs, free = refs_at(series, [len(series) - 1, 1]), bool(words & _FREE)
        grows = _falls_throughout(values) if free else _grows(values)
        creeps = not (grows or free or remembers) and _creeps(values)
        out.put("memory_grows", grows, refs)
        out.put("memory_creeps", creeps, refs)
        if grows or creeps:
            out.put("memory_ratio", float(values[-1] / values[0]), refs)
            out.put("memory_name", series.logged_as, refs)
            if words & (_OF_GPU | _OF_HOST):
                out.put("memory_of_gpu", bool(words & _OF_GPU), refs)
            return
    _used_by_tables(out, view)


def _remembers(view: RunView) -> bool:
    """Whether an agent learns, whose memory of what it saw fills up throughout a run as it is meant to."""
    words = {word for name in view.run.metrics.names for word in words_of(name)}
    return bool(reward_metrics(view) or words & _OF_AGENT) or view.setting(*_BUFFERS) is not None


def _used_by_tables(out: FactWriter, view: RunView) -> None:
    """The same of tables of the host's memory that somebody printed while it trained."""
    used: list[tuple[float, SourceRef]] = []
    for event in view.events("host_memory_use"):
        total, available = event.fields.get("total_gib"), event.fields.get("available_gib")
        if isinstance(total, float) and isinstance(available, float) and 0 <= available <= total:
            used.append((1 - available / total if total else 0.0, event.ref))
    shares = np.array([share for share, _ in used])
    if shares.size < TABLES or shares[0] <= 0:
        return
    refs = [used[0][1], used[-1][1]]
    grows = bool((np.diff(shares) > 0).all()) and float(shares[-1]) >= GROWS * float(shares[0])
    out.put("memory_grows", grows, refs)
    if grows:
        out.put("memory_ratio", float(shares[-1] / shares[0]), refs)
        out.put("memory_name", "memory of the host in use", refs)
        out.put("memory_of_gpu", value=False, refs=refs)


def _grows(values: Values) -> bool:
    """Whether memory gains a third without ever giving back, or with little scatter."""
    steps = np.diff(values)
    kept = bool((steps >= 0).all()) and float((steps > 0).mean()) >= 0.5
    return (kept or _rises_throughout(values)) and float(values[-1]) >= GROWS * float(values[0])


def _falls_throughout(values: Values) -> bool:
    """Whether free memory falls in every row."""
    return bool((np.diff(values) < 0).all()) and float(values[-1]) <= SHRINKS * float(values[0])


def _creeps(values: Values) -> bool:
    """Whether memory rises with some scatter, in its last third as much as before: pools that fill up rise less and less."""
    numbers = trend(values)
    if values.size < CREEPS_ROWS or numbers is None or numbers.order < CREEPS_SORTED:
        return False
    first, middle, last = (float(median_of(part)) for part in np.array_split(values, 3))
    return last >= CREEPS * first and last - middle >= STILL_RISES * (middle - first) > 0


def _rises_throughout(values: Values) -> bool:
    """Whether each fifth stands clearly above the one before, as of memory whose samples scatter a little."""
    if values.size < TREMBLES_ROWS:
        return False
    fifths = np.array([float(median_of(part)) for part in np.array_split(values, 5)])
    scatter = float(median_of(np.abs(np.diff(values))))
    return bool((np.diff(fifths) > max(scatter, RISES * fifths[0])).all())
