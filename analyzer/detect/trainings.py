"""Several trainings that one log holds one after another: folds, seeds, settings, stages. One of them is judged.

A counter that begins again is none of the next epoch if something else says so: the epochs begin again as well, a numbered heading
stands above, or the loss is back near its first value. A loss that goes on where it stood is a resume or an inner loop. Judged is the last
one with rows enough, unless losses of an earlier one end in NaN or infinity and those of the last do not: then that one, as
nobody asks about a fold that went well because another one broke.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from analyzer.detect.curve import all_series, has_steps, take
from analyzer.model.arrays import Integers, Mask, Values
from analyzer.model.ranked import distinct_of, median_of
from analyzer.model.run import Run
from analyzer.model.tables import NULL_INT, Series
from analyzer.record import NamedTuple

LEAST_POINTS = 5
"""Points of a training from which it is judged alone; fewer say nothing yet."""

GAINED, BACK, GOES_ON = 0.2, 0.5, 0.25
"""A training has gained a fifth of its first loss; the next one begins with half of that lost, and what goes on keeps three quarters."""

BEYOND = 2.0
"""A first loss is not three times that of the training before it: that is an explosion."""

MANY, NEARLY_ALL = 5, 0.8
"""Beginnings from which a loss that goes on tells inner loops (a second stage of training may go on, too), and one that comes back at
four in five tells trainings however little each gained: noise does so at one in three."""

NO_GAIN = 0.98
"""A training that ends above that part of its first loss learned nothing."""

FEW_CLASSES = (2, 3, 4, 5, 10)
"""Numbers of classes whose guess, as a share of right answers, is known on sight."""

STANDS_ROWS, OF_A_GUESS = 20, 0.01
"""Twenty answers rates in turn within a hundredth of that of a guess among so many classes: that training never started to learn."""

_LOSSES = ("loss", "eval_loss")
_ANSWERS = ("accuracy", "eval_accuracy")
_APPENDED = frozenset({"json-lines", "csv-metrics"})
"""Readers of files to which a program that is started anew goes on writing, as to a log."""
_SAME_JOB = frozenset({"elastic_restart", "resume_from_checkpoint"})
_ENDS = frozenset({"root_candidate", "cascade", "teardown"})


class Trainings(NamedTuple):
    """Where the trainings of each log begin and which one is judged."""

    # source to the first lines of its trainings, in order; the first is 0. Only logs of several trainings
    begins: dict[int, tuple[int, ...]]
    judged: dict[int, int]  # source to the index of the training that is judged
    broken: set[int]  # sources of which it is judged because its loss ended in NaN or infinity
    # source to the indices of other trainings that ended no better than they began
    poor: dict[int, tuple[int, ...]]
    # sources whose steps are counted through all trainings, so that they part no series with steps
    through: set[int]

    def judged_rows(self, series: Series) -> Series:
        """The points of the trainings that are judged; all of a series that counts its steps through.

        Of a series without points there those of the last training that has some: two trainings are never one series.
        """
        if not self.begins:
            return series
        kept = np.ones(len(series), np.bool_)
        for source, number in self.judged.items():
            own = series.source == source
            if not own.any() or (source in self.through and has_steps(series)):
                continue
            training = _numbers(series.line, self.begins[source])
            there = training[own]
            kept &= ~own | (training == (number if (there == number).any() else there.max()))
        return take(series, kept)


def trainings_of(run: Run) -> Trainings:
    """The trainings of a run's logs: where readers saw epochs begin again, or where steps do and more speaks for it."""
    losses = [series for metric in _LOSSES for series in all_series(run, metric)]
    found = Trainings({}, {}, set(), {}, set())
    appended = [index for index, source in enumerate(run.sources) if source.ingestor in _APPENDED]
    told: dict[int, list[int]] = {source: [] for source in (*(end.source for end in run.log_ends), *appended)}
    for event in run.events.of("training_begins_again"):
        told.setdefault(event.ref.source, []).append(event.ref.line or 0)
    for source, lines in told.items():
        main = _main(run, losses, source)
        if main is None:
            continue
        falls, headed = _falls(main), [] if lines or has_steps(main) else _headings(run, source)
        begins, through = (
            _stepped(run, main, lines, falls)
            if falls.size
            else _stepless(main, lines or headed, 1 if headed else MANY)
        )
        if not begins:
            continue
        found.begins[source] = begins = (0, *begins)
        of_source = [own for series in losses if len(own := take(series, series.source == source))]
        found.judged[source], broke = _judged(of_source, main, begins)
        found.poor[source] = _poor(main, begins, found.judged[source])
        found.broken.update([source] * broke)
        found.through.update([source] * through)
    return found


