"""Metrics as a table of comma-separated values: DeepSpeed's monitor, Lightning, Keras, W&B exports, home-made.

    step,loss_scale                     DeepSpeed csv_monitor, Train_Samples_loss_scale.csv: steps are samples,
    4,65536                             and every launch appends its header again
    epoch,train_loss,step,val_loss      Lightning metrics.csv: an empty cell was not logged
    0,nan,4,
    epoch,loss,val_loss                 Keras CSVLogger: NA was not logged
    time/total_timesteps,train/loss     Stable-Baselines3 progress.csv: steps of the environment
          epoch,  train/box_loss        YOLO results.csv: names and numbers padded with spaces
    timestamp step loss                 DVCLive plots/metrics/train/loss.tsv: a file for each metric, its folder is part of the name

Cells are read as text, because a reader that guesses types takes "not logged" and ``nan`` for the same.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.metric_columns import (
    EPISODES,
    METRIC_FILE,
    PHASE_NAMES,
    STEP_NAMES,
    TAGS,
    TIME_NAMES,
    MetricColumns,
    counter_column,
    first_named,
    is_known_metric,
    is_known_score,
    of_held_out,
    says_held_out,
    unix_seconds,
)
from analyzer.ingest.names import canonical_metric
from analyzer.ingest.runs.run_shapes import is_of_held_out
from analyzer.ingest.scalar_text import metric_number, whole_step
from analyzer.ingest.source_text import bounded_lines, decode
from analyzer.ingest.text.rows.epochs_again import EPOCHS_OF_A_TRAINING
from analyzer.ingest.text.rows.learned.asides import OF_EPOCH
from analyzer.ingest.text.text_log import is_console, lines_beside_rows, read_lines
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import read_name

_LIGHTNING = LazyRegex(r"/version_\d{1,6}/metrics\.csv$")
_MONITOR = LazyRegex(r"(?:^|/)(?P<stem>Train_Samples_(?P<tag>[^/]+))\.csv(?:\.gz|\.zst)?$")
_DVCLIVE = LazyRegex(r"(?:^|/)plots/metrics/(?P<folder>[^.]{1,200}/)[^/]+\.tsv(?:\.gz|\.zst)?$")
_SUFFIX = LazyRegex(r"\.(?:csv|tsv)(?:\.gz|\.zst)?$")
_DELIMITERS = (",", "\t", ";")
_NAME = LazyRegex(r"(?:% ?)?[^\d\W][^\"\r\n]{0,199}|_[^\"\r\n]{0,199}")
_WANDB_RANGE = LazyRegex(r"__(?:MIN|MAX)$")
_MAX_DAMAGED = 20
_MAX_COMMENTS = 20
_COUNTED_ROWS = 50
_EMPTY_ROWS = 2
"""Rows of commas alone that may stand below a header: some writers flush one before the first epoch."""

_OF_RETURNS = {"episodes", "median", "stdev"}
"""Beside its mean: what ChainerRL and PFRL write of the returns of each evaluation."""

_CONFLICT = "<<<<<<< "
"""Above the first of two tables that a merge left in one file."""

_DECIMAL_COMMA = LazyRegex(r"-?(?:0,\d{1,20}|\d{1,9},(?:\d{1,2}|\d{4,20}))(?:[eE][-+]?\d{1,3})?")
"""Three digits behind the comma may be thousands."""

_RATE_GROUP = LazyRegex(r"(?i)lr/pg([1-9]\d?)")


_HELD_OUT, _HELD_OUT_LOSS = ("metrics/", "val/"), LazyRegex(r"val/\w{1,20}_loss")
"""Columns of YOLO's ``results.csv`` that an epoch without validation fills with zeros: the losses too, which no validation gives."""


