"""Rows of programs that print one step per line: what such a row looks like is a table, reading it is here.

A ``RowForm`` says where the step stands and how the program writes its pairs of name and value. All pairs
of such a row are metrics, because the program is known by its head; what the program calls by a word that
means something else elsewhere ("time", "memory", "data") gets a name that says what it is.
The forms stand in ``forms.yaml``; loops without a form of their own are read by ``templates``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from analyzer.ingest.names import canonical_metric
from analyzer.ingest.text.log_line import Learnable, LogLine, LogState, Origin
from analyzer.ingest.text.rows.forms.row_form import RowForm, row_forms
from analyzer.ingest.text.rows.printed_numbers import parse_number
from analyzer.lazy_regex import LazyRegex
from analyzer.record import NamedTuple

MAX_CHARACTERS = 8_000
"""Characters of a row that are looked at; verl prints some 150 metrics in 5,000."""

OF_A_STEADY_STEP = frozenset({"step_time_s", "data_time_s", "samples_per_second"})
# Left out of the row of an epoch's first batch: it times the start of the loader's workers, not a step.

BATCHES_OF_A_LONE_PASS = 20
"""Batches of the only evaluation of a log that trains nothing: their mean tells its level, however many were left."""

LEAST_OF_A_PASS = 0.5
"""A running mean over half of a pass is that of the whole within its noise; over less a pass may have been cut off."""

MAX_GAPS = 1_000
"""Different distances that are counted; regular logs have one, and of others none is usual."""

_FACTORS = {"ms": 1e-3, "%": 1e-2, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
_GIB = {
    "KiB": 2.0**-20,
    "KB": 2.0**-20,
    "MiB": 2.0**-10,
    "MB": 2.0**-10,
    "GiB": 1.0,
    "GB": 1.0,
    "TiB": 1024.0,
}


class EpochCounter:
    """Counts steps through the epochs where a log starts again at each."""

    def __init__(self) -> None:
        self._first = 0
        self._epoch: int | None = None
        self._last = 0
        self._offset = 0

    def running(self, step: int, epoch: int | None, total: int | None = None) -> int:
        """Step since the start of training; an epoch that falls back begins a launch that counts from there.

        Args:
            step: As printed.
            epoch: As printed, None if the row does not say.
            total: Steps of an epoch, None if the row does not say.
        """
        if epoch is not None and self._epoch is None:
            self._first = epoch
        elif epoch is not None and self._epoch is not None and epoch < self._epoch:
            passed = max(self._epoch - self._first, 1)
            self._first = min(self._first, epoch)
            self._offset = (epoch - self._first) * (total or self._offset // passed)
        elif epoch is not None and self._epoch is not None and epoch > self._epoch and step <= self._last:
            self._offset += max(total or self._last + (1 if step == 0 else 0), self._last)
        self._epoch = epoch if epoch is not None else self._epoch
        self._last = step
        return step + self._offset


class EpochStarts:
    """First steps of epochs whose rows state their length, which may differ by a batch from epoch to epoch.

    A sampler that keeps the rest of an epoch for the next one gives 182 batches, then 183, then 182. What goes on where an
    epoch was left before half of the stated length is a counter of the whole training.
    """

    def __init__(self) -> None:
        self._epoch = self._first = self._length = self._at = 0
        self._runs_on = False

    def step(self, at: int, epoch: int, length: int) -> int:
        """Step since the start of training.

        Args:
            at: As printed, within its epoch.
            epoch: Epochs before this one.
            length: Steps of this epoch, as printed.

        >>> starts = EpochStarts()
        >>> [starts.step(at, *row) for at, *row in ((182, 0, 182), (183, 1, 183), (0, 2, 182), (5, 1, 183))]
        [182, 365, 365, 188]
        >>> starts = EpochStarts()
        >>> [starts.step(at, epoch, 90) for at, epoch in ((15, 0), (30, 0), (45, 1), (60, 1))]
        [15, 30, 45, 60]
        """
        same = abs(length - self._length) <= 1
        begun = same and epoch == self._epoch + 1
        self._runs_on = (self._runs_on and same) or (begun and self._at < at and 2 * self._at <= length)
        self._at = at
        if same and epoch >= self._epoch:
            first = self._first + (epoch - self._epoch) * self._length
        else:
            first = epoch * length
        if same or length > self._length:  # an evaluation has fewer batches, and is counted by itself
            self._epoch, self._first, self._length = epoch, 0 if self._runs_on else first, length
        return at if self._runs_on else first + at


class StepGaps:
    """Counts the distances between neighbouring steps: a printed loss is a mean over as many."""

    def __init__(self) -> None:
        self._first: int | None = None
        self._last: int | None = None
        self._gaps: Counter[int] = Counter()

    def add(self, step: int) -> None:
        """Note a row's step; the first one and a restart have no distance from the row before."""
        last, self._last = self._last, step
        self._first = step if self._first is None else self._first
        if last is not None and step > last and (len(self._gaps) < MAX_GAPS or step - last in self._gaps):
            self._gaps[step - last] += 1

    def usual(self) -> int | None:
        """The distance that most rows have; None if there is no such majority.

        Of two rows the one distance counts only if the first row stands that far from the start.
        """
        if not self._gaps:
            return None
        gap, count = self._gaps.most_common(1)[0]
        if sum(self._gaps.values()) == 1 and gap != self._first:
            return None
        return gap if 2 * count > sum(self._gaps.values()) else None

    def state_window(self, log: LogState) -> None:
        """Tell the source's writer that each loss is a mean over the usual distance."""
        usual = self.usual()
        if usual is not None and usual > 1:
            log.out.loss_window(usual)


