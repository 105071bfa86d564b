"""The learner of rows: whatever form a program gives its rows, their wording repeats and their numbers change.

    epoch=3 step=120 loss=1.23 lr=1e-4 grad_norm=0.5          Steps : 5, Gen Loss Total : 25.660, s/b : 0.513
    [1,  2000] loss: 2.173                                    Step: 10000. Mean Reward: -0.125. Std of Reward: 0.5.
    Epoch 3/10 - train loss: 0.51 - val loss: 0.62            Epoch[0] Batch [20]  Speed: 2052.11 samples/sec  accuracy=0.125
    train loss:1.10886                                        第 1 轮, 第 100 步, 损失: 0.5

A line is masked (``line_masks``); what a wording says is worked out once (``line_places``, ``line_fields``) and kept
as a template. A row counts at once if it names its place and a known quantity; with names that are only well formed, from the
second of its kind on; without a place, from the third, or below a heading such as "Epoch 3/10". Prose and settings name steps
and losses too: a line of many other words is left unread, as are values that a line calls the best or the last.
"""

from __future__ import annotations

from math import isnan

from analyzer.ingest.names import METRICS, canonical_metric
from analyzer.ingest.text.log_line import Learnable, LogLine, LogState
from analyzer.ingest.text.rows.epochs_again import is_bare_heading
from analyzer.ingest.text.rows.forms.row_forms import OF_A_STEADY_STEP, EpochCounter, EpochStarts
from analyzer.ingest.text.rows.learned.asides import OF_EPOCH, without_asides
from analyzer.ingest.text.rows.learned.bare_rows import (
    BARE_NAMES,
    BARE_ROWS,
    BARE_WORDS,
    WORDED_ROWS,
    WORDS_BESIDE_BOTH,
    BareRows,
    is_mean_of_rows,
    measures,
    play_each_other,
    sums_costs_up,
)
from analyzer.ingest.text.rows.learned.evaluations import Evaluations, counts_batches
from analyzer.ingest.text.rows.learned.general_rows import GeneralRows
from analyzer.ingest.text.rows.learned.line_fields import names_time
from analyzer.ingest.text.rows.learned.line_masks import FLOAT, INT, TIME, Masked, counted, mask, without_bar
from analyzer.ingest.text.rows.learned.line_phases import (
    TRAINING_HEADING,
    heads_evaluation,
    phase_columns,
    under_phases,
)
from analyzer.ingest.text.rows.learned.line_places import Place
from analyzer.ingest.text.rows.learned.numbered_lines import NumberedLines
from analyzer.ingest.text.rows.learned.quantities import all_whole, is_other_loss, is_speed
from analyzer.ingest.text.rows.learned.unnamed_columns import UnnamedColumns
from analyzer.ingest.text.rows.learned.unread_rows import UnreadRows
from analyzer.ingest.text.rows.learned.wordings import (
    MAX_OTHER_WORDS,
    NOTHING,
    Template,
    Where,
    WordedRow,
    is_whole,
    is_within_epoch,
    learn,
    may_be_row,
    read_values,
)
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import is_score, names_host_memory, read_name

MAX_CHARACTERS = 4_000
"""Characters of a line that are looked at; lines of loops are far shorter."""

MAX_BARREN = 6_000
"""Wordings without a row after which no further one is worked out."""

MAX_TEMPLATES = 20_000
"""Wordings that are kept; a log whose every line is worded anew is no log of a loop."""

EVALUATED_NAMES = 2
"""Known names of an evaluation below rows of a training that make up for further words: ``End of training | test loss 0.5 | test ppl 1.6``."""

GUESSED_ROWS = 2
"""Rows with a place whose names are only well formed: what repeats with another number is a series."""

UNSIGNED_ROWS = 6
"""The same where nothing stands between names and numbers, as in prose."""

PARTS_BELOW = 2
"""Values with a sign that an indented line below a heading needs if no name is known; one decimal is enough for a line of nothing else."""

HEADING_LINES = 12
"""Lines below a heading "Epoch 3/10" in which rows without a place of their own belong to it."""