class CsvMetrics:
    """Reads tables of metrics."""

    def sniff(self, candidate: Candidate) -> Match:
        """The first line names a step or a curve of training, and the second one holds numbers."""
        text = _below_comments(decode(candidate.head))
        header = _header(text)
        if header is None:
            return Match.NO
        if _MONITOR.search(candidate.name) and header[0] == "step":
            return Match.SURE
        if not _numeric_second_row(text, len(header)):
            return Match.NO
        of_episodes = header[0].lower() in EPISODES
        has_step = of_episodes or first_named(header, (*STEP_NAMES, "epoch")) is not None
        known = [name for name in header if is_known_metric(_bare(name))]
        is_csv = _SUFFIX.search(candidate.name.lower()) is not None
        if has_step and known:
            return Match.LIKELY
        scores = [name for name in header if name not in known and is_known_score(_bare(name))]
        if has_step and scores:
            return Match.LIKELY
        if is_csv and (has_step or (known and len(known) + len(scores) > 1)):
            return Match.MAYBE
        # Nothing is known by its name: only a file that is named for it, with a column that counts, is taken.
        is_named = is_csv and METRIC_FILE.search(_SUFFIX.sub("", candidate.name)) is not None
        return Match.MAYBE if is_named and _counter(text, header) is not None else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """One point per cell that holds a number."""
        if is_console(source):
            read_lines(lines_beside_rows(source, out), out)
        feed = _Feed(source, out)
        head = _below_comments(decode(source.candidate.head))
        header = _header(head)
        if header is None:
            out.gap("the first line is not a header", line=1)
            return
        monitor = _MONITOR.search(source.name)
        counter = None
        if header[0].lower() in EPISODES or not first_named(header, (*STEP_NAMES, "epoch")):
            counter = _counter(head, header) or _of_episodes(header)
        live = _DVCLIVE.search(source.name)
        before = "Train/Samples/" if monitor else live["folder"] if live else ""
        table = _Table(
            out,
            header,
            source.path.name,
            counter,
            before=before,
            held_out=is_of_held_out(source.path, alone=True),
        )
        if _LIGHTNING.search(source.path.as_posix()):
            out.framework("pytorch-lightning")
        for line, cells in _records(feed, _delimiter(head), out):
            table.add(line, cells, is_cut=feed.is_cut)
        table.finish()


def _below_comments(text: str) -> str:
    r"""A table without the lines of comment above its header.

    >>> _below_comments("# run 3\n# lr 0.1\nepoch,loss\n1,0.5"), _below_comments("# epoch,loss\n1,0.5")
    ('epoch,loss\n1,0.5', '# epoch,loss\n1,0.5')
    """
    for _ in range(_MAX_COMMENTS):
        first, _, rest = text.lstrip("\ufeff \r\n").partition("\n")
        if not first.startswith("# ") or (rest[:1].isdigit() and "," in first):
            break
        text = rest
    return text


def _delimiter(head: str) -> str:
    first = head.lstrip().partition("\n")[0]
    return max(_DELIMITERS, key=first.count)


def _plain(cells: Sequence[str]) -> list[str]:
    return [cell.strip().removeprefix("#").strip("~ ") for cell in cells]


def _header(text: str) -> list[str] | None:
    """Names of the columns if the first line looks like a header, else None."""
    first = text.lstrip("\ufeff \r\n").partition("\n")[0].rstrip("\r")
    if not first or len(first) > 60_000:
        return None
    try:
        cells = next(csv.reader([first], delimiter=max(_DELIMITERS, key=first.count)), [])
    except csv.Error:
        return None
    names = _plain(cells)
    while names and not names[-1]:  # each line ends in a comma
        names.pop()
    named = names[1:] if names and not names[0] else names  # pandas leaves the name of its index empty
    if len(names) < 2 or len(set(names)) < len(names) or not all(_NAME.fullmatch(name) for name in named):
        return None
    return names


def _numeric_second_row(text: str, width: int) -> bool:
    """The first row that is not empty is missing, or has no more cells than the header and some hold numbers."""
    first, *rows = text.lstrip("\ufeff \r\n").split("\n", _EMPTY_ROWS + 2)[: _EMPTY_ROWS + 2]
    delimiter = max(_DELIMITERS, key=first.count)
    row = next((row for row in rows if row.strip(f"{delimiter} \r") and not row.startswith(_CONFLICT)), "")
    if not row:
        return True
    try:
        cells = next(csv.reader([row], delimiter=delimiter), [])
    except csv.Error:
        return False
    return not any(cells[width:]) and any(metric_number(cell) is not None for cell in cells)


def _counter(text: str, header: Sequence[str]) -> str | None:
    """The column that counts the rows of an unknown table, judged by its first rows."""
    lines = text.lstrip("\ufeff \r\n").split("\n")[: _COUNTED_ROWS + 1]
    delimiter = max(_DELIMITERS, key=lines[0].count)
    complete = lines[1:-1] if len(lines) > 2 else lines[1:]
    try:
        rows = [
            [metric_number(cell) for cell in row] for row in csv.reader(complete, delimiter=delimiter) if row
        ]
    except csv.Error:
        return None
    return counter_column(header, rows)


def _of_episodes(header: Sequence[str]) -> str | None:
    """The number of the episode where workers write theirs as they end, so that it falls: ``steps`` beside it are how long each was."""
    beside = first_named(header, STEP_NAMES) == "steps"
    return header[0] if beside and header[0].lower() in EPISODES else None