def _main(run: Run, losses: Sequence[Series], source: int) -> Series | None:
    """The loss of a log that has most points there, or else the metric that has most; None of a log without rows."""
    own = [take(series, series.source == source) for series in losses]
    if own and (longest := max(own, key=len)) and len(longest):
        return longest
    table = run.metrics
    counts = np.bincount(table.metric[table.source == source], minlength=len(table.names))
    called = [code for code, name in enumerate(table.names) if counts[code] and "loss" in name.lower()]
    main = max(called or range(counts.size), key=lambda code: counts[code], default=0)
    found = table.series(table.names[main], {source}) if counts.any() else None
    return None if found is None else take(found, np.argsort(found.line, kind="stable"))


def _falls(series: Series) -> Integers:
    """Rows at which the step falls."""
    known = (series.step[1:] != NULL_INT) & (series.step[:-1] != NULL_INT)
    rows: Integers = np.flatnonzero(known & (np.diff(series.step) < 0)) + 1
    return rows


def _headings(run: Run, source: int) -> list[int]:
    """Lines of the numbered headings of a log, if there are several."""
    own = [event for event in run.events.of("training_heading") if event.ref.source == source]
    several = len({event.fields.get("number") or event.fields.get("setting") for event in own}) > 1
    return [event.ref.line or 0 for event in own] if several else []


def _stepless(main: Series, told: Sequence[int], many: int) -> tuple[tuple[int, ...], bool]:
    """First lines of the further trainings of a log whose steps never fall, and whether they are counted through all of them."""
    # A row of another wording may stand above the one that told it; two that tell the same leave no row between them.
    rows = np.searchsorted(main.line, told)
    rows = distinct_of(rows[(rows > 0) & (rows < len(main))])
    ways = [_way(main.value, begin, row) for begin, row in pairwise([0, *rows.tolist()])]
    going_on = sum(_goes_on(way._replace(first=float(main.value[0]))) for way in ways)
    if len(rows) >= many and going_on > NEARLY_ALL * len(rows) and np.isfinite(main.value).all():
        return (), False
    # A stage whose rows tell no step counts none that another could go on from.
    counted = (main.step[rows - 1] != NULL_INT) & (main.step[rows] > main.step[rows - 1])
    rises = has_steps(main) and bool(counted.all())
    return tuple(main.line[rows].tolist()), rises and 2 * sum(map(_comes_back, ways)) < len(rows)


def _stepped(run: Run, main: Series, told: Sequence[int], falls: Integers) -> tuple[tuple[int, ...], bool]:
    """Lines of those rows at which steps fall and another training begins."""
    source, line = int(main.source[0]), main.line
    seams = [
        event.ref.line or 0
        for event in run.events
        if event.ref.source == source and (event.kind in _SAME_JOB or event.role in _ENDS)
    ]
    below_seam, below_heading = _between(seams, line, falls), _between(_headings(run, source), line, falls)
    # Epochs are told by a heading above their first row, or by their first row, which may stand below those of steps.
    proven = np.zeros(falls.size, np.bool_)
    behind = np.searchsorted(falls, np.searchsorted(line, told), side="right") - 1
    proven[behind[behind >= 0]] = True
    proven = (proven & ~below_seam) | below_heading
    steps = np.diff(main.step)
    every = (
        median_of(steps[steps > 0]) if (steps > 0).any() else 0
    )  # the first row may come by steps or after a pause
    begin, early, ways = 0, [], []
    for fall, known, seam in zip(falls.tolist(), proven.tolist(), below_seam.tolist(), strict=True):
        if not known and not seam and main.step[fall] < main.step[begin] + max(every, 1):
            early.append(fall)
            ways.append(_way(main.value, begin, fall))
        begin = fall if known or fall in early[-1:] else begin
    rows = np.sort(np.concatenate((falls[proven], np.array(early, np.int64))))
    nearly_all = len(early) >= MANY and sum(_comes_back(way, 0.0) for way in ways) >= NEARLY_ALL * len(early)
    again = 2 * sum(map(_comes_back, ways)) >= len(early) or nearly_all
    if not again or np.diff(rows, prepend=0, append=len(main)).max() < LEAST_POINTS:
        rows = falls[proven]
    return tuple(line[rows].tolist()), False