def read_pairs(pair: LazyRegex, text: str, names: Mapping[str, str]) -> dict[str, float]:
    """Values of a row by name: of several with one name the first, which is the newest, not the mean.

    Of several names for one quantity the plainest is kept, so that "lm_loss" is no second "loss".
    """
    found: dict[str, float] = {}
    taken: dict[str, str] = {}
    for match in pair.finditer(text):
        groups = match.groupdict()
        key = (groups["key"] or groups["unit_key"]).strip()
        name = names.get(key, key)
        value = parse_number(groups["value"] or groups["before_unit"])
        if not name or name in found or value is None:
            continue
        unit = groups.get("unit") or ("" if groups["key"] else key.partition(" ")[0])
        if unit and not value >= 0:
            continue  # "nanms" is a time that nobody measured, "mfu -100%" a placeholder
        canonical = canonical_metric(name)
        if canonical in taken and len(taken[canonical]) <= len(name):
            continue
        found.pop(taken.get(canonical, ""), None)
        taken[canonical] = name
        found[name] = with_unit(value, unit, in_gib=name.endswith("_gib"))
    return found


def with_unit(value: float, unit: str, *, in_gib: bool = False) -> float:
    """A value in seconds, GiB, shares, or plain counts.

    Args:
        value: As printed.
        unit: As printed; empty if there is none.
        in_gib: The value is a size, so that "M" stands for MiB and not for a million.

    >>> with_unit(250.0, "ms"), with_unit(512.0, "MiB"), with_unit(1.05, "M"), with_unit(512.0, "M", in_gib=True)
    (0.25, 0.5, 1050000.0, 0.5)
    """
    if unit in _GIB or (in_gib and f"{unit}B" in _GIB):
        return value * _GIB[unit if unit in _GIB else f"{unit}B"]
    return value * _FACTORS.get(unit, 1.0)