def _of_meters(header: Sequence[str]) -> dict[str, str]:
    """Columns of meters, whose current value and mean stand beside each other, with the names that rows "value (mean)" give them.

    >>> _of_meters(["epoch", "loss_avg", "loss_val", "grad_norm_avg", "grad_norm_val"])
    {'loss_val': 'loss', 'loss_avg': 'epoch/loss_avg', 'grad_norm_val': 'grad_norm', 'grad_norm_avg': 'epoch/grad_norm_avg'}
    >>> _of_meters(["epoch", "loss_avg", "loss_val", "acc_avg", "acc_val"])  # "val" may be held-out data
    {}
    """
    means = [name.removesuffix("_avg") for name in header if name.endswith("_avg")]
    pairs = [
        (stem, f"{stem}{end}") for stem in means for end in ("_val", "_value") if f"{stem}{end}" in header
    ]
    of_training = "grad_norm" in map(canonical_metric, means)  # held-out data have no gradient
    if not of_training or len(pairs) < len(means):
        return {}
    return {
        name: of
        for stem, value in pairs
        for name, of in ((value, stem), (f"{stem}_avg", f"{OF_EPOCH}{stem}_avg"))
    }


def _bare(name: str) -> str:
    """The metric in a column of a W&B chart export, ``run name - train/loss``."""
    return name.rpartition(" - ")[2]


class _Feed:
    """Lines for the CSV reader; remembers where the record that it is reading began."""

    def __init__(self, source: OpenSource, out: SourceWriter) -> None:
        self._lines = bounded_lines(source, out)
        self.first: int | None = None
        self.is_cut = False

    def __iter__(self) -> Iterator[str]:
        for number, data in self._lines:
            self.first = number if self.first is None else self.first
            self.is_cut = not data.endswith(b"\n")
            yield decode(data)


def _records(feed: _Feed, delimiter: str, out: SourceWriter) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(feed, delimiter=delimiter)
    damaged = 0
    while True:
        feed.first = None
        try:
            cells = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            damaged += 1
            if damaged <= _MAX_DAMAGED:
                out.gap(f"row is not CSV: {error}", line=feed.first, rows_lost=1)
            continue
        if any(cells):
            yield feed.first or 0, cells
    if damaged > _MAX_DAMAGED:
        out.gap("further rows that are not CSV", rows_lost=damaged - _MAX_DAMAGED)


def _printed(cell: str) -> float | None:
    """A number in percent, or with a decimal comma, which a cell between commas can only have in quotes.

    >>> _printed("34 %"), _printed("0,5"), _printed("1,234"), _printed("True")
    (0.34, 0.5, None, None)
    """
    if cell.endswith("%"):
        share = metric_number(cell[:-1])
        return None if share is None else share / 100
    return metric_number(cell.replace(",", ".")) if _DECIMAL_COMMA.fullmatch(cell.strip()) else None


