"""Tables that grow by a line for each step or epoch: fastai, skorch, spaCy, Chainer, the notebook table of HF Trainer, CSV.

    epoch     train_loss  valid_loss  accuracy  time          | Training Loss | Epoch | Step | Validation Loss |
    0         2.250000    2.125000    0.250000  00:10         |:-------------:|:-----:|:----:|:---------------:|
    1         2.000000    1.875000    0.375000  00:10         | No log        | 1.0   | 100  | 2.125000        |

    E    #       LOSS TOK2VEC  LOSS NER  ENTS_F               epoch,step,loss,lr
      0     200         12.50   1225.50   50.50               0,10,2.25,0.001

    average    since         example                          | rating  |   loss | accuracy |
    loss       last          counter                          | train   | 1.1250 |   0.5000 |
    0.625000   0.625000            3                          | vali    | 1.2500 |   0.2500 |

A head counts only if a column is by its words a loss, an accuracy or a reward and no cell of it may be a number. With a
column for the step or the epoch the first row counts; without one, or where the names of columns are parted by single
spaces, the head might be a sentence or the table one of results, and it takes rows that follow at once; or one row each below
a head that comes again, as evaluations print their scores. A row has as many cells as the head, or cells that stand below names of the head (Chainer leaves out what was not measured).
Names may stand in two lines, and rows may be those of the parts of the data.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from analyzer.ingest.names import METRICS, canonical_metric
from analyzer.ingest.text.log_line import Fed, LogLine, LogState, WritesAtOnce
from analyzer.ingest.text.rows.forms.row_forms import EpochCounter
from analyzer.ingest.text.rows.learned.general_rows import GeneralRows
from analyzer.ingest.text.rows.printed_numbers import NUMBER
from analyzer.ingest.text.rows.tables.table_frames import (
    ABOUT,
    ALIKE,
    EPOCHS,
    OF_DEPTH,
    OF_NONE,
    OTHERS,
    ROUNDS,
    UPDATES,
    between_strokes,
    count_in,
    counts_broken,
    grouped,
    is_called,
    is_columned,
    is_measured,
    names_in,
    number_in,
    of_plays,
    optimised,
    parted,
    phase_above,
    result_above,
    running,
    unframed,
    with_phases,
)
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import is_score, read_name, says_no_quantity, word_set
from analyzer.model.score_words import read_score
from analyzer.record import NamedTuple

if TYPE_CHECKING:
    from analyzer.ingest.text.rows.tables.class_reports import Reports

MAX_HEAD_CHARACTERS = 400
"""A head is a line of a dozen words."""

MAX_OTHER_LINES = 60
"""Lines between two rows: bars, warnings, the lines of an evaluation; a table that is that long silent is over."""

ROWS_OF_DOUBTFUL = 3
"""Rows that a table without a counter needs: fewer are the results of some models."""

MEASURED_OF_A_HEAD = 4
"""More names of code or of what is measured, and no other word, behind a counter: no sentence."""

ROWS_OF_SCORES = 2
"""Rows of scores that need heads of the same names: a single one is the result of a model that is trained."""

_STROKES = str.maketrans("\u2502\u2503\u2551", "|||")
_CELLS = LazyRegex(
    # names of code, of which a single space parts two where one grew into the gap: "rmse_lc_val rmse_lc_trn"
    r"(?<![^\s,|])[A-Za-z][^\W_]*_\w+(?= [A-Za-z][^\W_]*_\w)|[^\s,|][^,|\t\n]*?(?=\s{2,}|\s*[,|\t]|\s*$)"
)
_WORDS = LazyRegex(r"[^\s,|]+")
# Names of columns that are two words, where single spaces part the columns: "epoch train loss valid loss accuracy".
_NAMES = LazyRegex(
    r"(?i)(?:(?:train(?:ing)?|valid(?:ation)?|val|test|eval|dev) (?:loss|acc(?:uracy)?|error|ppl|perplexity|f1|score)|[^\s,|]+)"
)
_VALUE = LazyRegex(r"[:=\[]\s{0,8}[-+]?\d|\.\d{2,20}\s{1,8}[-+]?\d{1,9}\.\d\d")
"""A number behind a sign, or two decimals side by side: what holds one is a row, and is not looked at cell by cell."""
_LENGTHS = LazyRegex(r"\b\d{1,6} (?:days?|[hms]),\s{1,4}(?=\d)")
_NUMBER_WORD = LazyRegex(r"(?<![\w@.])\d(?![dD]_)")
_HASH = LazyRegex(r"^\s{0,4}#(?=\s{1,4}[A-Za-z])")
# Two counters that a single space parts, as cells set to the right of narrow columns are: "# Epoch batch         loss".
_TWO_COUNTERS = LazyRegex(r"(?i)^\s{0,6}(?:epoch|ep) (?:batch|step|iter)\s{2}")
_EVALUATIONS = LazyRegex(r"(?i)(?<=[a-z]) (?=(?:#f|f-|func-)(?:evals|count)\b)")
_VECTOR = LazyRegex(rf"\[ {{0,8}}({NUMBER})(?:,? {{1,8}}{NUMBER}){{1,8}} {{0,8}}\]")
# A column of names that are all lower-case words, the measured one first: the lower line of a head in two.
_SECOND = LazyRegex(
    r"^\s{0,4}(?:loss|error|cost)(?:\s{1,20}[a-z]{2,12}){2,12}\s*$|^\|\s{1,40}\|[^\d]{0,200}\|\s{1,12}(?:Loss|RMSE)\s{1,12}\|"
)
_BETWEEN = LazyRegex(r"[^|]+")
_THOUSANDS = LazyRegex(r"(?<=\d),(?=\d{3}(?!\d))")
_DECIMAL_COMMA = LazyRegex(r"(?<![^\s|*-])(\d{1,9}),(?=\d{1,12}(?![^\s|*%]))")
_POINT = LazyRegex(r"\d\.\d")
# Nobody parts thousands behind a 0, nor other than three digits.
_SURE_DECIMAL = LazyRegex(r"(?<![^\s|*-])(?:0,\d{1,12}|\d{1,9},(?:\d{1,2}|\d{4,12}))(?![^\s|*%])")
_STEPS = frozenset({"step", "steps", "iter", "iteration", "global_step", "iters", "it", "#", "update", "updates", "num_updates", "batch", "iterations", "iterat", "example_counter", "gen", "n_gen", "generation", UPDATES})  # fmt: skip
_COUNTERS = EPOCHS | _STEPS
_RULE = LazyRegex(r"^[-=+|: \u2500-\u257f]{3,}$")
_HEADER_CELL = LazyRegex(r"^(?:\d[dD](?=_)|[^\W\d])[\w /.()%@#*-]{0,59}$")
_MARK = LazyRegex(r"\W{1,3}$|\(\d{1,4}/\d{1,4}\)$")
"""Behind the last column, that the row is the best so far, or how long ago that was: ``*``, ``<-``, ``(3/20)``."""
_LETTERS = {"p": "precision", "r": "recall", "f": "f1", "a": "accuracy"}
"""Columns of one letter beside a loss, as scripts of spaCy head them."""

_SAMPLES = "support"
"""The last column of a report by classes: how many samples each has."""

_CLASS = word_set("class classes category categories class_name category_name object_class label")


class Head(NamedTuple):
    """The names of the columns of a table."""

    names: tuple[str, ...]  # in lower case, words joined by underscores
    spans: tuple[tuple[int, int], ...]  # where each stands in its line
    doubtful: int = 1  # rows that are needed before the first is believed
    at_once: bool = False  # whether the first row must follow the head at once
    parts: bool = False  # its rows are those of the training and the held-out data
    scores: bool = False  # it is the result of one evaluation, in one row
    unknown: bool = (
        False  # nothing is known of its columns but the counter, or the loss: all others are decimals
    )
    classes: bool = False  # its rows are those of single classes


class PrintedTables:
    """Begins a table at its head."""

    literals = (
        "train_loss",
        "Training Loss",
        "step,loss",
        "epoch,loss",
        "epoch,step,",
        "val_loss",
        "valid_loss",
    )

    def __init__(self) -> None:
        self._read = GeneralRows("table")
        self._counter = EpochCounter()
        self._results: dict[tuple[str, ...], _Rows] = {}
        self._reports: Reports | None = None

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        head = _second_line(line) or find_head(line.text)
        if head is None:
            return False
        if head.classes:
            from analyzer.ingest.text.rows.tables.class_tables import ClassTable  # noqa: PLC0415  (few logs have one)

            log.captures.append(ClassTable(head.names, line))
            return True
        if head.names[-1] == _SAMPLES and head.scores:
            self._begin_report(head, line, log)
            return True
        of = result_above(line.before()) if head.scores else ""
        if log.has_points and head.at_once and is_called(head.names[0], "loss", "eval"):
            head = head._replace(doubtful=1)  # a single row of it tells what the training above came to
        waiting = self._results.setdefault((of, *head.names), []) if head.doubtful > 1 or head.parts else []
        phase = f"val_{of}" if head.scores else phase_above(line.before())
        log.captures.append(_Table(head, self._read, self._counter, phase, waiting))
        return True

    def _begin_report(self, head: Head, line: LogLine, log: LogState) -> None:
        from analyzer.ingest.text.rows.tables.class_reports import ClassReport, Reports  # noqa: PLC0415  (few logs hold one)

        self._reports = self._reports or Reports(self._read)
        log.captures.append(ClassReport(head.names[:-1], self._reports, line))

    def wants(self, text: str) -> bool:
        """See ``Curious.wants``."""
        return _may_head(text)

    def finish(self, log: LogState) -> None:
        """Say how much was read by this reader."""
        self._read.tell(log)


def _may_head(text: str) -> bool:
    return bool(find_head(text) or _SECOND.search(text) or ALIKE.search(text))


def find_head(text: str) -> Head | None:
    """The columns of a head, None if the line is none.

    >>> find_head("epoch     train_loss  valid_loss  time").names
    ('epoch', 'train_loss', 'valid_loss', 'time')
    >>> find_head("epoch train loss valid loss f2").names, find_head("epoch train loss valid loss f2").at_once
    (('epoch', 'train_loss', 'valid_loss', 'f2'), True)
    >>> find_head("the train_loss and the valid_loss of step 3") is None
    True
    """
    if not 8 <= len(text.strip()) <= MAX_HEAD_CHARACTERS or "%|" in text or _VALUE.search(text):
        return None  # a progress bar, of which there are ten thousands, has strokes as well
    text = _EVALUATIONS.sub("\t", _HASH.sub(" ", unframed(text).translate(_STROKES)))
    if _TWO_COUNTERS.match(text):
        return _head(list(_WORDS.finditer(text)), text, sure=True)
    spaced = "|" in text or "\t" in text or "  " in text.strip() or "," in text
    return _head(list(_CELLS.finditer(text)), text, sure=spaced) or (
        None if spaced else _head(list(_NAMES.finditer(text)), text, sure=False)
    )


def _head(cells: list[re.Match[str]], text: str, *, sure: bool) -> Head | None:
    named = [(name, cell.span()) for cell in cells for name in names_in(cell[0])]
    names = with_phases(of_plays(tuple(name for name, _ in named)))
    if names[-1:] == ("notes",):  # which most rows leave empty
        names, named = names[:-1], named[:-1]
    if names and names[0] in _COUNTERS:
        names = tuple(f"{name}_2" if name in names[:at] else name for at, name in enumerate(names))
    if "loss" in names and _LETTERS.keys() & set(names) >= {"p", "r", "f"}:
        names = tuple(_LETTERS.get(name, name) for name in names)
    if sure and names and names[0] in _CLASS:
        from analyzer.ingest.text.rows.tables.class_tables import columns_of_a_class  # noqa: PLC0415  (few logs have one)

        if classes := columns_of_a_class(names):
            return Head(classes, (), classes=True)
    doubled = len(names) < 2 or len(set(names)) < len(names)
    if doubled or not all(_HEADER_CELL.match(name) or name == "#" for name in names):
        return None
    spans = tuple(span for _, span in named)
    others = [name for name in names if name not in _COUNTERS | OTHERS]
    scores = [name for name in others if read_score(name).better or name in OF_DEPTH]
    measured = [name for name in others if is_measured(name)] or _total_of_parts(names)
    measured = measured or optimised(names, text, _COUNTERS) or (scores if len(scores) > 1 else [])
    if not measured:
        framed = text.strip().startswith("|") and names[0] in _COUNTERS and len(others) > 1
        return Head(names, spans, ROWS_OF_DOUBTFUL, at_once=True, unknown=True) if framed else None
    if not _COUNTERS.isdisjoint(names):
        return _counted_head(Head(names, spans), measured, text, sure=sure)
    if any(_NUMBER_WORD.search(cell[0]) for cell in cells):
        return None  # a row of values, not of names
    return _uncounted_head(Head(names, spans), measured, scores, text)


def _uncounted_head(head: Head, measured: list[str], scores: list[str], text: str) -> Head | None:
    """A head none of whose columns counts."""
    names, spans = head.names, head.spans
    others = [name for name in names if name not in OTHERS]
    columned = is_columned(text)
    result = Head(names, spans, doubtful=ROWS_OF_SCORES, at_once=True, scores=True)
    if columned and len(scores) == len(names):
        return result
    measured += [name for name in others if name in _LETTERS.values() and name not in measured]
    if (
        "|" in text
        and names[0] not in measured
        and len(measured) > 0
        and all(name in measured or is_score(name) for name in names[1:])
    ):
        return Head(names, spans, parts=True)
    losses = [name for name in measured if read_name(name).quantity == "loss"]
    phases = [name for name in others if read_name(name).phase and says_no_quantity(name)]
    of_both = columned and {"train", "eval"} <= {read_name(name).phase for name in losses}
    told = len(phases) > 1 or len(measured) == len(names) or of_both  # "Loss, Train, Val, Test"
    rewarded = "|" in text and names[0] in measured and read_name(names[0]).quantity == "reward_mean"
    if rewarded or (
        losses and (told or (columned and len(measured) > 1 and len(measured) * 2 > len(others)))
    ):
        return Head(names, spans, doubtful=ROWS_OF_DOUBTFUL, at_once=True)
    if columned and names[0] == "loss" and len(names) > LOSSES_ALONE and text.startswith("  "):
        return Head(names, spans, doubtful=ROWS_OF_DOUBTFUL, at_once=True, unknown=True)
    return result if columned and not losses and len(scores) > 1 and names[0] not in OTHERS else None


LOSSES_ALONE = 3
"""Columns without a counter of which the first is the loss, and the others may be anything: ``Loss  Lv  Lp  Lreg``."""


def _counted_head(head: Head, measured: list[str], text: str, *, sure: bool) -> Head | None:
    """A head one of whose columns counts."""
    names = head.names
    others = [name for name in names if name not in _COUNTERS | OTHERS]
    # Outside of a table with strokes the counter stands first, so that a sentence is no head.
    if names[0] not in _COUNTERS and "|" not in text:
        indented = sure and text.startswith("  ") and len(measured) > 1
        rows = 1 if UPDATES in names or names[-1] == "updates" else ROWS_OF_DOUBTFUL * (names[-1] in EPOCHS)
        return head._replace(doubtful=rows, at_once=True) if indented and rows else None
    told = [name for name in others if name in measured or canonical_metric(name) in METRICS]
    coded = [name for name in others if name in told or "_" in name]
    columned = (sure and ("," not in text or told == others)) or len(coded) == len(
        others
    ) > MEASURED_OF_A_HEAD
    return head._replace(at_once=not columned) if columned or len(measured) > 1 else None


def _total_of_parts(names: tuple[str, ...]) -> list[str]:
    """The column of the total loss, where the first two count epochs and batches and others stand before it: ``Epoch Batch box conf total``."""
    is_counted = len(names) > 2 and names[0] in EPOCHS and names[1] in _STEPS
    return ["total"] if is_counted and "total" in names[2 + PARTS_OF_TOTAL :] else []


PARTS_OF_TOTAL = 2
"""Columns before one called "total" that make it the total loss."""


def _second_line(line: LogLine) -> Head | None:
    """The columns of a head in two lines, of which a line is the second."""
    above = line.before().rstrip("\r\n").rpartition("\n")[2]
    if ALIKE.search(line.text):
        names, spans = grouped(above, line.text)
        known = not _COUNTERS.isdisjoint(names) and any(map(is_measured, names))
        return Head(names, spans) if known else None
    if _SECOND.search(line.text) is None:
        return None
    parts = _BETWEEN if "|" in line.text else _WORDS
    first, second = (list(parts.finditer(half.strip().strip("|"))) for half in (above, line.text))
    # MATLAB leaves the cell below a counter empty, and writes "Mini-batch" above "Loss".
    cells = ((a[0].strip().lower(), b[0].strip().lower()) for a, b in zip(first, second, strict=False))
    names = tuple("_".join(pair).strip("_").replace("i-b", "ib").replace(" ", "_") for pair in cells)
    fits = len(first) == len(second) >= CELLS_OF_TWO_LINES and len(set(names)) == len(names)
    if not fits or not any(is_measured(name) for name in names) or not _COUNTERS.intersection(names):
        return None
    return Head(names, tuple(cell.span() for cell in second), at_once=True)


CELLS_OF_TWO_LINES = 3
"""Columns of a head in two lines; lines of two words stand above each other everywhere."""


_Rows = list["tuple[dict[str, str], LogLine, int | None] | None"]  # waiting; None for one that was written


class _Table(WritesAtOnce):
    """A table in progress."""

    def __init__(
        self, head: Head, read: GeneralRows, counter: EpochCounter, phase: str, waiting: _Rows
    ) -> None:
        self._head = head
        self._read = read
        self._counter = counter
        self._phase = phase
        self._others = self._rows = 0
        self._held_out = ""
        self._decimal_commas = self._in_thousands = False
        phases = {read_name(name).phase for name in head.names if read_name(name).quantity == "loss"}
        self._scores_held_out = {"train", "eval"} <= phases
        self._waiting = waiting

    def feed(self, line: LogLine, log: LogState) -> Fed:
        """See ``Capture.feed``."""
        text = _LENGTHS.sub("", unframed(line.text).translate(_STROKES))
        if "," in text:
            text = self._with_points(text)
        if "|" in text:
            text = _THOUSANDS.sub("", text)  # between strokes no comma parts two cells
        if self._head.names[0] in ROUNDS:
            text = _VECTOR.sub(r"\1", text)  # of several objectives the first
        cells = self._cells(text)
        if cells is not None:
            self._others = 0
            return self._row(cells, line, log)
        if not text.strip() or _RULE.match(text.strip()):
            return Fed.PASSED
        self._others += 1
        lost = self._others > MAX_OTHER_LINES or (self._head.at_once and not self._rows)
        return Fed.PASSED | Fed.ENDED if lost or _may_head(text) else Fed.PASSED

    def _with_points(self, text: str) -> str:
        """A row whose numbers have decimal commas, as a table keeps them once one of its numbers can be nothing else."""
        if _POINT.search(text) or ("|" not in text and len(text.split()) != len(self._head.names)):
            return text  # its commas part thousands, or cells
        self._decimal_commas = self._decimal_commas or _SURE_DECIMAL.search(text) is not None
        return _DECIMAL_COMMA.sub(r"\1.", text) if self._decimal_commas else text

    def _cells(self, text: str) -> dict[str, str] | None:
        """The cells of a row by the name of their column, None if the line is no row."""
        names = self._head.names
        found = list[str]()
        # numbers that grew into the gap between two columns are words
        for parts, row in ((_CELLS, text), (_CELLS, parted(text)), (_WORDS, text)):
            found = found if len(found) == len(names) else parts.findall(row)
            if len(found) == len(names) + 1 and (
                ":" in found[-1] or found[-1] == "h" or _MARK.match(found[-1])
            ):
                found.pop()  # how long it took, or a mark, which the head does not name
        if len(found) != len(names) and "|" in text:  # "0h  1m  5s" is one cell
            found = between_strokes(text, len(names))
        cells = dict(zip(names, found, strict=True)) if len(found) == len(names) else self._below(text)
        if cells is None:
            return None
        if self._head.parts:
            part = cells[names[0]].strip()
            of_part = read_name(part).phase in {"train", "eval"} and says_no_quantity(part.lower())
            return cells if of_part or self._is_counted(cells) else None
        if self._head.unknown and not self._is_counted(cells):
            return None
        counters = [name for name in names if name in _COUNTERS]
        if not all(name in cells and self._counts(name, cells[name]) for name in counters):
            return None
        numbers = sum(number_in(cell) is not None for cell in cells.values())
        return cells if counters or numbers * 2 > len(cells) else None

    def _counts(self, name: str, cell: str) -> bool:
        """Whether a cell is one of a counter; beside an epoch steps may be told in thousands, which say no step."""
        broken = counts_broken(name, cell) and not EPOCHS.isdisjoint(self._head.names)
        self._in_thousands = self._in_thousands or broken
        return broken or count_in(name, cell) is not None

    def _is_counted(self, cells: dict[str, str]) -> bool:
        """Whether a row is one of a course, whatever the head calls its first column, which counts or is the loss: the others are decimals."""
        first, *others = (cell.strip(ABOUT) for cell in cells.values())
        begins = first.isdecimal() or (self._head.names[0] == "loss" and number_in(first) is not None)
        return begins and all("." in cell and number_in(cell) is not None for cell in others)

    def _below(self, text: str) -> dict[str, str] | None:
        """Cells that each begin, or each end, where the name of a column does; fewer than there are columns."""
        words = list(_WORDS.finditer(text))
        if len(words) == len(self._head.names) + 1 and words[0][0].isdigit():
            cells = dict(zip(self._head.names, (word[0] for word in words[1:]), strict=True))
            gaps = {word.end() - end for word, (_, end) in zip(words[1:], self._head.spans, strict=True)}
            return cells if len(gaps) == 1 else None  # a frame of pandas, its index left out of the head
        if not 2 <= len(words) < len(self._head.names) or "|" in text:
            return None
        for side in (0, 1):
            columns = {
                span[side]: name for name, span in zip(self._head.names, self._head.spans, strict=True)
            }
            if all(word.span()[side] in columns for word in words):
                return {columns[word.span()[side]]: word[0] for word in words}
        return None

    def _row(self, cells: dict[str, str], line: LogLine, log: LogState) -> Fed:
        self._rows += 1
        self._waiting.append((cells, line.detached(), log.step if self._head.scores else None))
        end = Fed.ENDED if self._head.scores else Fed.PASSED
        counted = self._head.parts and self._is_counted(cells)
        if len(self._waiting) < (ROWS_OF_DOUBTFUL if counted else self._head.doubtful):
            return end
        for row in filter(None, self._waiting):
            self._write(*row, log)
        self._waiting[:] = [None] * ((ROWS_OF_DOUBTFUL if counted else self._head.doubtful) - 1)
        return Fed.OWNED | end

    def _write(self, cells: dict[str, str], line: LogLine, step: int | None, log: LogState) -> None:
        values: dict[str, float] = {}
        epoch: int | None = None
        total = _total_of_parts(self._head.names)
        part = "val_" if line.text.rstrip().endswith(" h") else ""  # Vowpal Wabbit marks held-out rows so
        if self._head.parts and self._is_counted(cells):
            cells = {name: cell for name, cell in cells.items() if name != self._head.names[0]}
        elif self._head.parts:
            part = self._part(cells[self._head.names[0]].strip().lower())
        for name, cell in cells.items():
            of_none = (self._head.scores or name == OF_NONE) and cell.strip() == "nan"
            number = None if of_none else number_in(cell)
            if name in _STEPS:
                again = self._in_thousands or step is not None
                step = step if again else running(epoch, cell, count_in(name, cell))
            elif name in EPOCHS:
                epoch = count_in(name, cell)
            elif name in total and number is not None:
                values["total_loss"] = number
            elif name not in EPOCHS | OTHERS and number is not None:
                named = name.removeprefix("main/").replace("validation/main/", "validation/")
                values[(part or self._phase_of(name)) + named] = number
        if self._phase == "eval" and epoch is not None:
            step = log.step or (None if step is None else 0)  # its batches are counted by themselves
        elif "batch" in cells and epoch is not None and step == count_in("batch", cells["batch"]):
            step = self._counter.running(step or 0, epoch)
        if step is not None:
            log.saw_step(step)
        for name, value in values.items():
            log.metric(name, value, line, step)
        self._read.note(line, values, step)

    def _phase_of(self, name: str) -> str:
        """Fastai and HF notebooks: beside both losses a score without a word more is that of the evaluation."""
        if self._head.scores:
            return self._phase
        score = read_score(name)
        if self._phase == "eval" and not score.phase:
            return "val_"
        told = score.phase or name.startswith("batch")
        return "val_" if self._scores_held_out and score.better and not told else ""

    def _part(self, word: str) -> str:
        """What stands before the names of a row; of several held-out parts the first is what others call held out."""
        if read_name(word).phase == "eval":
            self._held_out = self._held_out or word
            return f"{word}_" if word == self._held_out else f"part/{word}_"
        return f"{word}_"
