"""Drive the parsers of lines over a log: scan each block, and spend Python time on hits only."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext

from analyzer.ingest.base import SourceWriter
from analyzer.ingest.text.events.patterns import Pattern, all_patterns, match_pattern
from analyzer.ingest.text.failures.error_lines import is_code_or_row, is_plain_error
from analyzer.ingest.text.grammars import grammars
from analyzer.ingest.text.log_line import (
    Capture,
    Curious,
    Fed,
    Learnable,
    LineGrammar,
    LogLine,
    LogState,
    make_line,
)
from analyzer.ingest.text.prefixes import peel
from analyzer.ingest.text.rows.forms.block_forms import BlockForms, FormBlock
from analyzer.ingest.text.rows.learned.learned_blocks import LearnedBlocks
from analyzer.ingest.text.rows.learned.line_masks import is_only_bar
from analyzer.ingest.text.rows.learned.row_batches import Rest, Rows
from analyzer.ingest.text.scan import LiteralScanner, PatientScanner, Prefilter, fast_prefilter
from analyzer.ingest.text.setup.log_end import EndKeeper
from analyzer.ingest.text.text_layer import Block, record_end, record_start
from analyzer.model.run import LogEnd
from analyzer.model.tables import Scalar
from analyzer.vocabulary.packs import remembered

MAX_CAPTURED_LINES = 20_000
"""Lines after which a capture is given up: the longest real one, a configuration dump, has about 2,000."""

MAX_MATCHED_CHARACTERS = 8_000
"""Characters of a line that a pattern sees; the longest real message (a launcher's command) has 3,000."""

FAST_FROM_BYTES = 256 << 10
"""Size from which a log is searched by the fast engine, which takes 30 ms to start, and as long to read ten times as much as
the slow one."""

MAX_CAPTURES = 64
"""Captures at the same time; one for each rank of a node that dies is usual."""


FIRST_BYTES, PIECE_BYTES = 8_192, 131_072
"""Parts of the first block, each twice as large as the one before, up to a size: some fifty rows are enough to learn from, and
a few epochs to learn how they count."""

MIN_SCANNED_ANEW, SCANS_ANEW = 8_192, 3
"""Bytes below a row with which a wording was learned that are worth looking for its like at once, and not from the next block on;
and how often in a block: what is learned and unlearned row after row must not make a block cost a hundred times as much."""

CURIOUS_WORDINGS = 1_000
"""Wordings without a row or a known literal that are looked at in one log, about 50 microseconds each."""

CURIOUS_BLOCKS = 3
"""Blocks (of one MiB) whose every line is looked at; beyond, only if lines without a known literal were rows."""

ASKED_AGAIN = 500
"""Lines of a wording that are looked at before the readers are asked whether they still want it."""

MAX_CURIOUS_BYTES = 4_000
"""Longer lines than this that hold no known literal are no rows."""

ENDING_LINES = 2
"""Lines at the end of a log in which an error is its end, whatever stands above; a shell adds one."""

LINES_GONE_ON = 60
"""Lines below an error after which a program of which nothing else is known has gone on: a long stack has fewer."""

_DIGITS, _ONE_BREAK = b"0123456789", bytes.maketrans(b"\r", b"\n")
_NO_HIT = (-1, -1)

_NAME_A_TENSOR = frozenset({"autograd_anomaly", "nan_detector", "nonfinite_hook", "bucket_gradient_nonfinite", "device_float_exception"})  # fmt: skip
"""Events that become rows of the numeric table, see ``localiser_rows``."""

_KINDS_WITH_STEP = frozenset({"grad_overflow_iteration"})
"""Events whose step is the step that the log has reached."""


class _Table:
    """The literals of all patterns and grammars, and who wants which."""

    def __init__(self, patterns: tuple[Pattern, ...], grammar_literals: list[tuple[str, ...]]) -> None:
        wanted: dict[bytes, tuple[list[int], list[int]]] = {}
        for index, pattern in enumerate(patterns):
            for literal in pattern.literals:
                wanted.setdefault(literal.encode(), ([], []))[0].append(index)
        for index, literals in enumerate(grammar_literals):
            for literal in literals:
                wanted.setdefault(literal.encode(), ([], []))[1].append(index)
        self.literals = tuple(wanted)
        self.scanner = PatientScanner(self.literals)
        self.pattern_indices = [tuple(who[0]) for who in wanted.values()]
        self.grammar_indices = [tuple(who[1]) for who in wanted.values()]
        # One index more, for a line that holds no literal but reads like a row.
        self.curious = len(wanted)
        self.pattern_indices.append(())
        self.grammar_indices.append(
            tuple(i for i, grammar in enumerate(grammars()) if isinstance(grammar, Curious))
        )
        self.quiet = frozenset(
            literal
            for literal, (of_patterns, of_grammars) in enumerate(wanted.values())
            if not of_grammars and all(patterns[i].kind not in _KINDS_WITH_STEP for i in of_patterns)
        )


@remembered
def _table() -> _Table:
    return _Table(all_patterns(), [grammar.literals for grammar in grammars()])


def literal_hits(data: bytes) -> int:
    """Number of known literals that occur in some bytes: how much they look like a log."""
    return len({index for _, index in _table().scanner.find(data)})


def _is_listed_source(line: LogLine) -> bool:
    """Whether a line is a ``raise`` within a program that was printed as a whole, not one on which a frame stopped."""
    text = line.text
    if not text[:1].isspace() or not text.lstrip().startswith("raise "):
        return False  # at the left edge it is what somebody asks about
    return 'File "' not in line.before().rstrip().rpartition("\n")[2]


def _near_literal(pattern: Pattern, text: str) -> str:
    """The part of a very long line around what was found: bounds the work of any expression."""
    if len(text) <= MAX_MATCHED_CHARACTERS:
        return text
    at = min((found for literal in pattern.literals if (found := text.find(literal)) >= 0), default=0)
    start = max(0, at - MAX_MATCHED_CHARACTERS // 4)
    return text[start : start + MAX_MATCHED_CHARACTERS]


class LogReader:
    """Reads one log into one source.

    Attributes:
        rows_in_blocks: Lines that were read in blocks.
    """

    def __init__(self, out: SourceWriter) -> None:
        self.state = LogState(out)
        self._table = _table()
        self._scanner: Prefilter = self._table.scanner
        self._blocks_read = self._bytes_given = 0
        self._patterns = all_patterns()
        self._grammars: tuple[LineGrammar, ...] = grammars()
        self._lines_left: dict[int, int] = {}
        self.rows_in_blocks = 0
        self._muted: set[int] = set()
        self._deaf: set[int] = set()
        # asked once: looking at a protocol costs as much as reading a row
        self._learnable = [one if isinstance(one, Learnable) else None for one in self._grammars]
        curious = (self._grammars[index] for index in self._table.grammar_indices[self._table.curious])
        self._curious = tuple(grammar for grammar in curious if isinstance(grammar, Curious))
        self._wordings: dict[bytes, int] = {}  # for how many lines each is wanted, see ASKED_AGAIN
        self._bars: set[bytes] = set()
        self._barren = 0
        self._fruitful = False
        self._learned = LearnedBlocks()
        self._block_forms = next(one for one in self._grammars if isinstance(one, BlockForms))

    def read(self, blocks: Iterable[Block], *, of_run: bool = True) -> None:
        """Read all blocks and finish; where a log that is not the run's stops, it tells nothing of the run."""
        ends = EndKeeper()
        for block in ends.pass_on(blocks):
            self._blocks_read += 1
            self._bytes_given += len(block.data)
            for piece in _pieces(block) if self._blocks_read == 1 else (block,):
                self._read_block(piece)
        end = ends.end(self.state.out.source) if of_run else None
        if end is not None:
            self.state.out.log_end(end)
            self.state.last_line = end.line
        for capture in self.state.captures:
            capture.finish(self.state)
        self.state.captures.clear()
        for grammar in self._grammars:
            grammar.finish(self.state)
        if end is not None:
            self._unknown_error(end)
            self._only_warned(ends)

    def _only_warned(self, ends: EndKeeper) -> None:
        """Note the last line that warns where nothing else was told: the log was read, and reports no failure."""
        warned = ends.warning() if self.state.is_empty else None
        if warned is not None:
            raw = warned[1].encode()
            self.state.event("warning_line", "info", make_line(raw, 0, len(raw), warned[0], None))

    def _unknown_error(self, end: LogEnd) -> None:
        """Note the last line that is plainly an error where nothing else was told, or where the log ends with it.

        A line that may be one is noted too, but fails no run: its words must be like known messages to be a doubt.
        """
        state = self.state
        near = [(number, text) for number, text in end.errors if end.line - number < LINES_GONE_ON]
        errors = [(number, text) for number, text in near if not is_code_or_row(text)]
        plain = [(number, text) for number, text in errors if is_plain_error(text)]
        above = -1 if state.is_empty else max(state.told_line, end.line - ENDING_LINES)
        if plain and plain[-1][0] > above:
            (number, text), role = plain[-1], "symptom"
        elif errors and errors[-1][0] > above:
            (number, text), role = errors[-1], "info"
        else:
            return
        raw = text.encode()
        state.event("error_line", role, make_line(raw, 0, len(raw), number, None))

    def _read_block(self, block: Block) -> None:
        """Walk over the lines with a hit, or over all while a capture listens; rows come in between in order."""
        data, newlines = block.data, block.newlines.tolist()
        hits, rows = self._scan(block)
        at, position, left = 0, 0, SCANS_ANEW
        while True:
            if self.state.captures:
                start = position
            elif at < len(hits):
                start = record_start(data, hits[at][0], position)
            else:
                break
            if start >= len(data):
                break
            end = record_end(data, start)
            last = at
            while last < len(hits) and hits[last][0] < end:
                last += 1
            waits = self._may_wait(block, rows, hits[at:last])
            if not waits:
                rows.take_before(start, block, self.state)
            if rows.taken < len(rows) and rows.starts[rows.taken] == start:
                if self._ended_by_row():
                    continue
                # A capture listens: the row is read as lines after all.
                found_in = self._table.scanner.find(data[start : rows.ends[rows.taken]])
                hits[at:at] = [(start + position, index) for position, index in found_in]
                rows.taken += 1
                self.rows_in_blocks -= 1
            found: list[int] = []
            while at < len(hits) and hits[at][0] < end:
                if hits[at][0] >= start:
                    found.append(hits[at][1])
                at += 1
            if end > start:
                index = bisect_left(newlines, start)
                line = make_line(data, start, end, block.number(index), block.time_s(index))
                with self._at_step(rows.step_before(start, self.state)) if waits else nullcontext():
                    self._read_line(line, found)
            # A piece of an endless line has no separator to skip.
            position = end + 1 if data[end : end + 1] in (b"\n", b"\r") else max(end, start + 1)
            worth = len(data) - position > MIN_SCANNED_ANEW and left > 0
            if self._learned.more and worth and not self.state.captures:
                rows.take_before(position, block, self.state)
                self.rows_in_blocks, left = self.rows_in_blocks + rows.taken, left - 1
                at, (hits, rows) = 0, self._scan(block, position)
        rows.take_before(len(data), block, self.state)
        self.rows_in_blocks += len(rows)

    def _ended_by_row(self) -> bool:
        """End the captures that listen if each is of something below which a row may follow, but not within."""
        if not all(getattr(capture, "ends_at_rows", False) for capture in self.state.captures):
            return False
        for capture in self.state.captures:
            capture.finish(self.state)
            self._lines_left.pop(id(capture), None)
            self._watch_block(capture)
        self.state.captures.clear()
        return True

    def _watch_block(self, capture: Capture) -> None:
        """Learn from a block of lines that was read line by line, whose points stand at the step above it."""
        if isinstance(capture, FormBlock) and capture.told:
            self._learned.watch(capture.as_line(), self._block_forms, capture.told, self.state.step)

    def _may_wait(self, block: Block, rows: Rows, hits: list[tuple[int, int]]) -> bool:
        """Whether a line with some hits can be read before the rows above it: it only makes events."""
        return (
            len(rows) > 0
            and not self.state.captures
            and self._table.quiet.issuperset(literal for _, literal in hits)
            and rows.can_wait(block, self.state)
        )

    @contextmanager
    def _at_step(self, step: int | None) -> Iterator[None]:
        """Read something as if the log had reached a step."""
        reached, self.state.step = self.state.step, step
        yield
        self.state.step = reached

    def _scan(self, block: Block, begin: int = 0) -> tuple[list[tuple[int, int]], Rows]:
        """Where something was found in a block, and its rows, from a position on."""
        if self._scanner is self._table.scanner and self._bytes_given >= FAST_FROM_BYTES:
            literals = self._table.literals
            self._scanner = fast_prefilter(literals) or LiteralScanner(literals, block.data)
        learned = list(self._learned.batches(block, self.state.step, begin))
        if not learned:
            hits = self._hits(block.data)
        else:
            rest = Rest(block.data, learned)
            hits = rest.placed(self._hits(rest.data))
        return hits[bisect_left(hits, (begin,)) :], Rows(learned)

    def _hits(self, data: bytes) -> list[tuple[int, int]]:
        hits = self._scanner.find(data)
        if self._blocks_read <= CURIOUS_BLOCKS or self._fruitful:
            hits = self._with_curious(data, hits)
        if self._deaf:
            hits = [hit for hit in hits if hit[1] not in self._deaf]
        return hits

    def _with_curious(self, data: bytes, hits: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """The hits, and one more at the beginning of each record that reads like a row though it holds no literal.

        Of redraws of a bar that shows no values, between which nothing is hit, the first and the last: they say where what comes
        below stands.
        """
        more: list[tuple[int, int]] = []
        bars: set[tuple[int, int]] = set()
        # one call for all records: one for each of them would cost more than looking a wording up
        wordings = data.translate(_ONE_BREAK, _DIGITS).split(b"\n")
        edges = [-1, *Block(data).breaks.tolist(), len(data)]
        for at, left in enumerate(map(self._wordings.get, wordings)):
            if left == 0 or (left is None and self._barren >= CURIOUS_WORDINGS):
                continue
            start, wording = edges[at] + 1, wordings[at]
            text = data[start : edges[at + 1]]
            if left is None and not 0 < len(text) <= MAX_CURIOUS_BYTES:
                continue
            lines = (left or 0) - 1
            if lines <= 0:
                message = peel(text.decode("utf-8", "replace")).text
                wanted = any(grammar.wants(message) for grammar in self._curious)
                self._barren += left is None and not wanted
                if wanted and is_only_bar(message):
                    self._bars.add(wording)
                lines = ASKED_AGAIN * wanted
            self._wordings[wording] = lines
            if lines and text:
                more.append((start, self._table.curious))
                if wording in self._bars:
                    bars.add(more[-1])
        merged = sorted([*hits, *more]) if more else hits
        near = zip([_NO_HIT, *merged], merged, [*merged[1:], _NO_HIT], strict=False)
        return [hit[1] for hit in near if not bars.issuperset(hit)] if bars else merged

    def _read_line(self, line: LogLine, found: list[int]) -> None:
        captures = self.state.captures
        owned = self._feed_captures(line, list(captures)) if captures else False
        if owned or not found:
            return
        table = self._table
        state = self.state
        before = len(captures), state.total_steps
        state.written = []
        reader: Learnable | None = None
        for index in sorted({i for literal in found for i in table.grammar_indices[literal]}):
            if self._grammars[index].feed(line, state):
                self._fruitful = self._fruitful or found == [table.curious]
                reader = self._learnable[index]
                break
        written, state.written = state.written, None
        told: dict[str, tuple[Pattern, dict[str, Scalar]]] = {}
        asked = {i for literal in found for i in table.pattern_indices[literal]}
        if asked and _is_listed_source(line):
            asked.clear()
        for index in sorted(asked):
            if index in self._muted or (fields := _fields_of(self._patterns[index], line)) is None:
                continue
            pattern = self._patterns[index]
            # several patterns of one kind see several parts of one line: it is one event
            first, known = told.get(pattern.kind, (pattern, {}))
            told[pattern.kind] = first, {**fields, **known}
        for pattern, fields in told.values():
            self._tell(pattern, fields, line)
        quiet = state.told_line != line.number and before == (len(captures), state.total_steps)
        if written and quiet and reader is not None:
            self._learned.watch(line, reader, tuple(written), state.step)
        self._bound_captures()

    def _feed_captures(self, line: LogLine, captures: list[Capture]) -> bool:
        owned = False
        for capture in captures:
            fed = capture.feed(line, self.state)
            owned = owned or bool(fed & Fed.OWNED)
            left = self._lines_left.get(id(capture), MAX_CAPTURED_LINES) - 1
            self._lines_left[id(capture)] = left
            if not fed & Fed.ENDED and left > 0:
                continue
            if not fed & Fed.ENDED:
                capture.finish(self.state)
            self.state.captures.remove(capture)
            del self._lines_left[id(capture)]
            self._watch_block(capture)
        return owned

    def _bound_captures(self) -> None:
        while len(self.state.captures) > MAX_CAPTURES:
            oldest = self.state.captures.pop(0)
            self._lines_left.pop(id(oldest), None)
            oldest.finish(self.state)

    def _tell(self, pattern: Pattern, fields: dict[str, Scalar], line: LogLine) -> None:
        if pattern.once:
            key = (pattern.kind, *sorted(fields.items()))
            if not self.state.first(*key):
                return
        step, name = fields.get("step"), fields.get("name")
        if isinstance(step, int) and pattern.kind in _KINDS_WITH_STEP:
            self.state.saw_step(step)
        if isinstance(name, str) and pattern.kind == "gpu_named":
            self.state.out.layout(gpu_name=name, line=line.number)
        self.state.event(pattern.kind, pattern.role, line, fields)
        if pattern.kind in _NAME_A_TENSOR:
            from analyzer.ingest.text.failures.localiser_rows import localiser_rows  # noqa: PLC0415  (few logs hold one)

            for row in localiser_rows(pattern.kind, fields, line.raw, line.number, self.state.step):
                self.state.out.replay(row, line=line.number)
        if not self.state.out.keeps(pattern.kind):
            self._mute(pattern.kind)

    def _mute(self, kind: str) -> None:
        """Look no longer for lines of a kind of which no further event is kept."""
        self._muted.update(i for i, pattern in enumerate(self._patterns) if pattern.kind == kind)
        table = self._table
        self._deaf = {
            literal
            for literal, indices in enumerate(table.pattern_indices)
            if not table.grammar_indices[literal] and self._muted.issuperset(indices)
        }


def _pieces(block: Block) -> Iterator[Block]:
    """A block in parts that end at a line, the first ones small: what is learned from one serves the next."""
    if block.numbers is not None:
        yield block
        return
    start, line, size = 0, block.first_line, FIRST_BYTES // 2
    while True:
        size = min(2 * size, PIECE_BYTES)
        end = block.data.rfind(b"\n", start, start + size) + 1
        if not end or len(block.data) - end < size:
            break
        yield Block(block.data[start:end], line)
        start, line = end, line + block.data.count(b"\n", start, end)
    yield Block(block.data[start:], line)


def _fields_of(pattern: Pattern, line: LogLine) -> dict[str, Scalar] | None:
    """The fields of a line, as written or behind its prefix, where a form that begins its line may stand."""
    fields = match_pattern(pattern, _near_literal(pattern, line.raw))
    if fields is None and line.text != line.raw:
        return match_pattern(pattern, _near_literal(pattern, line.text))
    return fields