class _Table:
    """The rows of one file and what its columns mean."""

    def __init__(
        self,
        out: SourceWriter,
        header: Sequence[str],
        file_name: str,
        counter: str | None,
        *,
        before: str,
        held_out: bool = False,
    ) -> None:
        self._out = out
        self._before = before
        self._of_evaluations = held_out
        self._file_name = file_name
        self._counter = counter
        self._columns = MetricColumns(out)
        self._rows = 0
        self._surplus: list[int] = []
        self._seen_header = False
        self._first_epoch: int | None = None
        self._epoch = 0
        self._use_header(header)

    def _use_header(self, header: Sequence[str]) -> None:
        self._header = list(header)
        counter = self._counter if self._counter in header else None
        step = first_named(header, STEP_NAMES) or counter
        if counter == header[0] and counter.lower() in EPISODES:
            step = counter
        time = first_named(header, TIME_NAMES)
        self._step_at = header.index(step) if step else None
        self._time_at = header.index(time) if time else None
        epoch = None if step else first_named(header, ("epoch", "epochs"))
        self._epoch_at = header.index(epoch) if epoch else None
        self._beside_held_out = any(name.startswith("val/") for name in header)
        self._meters = _of_meters(header)
        self._names = [self._metric_name(name) for name in header]
        lowered = [name.lower() for name in header]
        self._tag_at = next(
            (at for at, name in enumerate(lowered) if name in TAGS and "value" in lowered), None
        )
        self._phase_at = [at for at, name in enumerate(header) if name.lower() in PHASE_NAMES]
        if self._step_at is not None:
            self._names[self._step_at] = None
        losses = any(_HELD_OUT_LOSS.fullmatch(name) for name in header)
        self._held_out = [at for at, name in enumerate(header) if losses and name.startswith(_HELD_OUT)]

    def _metric_name(self, column: str) -> str | None:
        if self._before and column not in TIME_NAMES:
            return f"{self._before}{column}"
        if not column or _WANDB_RANGE.search(column):
            return None
        if (
            column == "Value" and "Step" in self._header
        ):  # TensorBoard's download names the tag in the file name
            return _SUFFIX.sub("", self._file_name)
        if column == "mean" and set(self._header) >= _OF_RETURNS:
            return "mean_reward"
        group = _RATE_GROUP.fullmatch(column)
        if group and "lr/pg0" in self._header:  # YOLO counts its parameter groups from 0, Lightning from 1
            return f"lr/group{group[1]}"
        bare = self._meters.get(column, _bare(column))
        if self._of_evaluations:
            return of_held_out(bare)
        # YOLO files what it counts on held-out data beside the losses of those, not below their name.
        held_out = self._beside_held_out and bare.startswith("metrics/")
        return f"val/{bare}" if held_out and read_name(bare).quantity == "accuracy" else bare

    def add(self, line: int, cells: list[str], *, is_cut: bool) -> None:
        if self._is_header(cells):
            self._header_again(line, cells)
            return
        self._rows += 1
        if any(cells[len(self._header) :]):
            self._surplus.append(line)
        if is_cut:
            cells = self._without_cut_cell(cells, line)
        step = whole_step(self._cell(cells, self._step_at))
        time_s = unix_seconds(self._cell(cells, self._time_at))
        self._note_epoch(line, cells)
        left_out = self._held_out if all(self._cell(cells, at) == 0.0 for at in self._held_out) else ()
        said = {self._header[at]: cells[at] for at in self._phase_at if at < len(cells)}
        held_out = bool(said) and says_held_out(said)
        for at, (name, cell) in enumerate(zip(self._names, cells, strict=False)):
            if name is None or not cell or at in left_out or (at == self._time_at and not math.isnan(time_s)):
                continue
            if self._tag_at is not None and name.lower() == "value" and self._tag_at < len(cells):
                name = cells[self._tag_at]  # noqa: PLW2901 a row for each metric
            number = metric_number(cell)
            number = _printed(cell) if number is None else number
            if number is not None:
                kept = of_held_out(name) if held_out else name
                self._columns.add(kept, number, step=step, line=line, time_s=time_s)

    def _note_epoch(self, line: int, cells: Sequence[str]) -> None:
        """Tell where the epochs of a table without steps are counted from the first again: a launch appended its rows."""
        epoch = whole_step(self._cell(cells, self._epoch_at))
        if epoch is None:
            return
        if self._first_epoch is None or epoch < self._first_epoch:
            self._first_epoch = epoch
        elif epoch == self._first_epoch and self._epoch >= epoch + EPOCHS_OF_A_TRAINING:
            self._out.event(
                "training_begins_again", ",".join(cells), role="info", line=line, fields={"epoch": epoch}
            )
        self._epoch = epoch

    def _cell(self, cells: Sequence[str], at: int | None) -> float | None:
        return metric_number(cells[at]) if at is not None and at < len(cells) else None

    def _is_header(self, cells: Sequence[str]) -> bool:
        """The same header again, or a wider one: a row of names with a step column."""
        if cells[0][:1].isdigit():
            return False
        names = _plain(cells)
        return names == self._header or (
            len(names) > 1
            and all(_NAME.fullmatch(name) and metric_number(name) is None for name in names)
            and first_named(names, (*STEP_NAMES, "epoch")) is not None
        )

    def _header_again(self, line: int, cells: Sequence[str]) -> None:
        if self._seen_header:
            text = ",".join(cells)
            self._out.event("log_restarted", text, role="info", line=line, fields={"rows_before": self._rows})
            self._use_header(_plain(cells))
        self._seen_header = True

    def _without_cut_cell(self, cells: list[str], line: int) -> list[str]:
        """A last row without line end may be cut within its last number: 65536 must not be read as 65."""
        last = metric_number(cells[-1])
        if last is None or not math.isfinite(last):
            return cells
        self._out.gap(
            "the last row has no line end, so its last number may be cut and is left out", line=line
        )
        return cells[:-1]

    def finish(self) -> None:
        if not self._rows:
            self._out.gap("only a header: the run ended before the first row", line=1)
        if self._surplus:
            reason = "rows with more cells than the header; the surplus cells have no name"
            self._out.gap(reason, line=self._surplus[0], rows_lost=len(self._surplus))
        monitored = self._before == "Train/Samples/"
        if monitored and self._columns:
            self._out.framework("deepspeed")
        self._columns.flush(step_unit="samples" if monitored else "step")