class RowForms(Learnable):
    """Reads the rows of the declared forms."""

    def __init__(self) -> None:
        self._forms = forms = row_forms()
        self.literals = tuple(dict.fromkeys(literal for form in forms for literal in form.literals))
        self._counters: dict[int, EpochCounter] = {}
        self._starts: dict[int, EpochStarts] = {}
        self._gaps = StepGaps()
        self._pass: _Pass | None = None
        self._begun: list[_Pass] = []
        self._told = False

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        text = line.text[:MAX_CHARACTERS]
        for index, form in enumerate(self._forms):
            if any(literal in text for literal in form.literals) and (head := form.head.search(text)):
                return self._read(index, form, head, line, log)
        return False

    def _read(self, index: int, form: RowForm, head: re.Match[str], line: LogLine, log: LogState) -> bool:
        text = line.text[:MAX_CHARACTERS]
        values = read_pairs(form.pair, text if form.from_start else text[head.end() :], form.names)
        groups = head.groupdict()
        if form.last_only and not _is_last(groups):
            self._keep(groups, values, line, log)
            return True
        if not values:
            return form.validation
        if form.program:
            log.out.framework(form.program)
        if form.validation:
            self._end_pass(log, values)
            # beside rows of steps what an epoch tells of its training is a mean, in a log without them its course
            training = groups.get("training") if log.step is None else None
            for name, value in read_pairs(form.pair, training or "", form.names).items():
                log.metric(name, value, line, None)
            for name, value in values.items():
                log.metric(_held_out(name), value, line, log.step)
            return True
        self._end_pass(log)
        if (epoch := _integer(groups.get("epoch"))) is not None:
            log.trainings.note(epoch, line, log)
        step = log.step if form.follows else self._step(index, form, groups, values)
        if step is not None:
            log.saw_step(step)
            if (form.epoch is None or epoch is None) and not form.restarts and groups.get("total"):
                log.total_steps = int(groups["total"])
            if form.window:
                self._gaps.add(step)
        starts = form.epoch is not None and groups.get("step") == "0"
        for name, value in values.items():
            if not (
                starts and name in OF_A_STEADY_STEP
            ):  # the loss of the step stands in the line that named it
                is_output = form.follows and canonical_metric(name) == "loss"
                log.metric("output_loss" if is_output else name, value, line, step)
        return True

    def _step(
        self, index: int, form: RowForm, groups: dict[str, str | None], values: dict[str, float]
    ) -> int | None:
        stated = values.pop(form.step_key, None) if form.step_key else None
        if stated is not None and 0 <= stated < 1e15:
            return int(stated)
        at, total, epoch = (_integer(groups.get(name)) for name in ("step", "total", "epoch"))
        batch = _integer(groups.get("batch"))
        if at is None and batch is not None:
            return self._counters.setdefault(index, EpochCounter()).running(batch, epoch)
        if at is None or not form.steps:
            return None
        if form.epoch is not None and epoch is not None and total is not None:
            return self._starts.setdefault(index, EpochStarts()).step(at, max(epoch - form.epoch, 0), total)
        if form.restarts:
            return self._counters.setdefault(index, EpochCounter()).running(at, epoch, total)
        return at

    def _keep(
        self, groups: Mapping[str, str | None], values: Mapping[str, float], line: LogLine, log: LogState
    ) -> None:
        """Note a running mean; what an earlier pass left is written when a new one begins."""
        at, total = _integer(groups.get("step")) or 0, _integer(groups.get("total")) or 0
        if self._pass is not None and at <= self._pass.at:
            self._end_pass(log)
        self._pass = _Pass(at, total, values, line.origin(), log.step)

    def _end_pass(self, log: LogState, stated: Mapping[str, float] | None = None) -> None:
        """Write the last running means of a pass whose very last row was not printed.

        Args:
            log: The log.
            stated: What a summary of the pass states itself.
        """
        last, self._pass = self._pass, None
        whole = last is not None and last.at >= LEAST_OF_A_PASS * last.total
        if whole or stated:
            self._begun.clear()
            self._told = True
        if last is None or not whole:
            self._begun += [last] if last is not None and not self._told else []
            return
        for name, value in last.values.items():
            if stated is None or (name not in stated):
                log.metric(_held_out(name), value, last.line, last.step)

    def finish(self, log: LogState) -> None:
        """See ``LineGrammar.finish``; where no pass tells more, the first batches of several are held-out data all the same."""
        self._end_pass(log)
        alone = log.step is None and bool(self._begun) and self._begun[0].at >= BATCHES_OF_A_LONE_PASS
        for begun in self._begun if len(self._begun) > 1 or alone else ():  # one may have been cut off
            for name, value in begun.values.items():
                log.metric(_held_out(name), value, begun.line, begun.step)
        self._gaps.state_window(log)


class _Pass(NamedTuple):
    """The newest row of an evaluation that goes on."""

    at: int  # batches done
    total: int  # batches of the pass
    values: Mapping[str, float]  # its running means by name
    line: Origin  # where it stands
    step: int | None  # step of training at which it was printed


def _held_out(name: str) -> str:
    return "eval_loss" if name.lower() == "loss" else f"val/{name}"


def _integer(text: str | None) -> int | None:
    return int(text) if text else None


def _is_last(groups: Mapping[str, str | None]) -> bool:
    """Whether a row stands at the end of a pass; programs count it from 0 or from 1."""
    at, total = _integer(groups.get("step")), _integer(groups.get("total"))
    return at is None or total is None or at >= total - 1