def _between(places: Sequence[int], line: Integers, falls: Integers) -> Mask:
    """Whether one of some lines stands between the two rows of each fall."""
    ends = np.searchsorted(np.sort(places), [line[falls - 1], line[falls]], side="right")
    between: Mask = ends[1] > ends[0]
    return between


def _numbers(line: Integers, begins: tuple[int, ...]) -> Integers:
    """The training of each line, by index."""
    numbers: Integers = np.searchsorted(begins, line, side="right") - 1
    return numbers


class _Way(NamedTuple):
    """Rows of a part, its first loss, its level at the end, and the loss behind it; the level is NaN where the part broke."""

    rows: int
    first: float
    low: float
    after: float


def _way(values: Values, begin: int, row: int) -> _Way:
    low = float(median_of(values[max(begin, row - 3) : row]))
    return _Way(row - begin, float(values[begin]), low, float(values[row]))


def _comes_back(way: _Way, least: float = GAINED) -> bool:
    """Whether the loss had gained, at least a part of its first value, and stands near that again."""
    low = way.low if np.isfinite(way.low) else way.first - abs(way.first)
    gained, lost = way.first - low, way.after - low
    enough = way.rows > 1 and 0 < gained >= least * abs(way.first)
    return bool(enough and BACK * gained <= lost <= gained + BEYOND * abs(way.first))


def _goes_on(way: _Way) -> bool:
    """Whether the loss had gained, and stays as low as it had become."""
    gained = way.first - way.low
    gains = way.rows > 1 and gained >= GAINED * abs(way.first)
    return bool(gains and way.after - way.low < GOES_ON * gained)


def _judged(losses: Sequence[Series], main: Series, begins: tuple[int, ...]) -> tuple[int, bool]:
    """The last training of which some loss ends in NaN or infinity, by the first of the losses that tells of one, and True.

    Else the last with rows enough, or with nearly as many as another where all are short.
    """
    for series in losses:
        numbers = _numbers(series.line, begins)
        ends = np.flatnonzero(np.diff(numbers, append=len(begins)))
        bad = numbers[ends[~np.isfinite(series.value[ends])]]
        if bad.size:
            return int(bad[-1]), True
    rows = np.bincount(_numbers(main.line, begins), minlength=len(begins))
    return int(np.flatnonzero(rows >= min(LEAST_POINTS, NEARLY_ALL * rows.max()))[-1]), False


def _guesses(values: Values) -> bool:
    """Whether an accuracy, as a share or in percent, stands at that of a guess.

    >>> _guesses(np.full(20, 0.5)), _guesses(np.full(40, 10.0)), _guesses(np.linspace(0.5, 0.9, 40)), _guesses(np.full(20, 0.7))
    (True, True, False, False)
    """
    shares = values / 100.0 if values.size and values.max() > 1.0 else values
    return values.size >= STANDS_ROWS and any(
        bool((np.abs(shares - 1.0 / count) <= OF_A_GUESS).all()) for count in FEW_CLASSES
    )


def _poor(main: Series, begins: tuple[int, ...], judged: int) -> tuple[int, ...]:
    """Trainings with rows enough that ended no better than they began, or whose answers stay those of a guess, but for the one judged."""
    if main.metric not in (*_LOSSES, *_ANSWERS):
        return ()
    numbers, found = _numbers(main.line, begins), []
    for number in range(len(begins)):
        values = main.value[numbers == number]
        if main.metric in _ANSWERS:
            found += [number] * (number != judged and _guesses(values))
        elif number != judged and values.size >= LEAST_POINTS and values[0] > 0:
            found += [number] * (not median_of(values[-3:]) <= NO_GAIN * values[0])
    return tuple(found)