IDLE_LINES = 1_000
"""Lines of one wording of which none was read: no further one is asked for."""

_BEGINS_NUMBER = frozenset("0123456789-+.")
_BESIDE_BEST = LazyRegex(r"(?i)[\w)%]\W{1,12}best[ _-]?[a-z]")
"""Behind other values of a row, the best of one so far: ``Loss: 0.5, mIoU: 0.25, Best_mIoU: 0.5``."""


class TemplateRows(Learnable):
    """Reads lines that name a step, an epoch or nothing, and quantities."""

    literals = (
        "loss", "Loss", " LOSS: ", "LOSS    ", "ccuracy", " cost= ", " cost = ", " cost: ", "grad_norm", "Perplexity: ", " ppl", "perplexity", "Epoch ", "valuati", "alidati", "raining epoch", "eward: ", "reward=",
    )  # fmt: skip

    def __init__(self) -> None:
        self._templates: dict[str, Template] = {}
        self._counter, self._starts, self._sure_at = EpochCounter(), EpochStarts(), (-1, Where(None))
        self._heading: tuple[int, Where, int | None] | None = None
        self._reached: int | None = None
        self._evaluations = Evaluations()
        self._base: int | None = None
        self._estimates: list[tuple[LogLine, float, int]] = []
        self._read = GeneralRows("pairs")
        self._unnamed = UnnamedColumns()
        self._unread = UnreadRows()
        self._numbered = NumberedLines()
        self._bare = BareRows(self._read, self._unread)
        self._open: tuple[int, str] = (-1, "")
        self._columns: tuple[int, tuple[str, str]] | None = None
        self._calls_loss = self._below_others = self._has_steps = False
        self._means: set[str] = set()
        self._guessed: set[frozenset[str]] = set()
        self._alike: dict[frozenset[str], list[Template]] = {}
        self._program = ""
        self.rows = self._barren = self._last_row = 0

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        line = self._numbered.plain(line)
        text = self._unwrapped(line)
        log.trainings.note_heading(text, line, log)
        masked = mask(text)
        if not masked.numbers or INT in text or FLOAT in text or TIME in text:
            self._unnamed.head(text)
            if not masked.numbers and heads_evaluation(text):
                self._evaluations.begin(line.number, text)
            elif TRAINING_HEADING.match(text):
                self._evaluations.end()
            elif (phases := phase_columns(text)) is not None:
                self._columns = (line.number, phases)
            return False
        template = self._template(masked)
        if template.columns:
            return self._unnamed.add(masked.numbers, line, counted=template.counted)
        if template.right:
            self._unnamed.add_share(masked.numbers, line)
        if template.held_out_heading:
            self._evaluations.begin(line.number, text)
        if self._evaluations.open and (template.bar or counts_batches(text, log.step)):
            return False  # it counts the batches of the evaluation
        if template.heading is not None and is_whole(template.heading, masked.numbers):
            self._set_heading(template.heading, masked.numbers, line, log)
            self._reached = log.step
            if template.evaluates and self._heading is not None and self._heading[1].step is not None:
                log.saw_step(self._heading[1].step)
            if template.evaluates and not template.bar:
                self._evaluations.begin(line.number, text)
            elif template.trains:
                self._evaluations.end()
            return False
        read, self._program = False, template.program
        for row in template.rows:
            read = self._row(template, row, masked.numbers, line, log) or read
        template.idle = 0 if read else template.idle + 1
        if read and template.program:
            log.out.framework(template.program)
        if read or any(row.sure and not template.saves for row in template.rows):
            self._unread.note(line, read=read)
        return read

    def _unwrapped(self, line: LogLine) -> str:
        """The text of a line; if the line before it broke off after a name, together with that."""
        text = without_bar(line.text[:MAX_CHARACTERS])
        if self._columns is not None:
            under = line.number - self._columns[0] <= HEADING_LINES
            text, self._columns = (
                (under_phases(text, self._columns[1]), self._columns) if under else (text, None)
            )
        number, before = self._open
        if number == line.number - 1 and text.lstrip()[:1] in _BEGINS_NUMBER:
            text = f"{before} {text.lstrip()}"
        broken = text.rstrip().endswith((":", "=")) and not text.rstrip().endswith("==")  # a rule
        self._open = (line.number, text) if broken else (-1, "")
        return text

    def wants(self, text: str) -> bool:
        """Whether a line is worth being offered although it holds none of the literals."""
        text = without_bar(text[:MAX_CHARACTERS])
        masked = mask(text)
        if not masked.numbers or INT in text or FLOAT in text or TIME in text:
            heads = not masked.numbers and heads_evaluation(text)
            return heads or TRAINING_HEADING.match(text) is not None or phase_columns(text) is not None
        if is_bare_heading(text):
            return True
        template = self._template(masked)
        rows = template.rows and template.idle < IDLE_LINES
        return bool(rows or template.columns or template.heading or template.held_out_heading)

    def _template(self, masked: Masked) -> Template:
        template = self._templates.get(masked.key)
        if template is None or any(row.place.takes_for_epoch(masked.numbers) for row in template.rows):
            # A log whose every line is worded anew (addresses, names of files) is no longer learned from.
            worn_out = self._barren >= MAX_BARREN
            template = NOTHING if worn_out or not may_be_row(masked.key) else learn(masked)
            self._barren += not (template.rows or template.heading)
            if len(self._templates) < MAX_TEMPLATES:
                self._templates[masked.key] = template
        return template

    def _row(
        self, template: Template, row: WordedRow, numbers: list[str], line: LogLine, log: LogState
    ) -> bool:
        values = self._evaluations.parted(row, read_values(row, numbers))
        if not values or not is_whole(row.place, numbers):
            within = bool(values) and row.sure and is_within_epoch(row.place, numbers)
            return within and self._write(values, Where(None), line, log)
        if (step := self._step_below(row, numbers)) is not None:
            return self._write(values, Where(step), line, log)
        if template.best:
            return self._beside_rows(values, line, log)
        if template.saves:  # of the state that is saved: all that is told in a log without a row
            where = Where(int(counted(numbers[row.place.step])) if row.place.step >= 0 else None)
            return self._once_seen(template, values, where, line, log, MAX_TEMPLATES)
        if not row.place:
            if log.trainings.tells_result(values, line, log):
                self._first_of(values, log)
                self.rows += 1
                return True
            return not sums_costs_up(values) and self._without_place(template, row, values, line, log)
        if not row.sure:
            if not row.told:
                self._set_heading(row.place, numbers, line, log)
                told = without_asides(values)
                known = all(canonical_metric(name) in METRICS for name in told)
                times = known if row.place.step >= 0 else not known and len(told) == 1
                # "Epoch 3 with learning rate 0.5" is a heading, and tells the rate from there on
                times = times or {canonical_metric(name) for name in told} == {"learning_rate"}
                counted_on = not times and row.place.step >= 0
                where = self._where(row.place, numbers)
                rows = UNSIGNED_ROWS if counted_on and not any(map(isnan, told.values())) else GUESSED_ROWS
                return (times or counted_on) and self._once_seen(template, values, where, line, log, rows)
            enough = BARE_ROWS if row.words > MAX_OTHER_WORDS else GUESSED_ROWS
            new = enough > GUESSED_ROWS or not any(values.keys() <= kind for kind in self._guessed)
            broken = bool(row.place) and any(isnan(value) and read_name(name).quantity for name, value in values.items())  # fmt: skip
            if new and not broken and template.seen + 1 < enough:
                where = self._where(row.place, numbers)
                if self._sure_at != (line.number - 1, where):  # else right below a sure row of its step
                    self._heading = (line.number, where, None)
                    return self._once_seen(template, values, where, line, log, enough)
            self._catch_up(template, log)
        return self._placed(row, values, numbers, line, log)

    def _beside_rows(self, values: dict[str, float], line: LogLine, log: LogState) -> bool:
        """The best so far is told of rows that were read: a lone one is the result of something else."""
        beside = bool(self.rows or log.has_points)
        for name, value in values.items() if beside else ():
            log.metric(name, value, line, log.step)
        self.rows += beside
        return beside

    def _once_seen(
        self,
        template: Template,
        values: dict[str, float],
        where: Where,
        line: LogLine,
        log: LogState,
        enough: int = GUESSED_ROWS,
    ) -> bool:
        """Names that are only well formed: a series from the second row of its kind on, however its blanks fall."""
        template.seen += 1
        alike = len(self._alike.get(frozenset(values), ())) if enough == GUESSED_ROWS else 0
        template.waiting.append((line.detached(), values, where))
        if max(template.seen, alike + 1) < enough:
            if enough == GUESSED_ROWS:
                self._alike.setdefault(frozenset(values), []).append(template)
            return False
        self._catch_up(template, log)
        return True

    def _catch_up(self, template: Template, log: LogState) -> None:
        kinds = {frozenset(found) for _, found, _ in template.waiting}
        waiting: list[tuple[LogLine, dict[str, float], Where]] = []
        for one in (template, *(other for kind in kinds for other in self._alike.pop(kind, ()))):
            waiting += one.waiting
            one.waiting, one.seen = [], max(one.seen, GUESSED_ROWS)
        for earlier, found, at in sorted(waiting, key=lambda row: row[0].number):
            self._write(found, at, earlier, log)
        self._guessed |= kinds

    def _placed(
        self, row: WordedRow, values: dict[str, float], numbers: list[str], line: LogLine, log: LogState
    ) -> bool:
        # the first step times the start of the loader's workers
        if row.place.begins and int(counted(numbers[row.place.step])) == 0:
            values = {name: v for name, v in values.items() if canonical_metric(name) not in OF_A_STEADY_STEP}
        if row.phased and not row.held_out:
            self._evaluations.trained(row, numbers)
        own = row.held_out and self._evaluations.counts_its_own(row, numbers)
        if not row.phased and self._evaluations.holds(row, numbers, line.number):
            values, own = self._evaluations.held_out(values), True
        where = Where(log.step) if own else self._where(row.place, numbers)
        if not row.place.samples and row.place.epoch >= 0:
            log.trainings.note(int(counted(numbers[row.place.epoch])), line, log, frozenset(values))
        self._write(values, where, line, log)
        self._heading, self._reached = (line.number, where, None), log.step
        self._sure_at = (line.number, where)
        return True

    def _write(self, values: dict[str, float], where: Where, line: LogLine, log: LogState) -> bool:
        if self._bare.waits:
            self._first_of(values, log)
        self.rows, self._last_row = self.rows + 1, line.number
        if where.step is not None:
            self._has_steps = self._has_steps or any(not is_speed(name) for name in values)
            log.saw_step(where.step)
        if "train_loss" in values and "val_loss" in values and where.step is not None:
            # nanoGPT estimates both over some batches: no points of the curve, if the log has one
            self._estimates.append((line.detached(), values.pop("train_loss"), where.step))
        # Means of epochs are no points of the curve that the steps make; they may be all there is.
        means = where.whole_epoch and (
            self._has_steps or any(log.has_steps(canonical_metric(name)) for name in values)
        )
        self._calls_loss = self._calls_loss or "loss" in values
        for name, value in values.items():
            if name.startswith(OF_EPOCH):
                log.metric(name, value, line, where.step)
            elif canonical_metric(name).startswith("eval_") or (means and read_name(name).phase == "eval"):
                log.metric(name, value, line, log.step if means else where.step)
            elif self._calls_loss and is_other_loss(name):
                log.metric(f"part/{name}", value, line, where.step)
            else:
                if where.whole_epoch and not means:
                    self._means.add(name)  # and stays what it is, whatever else is counted in steps later
                alone = (is_score(name) or name in self._means) and not log.has_steps(canonical_metric(name))
                log.metric(f"epoch/{name}" if means and not alone else name, value, line, where.step)
        if not self._program:
            self._read.note(line, values, where.step)
        return True

    def _step_below(self, row: WordedRow, numbers: list[str]) -> int | None:
        """The step of a row ``train 100 2.5``, if what it counts is not the epoch whose heading stands above: ``epoch 0``."""
        above = self._heading[2] if self._heading is not None else None
        if above is None or row.place.step >= 0 or [value.name for value in row.values] != ["train"]:
            return None
        told = int(counted(numbers[row.place.epoch]) or 0) if row.place.epoch >= 0 else 0
        return told if told > above + 1 else None

    def _where(self, place: Place, numbers: list[str]) -> Where:
        epoch = int(counted(numbers[place.epoch])) if place.epoch >= 0 else None
        if place.samples:  # of a batch, beside which what an epoch tells is a mean
            self._has_steps = True
            return Where(None)
        if place.step < 0:
            return Where(None, whole_epoch=True)
        step = int(counted(numbers[place.step]))
        total = int(counted(numbers[place.total])) if place.total >= 0 else None
        if place.begins and epoch is not None and total is not None:
            if self._base is None and not place.from_zero:
                self._base = min(epoch, 1)  # programs count epochs from 0 or from 1
            before = epoch if place.from_zero else max(epoch - (self._base or 0), 0)
            return Where(self._starts.step(step, before, total))
        epoch = self._heading[2] if epoch is None and self._heading is not None else epoch
        return Where(self._counter.running(step, epoch, total))

    def _set_heading(self, place: Place, numbers: list[str], line: LogLine, log: LogState) -> None:
        epoch = int(counted(numbers[place.epoch])) if place.epoch >= 0 else None
        if epoch is not None:
            log.trainings.note(epoch, line, log)
        if place.step >= 0:
            where = self._where(place, numbers)
            self._heading = (line.number, where, epoch)
        else:
            self._heading = (line.number, Where(None, whole_epoch=True), epoch)

    def _below(self, heading: Where, log: LogState) -> Where:
        """Where a row below a heading stands: there, or at the step to which a bar, whose first state it was, has come since."""
        step = log.step
        passed = (
            step is not None and step != self._reached and heading.step is not None and step > heading.step
        )
        return Where(step) if passed else heading

    def _of_evaluation(self, row: WordedRow, values: dict[str, float], line: LogLine) -> dict[str, float]:
        """The values of a row without a place, named as held out if it stands below the heading of an evaluation, or is held against the best so far."""
        above = self._evaluations.is_above(line.number) and (row.held_out or not row.phased)
        # beside the steps of a training only an evaluation keeps its best
        kept = self._has_steps and not row.phased and _BESIDE_BEST.search(line.text) is not None
        if above or (kept and any(map(is_score, values))):
            return self._evaluations.below(line.number, values)
        return values

    def _without_place(
        self, template: Template, row: WordedRow, values: dict[str, float], line: LogLine, log: LogState
    ) -> bool:
        values = self._of_evaluation(row, values, line)
        players = row.told and play_each_other(values)
        known = {
            name: value
            for name, value in without_asides(values).items()
            if canonical_metric(name) in METRICS
            or read_name(name).quantity
            or any((measures(name), names_time(name), names_host_memory(name)))
            or players
        }
        heading = self._heading
        if heading and line.number - heading[0] <= HEADING_LINES and row.words <= BARE_WORDS:
            where = self._below(heading[1], log)
            self._below_others = True
            bare, listed = row.told and not row.words, row.told and template.indented
            kept = values if row.sure or (known and (bare or listed)) else known
            if kept:
                if where.whole_epoch:  # its rows may go on and on
                    self._heading = (line.number, *heading[1:])
                self._first_of(known, log)
                own = {name: value for name, value in kept.items() if not is_mean_of_rows(name, log)}
                self._write(own, where, line, log)
                for name in kept.keys() - own.keys():
                    log.metric(f"epoch/{name}", kept[name], line, where.step)
                return True
            if not all_whole(values) and (bare or (listed and len(values) >= PARTS_BELOW)):
                return self._once_seen(template, values, where, line, log)
        phased = row.phased or self._evaluations.is_above(line.number)
        several = len(known) >= (EVALUATED_NAMES if self.rows else BARE_NAMES)
        most = WORDS_BESIDE_BOTH if row.held_out and several else BARE_WORDS
        told = self.rows or log.has_points or (row.held_out and len(known) >= BARE_NAMES)
        if phased and row.sure and row.words <= most and told:
            # the result of an epoch or of an evaluation beside rows of a training
            self._first_of(known, log)
            of_epoch = row.phased and not row.held_out
            where = Where(None, whole_epoch=True) if of_epoch else Where(log.step)
            return self._write(values, where, line, log)
        names = {canonical_metric(name) for name in known}
        if (
            names >= {"loss", "eval_loss"} or names >= {"perplexity", "eval_perplexity"}
        ) and row.words <= WORDS_BESIDE_BOTH:
            return self._write(values if row.sure else known, Where(None), line, log)
        course = bool(known) and self._bare.is_course(tuple(sorted(known)), known, row, alone=True)
        if row.told and not (row.words or course):
            return self._named_alone(template, values, line, log)
        kept = values if row.sure or (row.told and not row.words) else known
        worded = self._often_worded(template, row, known, kept, line, log)
        self.rows += (written := 0 if worded else self._bare.add(row, known, kept, line, log, rows=self.rows))
        return worded or written > 0

    def _often_worded(
        self, template: Template, row: WordedRow, known: dict[str, float], values: dict[str, float], line: LogLine, log: LogState
    ) -> bool:  # fmt: skip
        """A line of more words than a row has is one where its wording came often enough with other numbers."""
        if row.words <= BARE_WORDS or not row.told or all_whole(values):
            return False
        same = bool(template.waiting) and template.waiting[-1][1] == values
        beside = bool(self.rows or log.has_points)
        if same or not self._bare.is_course(tuple(sorted(known)), known, row, alone=beside):
            return False
        return self._once_seen(template, values, Where(log.step), line, log, WORDED_ROWS)

    def _named_alone(
        self, template: Template, values: dict[str, float], line: LogLine, log: LogState
    ) -> bool:
        """Beside rows of a training a name that comes again with another decimal is a series, whatever it measures."""
        beside = bool(self.rows or log.has_points)
        if all_whole(values) or not (beside or template.seen < BARE_ROWS):
            return False
        return self._once_seen(
            template, values, Where(None), line, log, BARE_ROWS if beside else MAX_TEMPLATES
        )

    def _first_of(self, values: dict[str, float], log: LogState) -> None:
        """Write what waited of a kind that turned out to be one: the first stands before the first step."""
        for line, found in self._bare.first_of(values):
            self._write(found, Where(None), line, log)

    @property
    def rows_stand_alone(self) -> bool:
        """See ``Learnable``; below a row that names a place may stand others that do not, below a heading those of another phase."""
        return not (self._below_others or self._evaluations.own_rows)

    def passed(self, rows: int, number: int, step: int | None) -> None:
        """See ``Learnable``."""
        self.rows += rows
        self._unread.read += rows
        if not self._program:
            self._read.more(rows)
        if step is not None:
            self._heading = (number, Where(step), None)

    def finish(self, log: LogState) -> None:
        """Say how much was read by this reader; in a log without any row two of a kind, two names on one, or a NaN, are no chance."""
        self._bare.forget(self._unread.tell(log, self.rows))
        lost = not self.rows and not log.has_points
        for line, values in self._bare.left() if lost else self._bare.results(self._last_row):
            self._write(values, Where(None if lost else log.step), line, log)
        for template in self._templates.values() if lost else ():
            if template.saves and template.seen >= BARE_ROWS:
                self._catch_up(template, log)
        curve = bool(self._estimates) and log.has_curve("loss", self._estimates[0][0].rank)
        for line, value, step in self._estimates:
            log.metric("train_loss_estimate" if curve else "train_loss", value, line, step)
        self._unnamed.tell(log)
        self._read.tell(log)
