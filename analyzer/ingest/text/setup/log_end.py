"""Where a log begins and stops: counters of progress, times of day, and its last words.

Looks at the first and the last kilobytes only, and at every program alike: ``Epoch 06/400``, ``step 130/300``,
``43%|####  | 130/300 [``. What the rows in between mean is read elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from analyzer.ingest.text.failures.error_lines import error_lines, last_warning
from analyzer.ingest.text.prefixes import peel
from analyzer.ingest.text.setup.epoch_course import EPOCH, EpochCourse, is_heading, is_only_begun
from analyzer.ingest.text.text_layer import Block, is_piece
from analyzer.lazy_regex import LazyRegex
from analyzer.model.ranked import median_of
from analyzer.model.run import LogEnd

KEPT_BYTES = 32_768
"""Of each end of the log: some hundred rows, or a hundred redraws of a wide progress bar."""

LONGEST_LINE = 600
"""Characters of a line that are looked at; a counter stands near its beginning or in a bar of a screen's width."""

LAST_LINES = 6
"""Lines before the end in which a program says that it is done; what follows them is a launcher's or a shell's."""

BUFFER_BYTES = 8_192
"""What Python, as the C library, keeps back of an output that is no terminal. An error goes out at once, and the rows that
were printed before it when the process ends: they stand below it."""

HEAD_LINES = 100
TAIL_LINES = 400
"""Lines of each end that are looked at: the first ones show where counting began."""

FULL = 0.9
"""Part of a counter after which it begins again in the next epoch; rows come every so many steps."""

MAX_BEGINS = 200
"""Lines like the first one that are noted; a line that comes more often begins no launch."""

BANNER_BYTES = 10
"""Bytes without a digit that the first line must hold, so that it can be found again."""

_BARE = re.compile(rb"[\W_]*|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d .{0,24}", re.DOTALL)
"""A rule across the console, or what ``date`` prints: what a program, or ``nvidia-smi``, says stands below it."""
BARE_LINES = 2
"""Lines without words above the first one with words: a table has a date and a rule, a heading a rule."""

_COUNTS = LazyRegex(r"\d[ \t]{0,3}(?:/|of)[ \t]{0,8}\d")
"""Two numbers of a counter in the last lines: a look that spares the closer one."""

_ARGUMENTS = b"Namespace("
"""How the arguments of a program begin where it prints them, which it does once."""

TOLD_LINES = 12
"""Last lines that are kept of a log in which nothing reads like an error: 6 to 25 name as many causes of 1,116 failed runs."""

TIMED_LINES = 60
"""Last lines whose times are compared; peeling a prefix costs more than all else here."""

_STEP = LazyRegex(
    r"(?i)(?<![A-Za-z])(?:global[_ ]?)?(?:steps?|iter(?:ation)?s?|it|updates?|train[_ ]iters?)\b[\"'\])]{0,2}[ \t]{0,4}[:=#\[(]{0,3}[ \t]{0,12}"
    r"(\d{1,10})[ \t]{0,4}(?:/|of|out of)[ \t]{0,12}(\d{1,10})"
)
_PERCENT = LazyRegex(
    r"\bProgress: {0,3}(\d{1,12}) {0,3}/ {0,3}(\d{1,12}) {0,3}[\[(]\d{1,3}(?:\.\d{1,3})?%[\])]"
    r".{0,40}?\b(?:s(?:ec)?/it(?:er|eration)?|it(?:er|eration)?s?/s(?:ec)?|(?:s(?:ec)?/step|steps?/s(?:ec)?))\b"
)
"""Trackers of objects count all steps so: "Progress: 1400 / 9000 [15%], Speed: 0.2 s/iter". What names no step prepares data as well."""
_CHAINER = LazyRegex(r"^[ \t]{0,16}(\d{1,12}) iter, \d{1,7} epoch / (\d{1,12}) iterations\b")
"""The third line of Chainer's bar, which counts all iterations whatever it says of epochs."""
_BAR = LazyRegex(r"^[ \t]{0,8}\d{1,3}%\|[^|]{0,400}\| {0,3}(\d{1,12})/(\d{1,12}) \[")
_TITLED_BAR = LazyRegex(r"^[^|%]{1,120}\d{1,3}%\|[^|]{0,400}\| {0,3}(\d{1,12})/(\d{1,12}) \[")
_LEFT = LazyRegex(
    r"\beta: (?:(\d{1,3}) days?, )?(\d{1,3}):(\d\d):(\d\d) {1,3}iter: (\d{1,10}) .{0,400}? time: (\d{1,5}\.\d{1,6})"
)
"""Detectron's rows, which name no number of steps but the time that is left, and that of a step."""
_STEP_OF_BAR = LazyRegex(r"\[[^\]]{0,200}\b(?:global_)?step=(\d{1,12})\b")
_WITHIN = LazyRegex(
    r"^[ \t\x08]{0,8}(\d{1,9})/(\d{1,9})(?: {1,3}\[|[ \t]{0,3}━)|\][ \t]{0,2}\[[ \t]{0,6}(\d{1,9})/[ \t]{0,6}(\d{1,9})\]"
    r"|(?i:\bbatch(?:es)?)\b[ \t]{0,3}[:=\[(]{0,2}[ \t]{0,8}(\d{1,9})[ \t]{0,3}(?:/|of)[ \t]{0,8}(\d{1,9})"
)
_BARE_EPOCH = LazyRegex(r"(?i)^\W{0,12}(?:start(?:ing)? |begin(?:ning)? )?epoch\W{0,3}(\d{1,6})(?![\d/.])")
_ROUND = LazyRegex(r"\[ROUND (\d{1,7})(?:/(\d{1,7}))?\]")
_ROUNDS = LazyRegex(r"\bnum_rounds[=:] ?(\d{1,7})\b")
"""Flower counts rounds of federated training in headings, and names their number once, in its first lines."""
_YOLO = LazyRegex(r"^[ \t]{1,12}(\d{1,6})/(\d{1,6})[ \t]{2,20}[\d.]{1,8}[GM]\b")

# What programs of all kinds write as their very last words. Only lines at the end of a log are held against this.
_DONE = LazyRegex(
    r"(?i)^(?:\W{0,12}(?:all |i'm |job |run |script |experiment |everything |process )?(?:is |was |has )?(?:done|finished|completed?|success(?:ful(?:ly)?)?)\W{0,12}$"
    r"|.{0,80}\b(?:training|optimi[sz]ation|fit(?:ting)?|experiment|finetuning|fine-tuning|run|job) (?:is |was |has |run )?(?:successfully )?(?:done|finished|complete[d]?|ended)\b"
    r"|.{0,80}\b(?:finished|completed) (?:training|successfully|all \d{1,9} (?:epochs|steps|iterations))\b"
    r"|\W{0,6}total (?:training |train |wall |run )?time\b|\W{0,6}(?:training|elapsed|wall(?:-clock)?) time\b)"
)
_AFTERWARDS = LazyRegex(
    r"(?i)^\W{0,12}(?:final|test(?:ing)?|best) (?:\w{1,20} ){0,2}(?:acc(?:uracy)?|loss|score|f1|auc|bleu|wer|map|miou|perplexity|ppl|results?|metrics?|evaluation|model|checkpoint)\b"
)


class EndKeeper:
    """Keeps both ends of a log while it is read in blocks."""

    def __init__(self) -> None:
        self._size = 0
        self._head = b""
        self._tail = b""
        self._block: Block | None = None
        self._times: list[float] = []
        self._banner = b""
        self._begins: list[int] = []
        self._epochs = EpochCourse()

    def pass_on(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """The same blocks."""
        for block in blocks:
            self._size += len(block.data)
            if len(self._head) < KEPT_BYTES:
                self._head += block.data[: KEPT_BYTES - len(self._head)]
            self._tail = (
                (self._tail + block.data)[-KEPT_BYTES:]
                if len(block.data) < KEPT_BYTES
                else block.data[-KEPT_BYTES:]
            )
            if block.times_s is not None:
                self._times.extend(
                    time_s for time_s in (block.times_s[0], block.times_s[-1]) if time_s is not None
                )
            self._find_banner(block)
            self._epochs.note(block)
            self._block = block
            yield block

    def _find_banner(self, block: Block) -> None:
        """Note where the longest piece without digits of the log's first line with words comes again."""
        at = 0
        if self._block is None:
            first, at = _first_words(block.data)
            self._banner = max(re.split(rb"[\d\r]+", first), key=len, default=b"")
            if _ARGUMENTS in first:  # what stands behind it differs from launch to launch
                self._banner = _ARGUMENTS
            # the heading of an exception begins no program, whichever rank it is of
            says_nothing = b"Traceback (most recent" in first or not re.search(rb"[^\W_]{3}", self._banner)
            if len(self._banner.strip()) < BANNER_BYTES or not at or says_nothing:
                self._banner = b""
        while self._banner and (at := block.data.find(self._banner, at)) >= 0:
            index = int(block.newlines.searchsorted(at))
            self._begins.append(block.number(index))
            at += len(self._banner)
            if len(self._begins) > MAX_BEGINS:
                self._banner, self._begins = b"", []

    def _of_last_launch(self, lines: list[str]) -> list[str]:
        """The lines from the last banner on, if counting begins again there and the part above it is over."""
        banner = self._banner.decode("utf-8", "replace")
        at = max((i for i, line in enumerate(lines) if self._begins and banner and banner in line), default=0)
        if not at:
            return lines
        above, below = _Progress((), lines[:at]), _Progress((), lines[at:])
        over = above.is_short or any(_DONE.search(peel(line).text) for line in lines[:at])
        return lines[at:] if over and below.begins_before(above) else lines

    def _last_line(self) -> int:
        """Number of the last line that is not blank."""
        assert self._block is not None
        blank = self._tail[len(self._tail.rstrip()) :].count(b"\n")
        return self._block.number(max(self._block.newlines.size - blank, 0))

    def _last_lines(self) -> tuple[int, list[str]]:
        """The lines of the tail, and the number of the first of them."""
        texts = self._tail.rstrip().split(b"\n")[-TAIL_LINES:]
        lines = [text[:LONGEST_LINE].decode("utf-8", "replace").rstrip("\r") for text in texts]
        return self._last_line() - len(lines) + 1, lines

    def _errors(self) -> tuple[tuple[int, str], ...]:
        """The last lines that read like errors, with their numbers."""
        first, lines = self._last_lines()
        return tuple((first + at, lines[at]) for at in error_lines(lines) if first + at > 0)

    def _words(self) -> tuple[tuple[int, str], ...]:
        """The last lines that hold something, with their numbers."""
        first, lines = self._last_lines()
        told = [(first + at, line) for at, line in enumerate(lines) if first + at > 0 and line.strip()]
        return tuple(told[-TOLD_LINES:])

    def warning(self) -> tuple[int, str] | None:
        """The last line that warns, with its number."""
        first, lines = self._last_lines()
        at = last_warning(lines)
        return None if at is None or first + at <= 0 else (first + at, lines[at])

    def _is_cut_off(self, tail: Sequence[str]) -> bool:
        """Whether the log stops within a row, within a count, or below the heading of an epoch."""
        before, _, last = self._tail.rpartition(b"\n")
        if last.strip() and is_piece(last, before):
            return True
        if is_heading(tail[-1]) and is_only_begun(_lines(self._head), tail):
            return True
        if not any(map(_COUNTS.search, tail[-3:])):
            return False
        from analyzer.ingest.text.setup.open_counter import stops_within  # noqa: PLC0415  (few logs end in a counter)

        return stops_within(self._tail.decode("utf-8", "replace"))

    def end(self, source: int) -> LogEnd | None:
        """What the two ends say; None for an empty log."""
        if self._block is None:
            return None
        torn = not self._tail.endswith((b"\n", b"\r"))
        # Of a short log the two ends overlap: what the tail holds is left out of the head.
        head = _lines(self._head[: max(0, self._size - len(self._tail))])
        tail = _lines(self._tail)
        if len(self._tail) == KEPT_BYTES:
            tail = tail[1:]  # the first one is a piece
        head = [*head, *tail[:-TAIL_LINES]][:HEAD_LINES]
        tail = self._of_last_launch(tail[-TAIL_LINES:])
        if not tail:
            return None
        last = [peel(line) for line in tail[-TIMED_LINES:]]
        stamps = [word.time_s for word in last if word.time_s is not None] or self._times[-1:]
        first = next(
            (t for line in (head or tail)[:HEAD_LINES] if (t := peel(line).time_s) is not None), None
        )
        if self._epochs.line and not any(EPOCH.search(line) for line in tail):
            head = [*head, self._epochs.line]  # an epoch longer than what is kept began above it
        progress, errors = _Progress(head, tail), self._errors()
        if progress.first_epoch is None:
            progress.first_epoch = _bare_epoch(_lines(self._head)[:HEAD_LINES])
        last_epoch = _bare_epoch(reversed(tail)) if progress.epoch is None else progress.epoch
        return LogEnd(
            source=source,
            line=self._last_line(),
            text=tail[-1],
            torn=torn,
            cut_off=self._is_cut_off(tail),
            first_time_s=next(iter(self._times), None) if first is None else first,
            last_time_s=stamps[-1] if stamps else None,
            interval_s=_usual_gap(stamps),
            epoch=progress.epoch,
            epochs=progress.epochs,
            first_epoch=progress.first_epoch,
            last_epoch=last_epoch,
            step=progress.step,
            steps=progress.steps,
            within_epoch=progress.within,
            epoch_done=self._epochs.is_done(tail),
            last_words=_last_words([word.text for word in last[-LAST_LINES:]]),
            afterwards=progress.afterwards,
            begins=tuple(self._begins),
            errors=errors,
            last_lines=() if errors else self._words(),
            flushed=self._last_line() - self._tail.rstrip()[-BUFFER_BYTES:].count(b"\n"),
        )


def _first_words(data: bytes) -> tuple[bytes, int]:
    """The first line of a log that says something, and where the next one begins; 0 if there is none."""
    at, line = len(data) - len(data.lstrip()), b""
    for _ in range(BARE_LINES + 1):
        end = data.find(b"\n", at)
        line = data[at:end] if end >= 0 else data[at:]
        at = end + 1
        if not at or not _BARE.fullmatch(line.rstrip()):
            break
    return line[:LONGEST_LINE], at


def _lines(data: bytes) -> list[str]:
    """Lines that hold something, not beyond their usual length; each redraw of a bar counts as one."""
    parts = re.split(rb"[\r\n]+", data)
    return [part[:LONGEST_LINE].decode("utf-8", "replace") for part in parts if part.strip()]


def _usual_gap(stamps: Sequence[float]) -> float | None:
    """Median distance between times that differ: several lines share one second."""
    gaps = [second - first for first, second in pairwise(stamps) if second > first]
    return float(median_of(gaps)) if gaps else None


def _last_words(texts: Sequence[str]) -> str:
    """The line near the end in which the program says that it is done; empty if it does not."""
    return next((text.strip() for text in reversed(texts) if _DONE.search(text)), "")


def _bare_epoch(lines: Iterable[str]) -> int | None:
    """The first counter of epochs that is printed without its end: it says where the log begins or ends, and no more."""
    found = (_BARE_EPOCH.match(peel(line).text) for line in lines if "poch" in line)
    return next((int(match[1]) for match in found if match is not None), None)


STANDS_STILL = 20
"""Prints of one and the same counter; a bar that hangs is drawn once."""


class _Progress:
    """The counters at both ends of a log."""

    def __init__(self, head: Sequence[str], tail: Sequence[str]) -> None:
        self.epoch: int | None = None
        self.epochs: int | None = None
        self.first_epoch: int | None = None
        self.step: int | None = None
        self.steps: int | None = None
        self.within: float | None = None
        self.afterwards = ""
        self._counts: list[tuple[int, int]] = []
        self._percents: list[tuple[int, int]] = []
        self._of_epoch = False
        for line in (*head, *tail):
            self._read(peel(line).text if "%|" in line else line)
        self._settle()

    @property
    def is_short(self) -> bool:
        """Whether a counter over the whole training stops well before its end."""
        return self.steps is not None and self.step is not None and self.step < FULL * self.steps

    def begins_before(self, other: _Progress) -> bool:
        """Whether counting begins here no later than it did elsewhere."""
        if self._counts and other._counts:
            return self._counts[0][0] <= other._counts[0][0]
        return (
            self.first_epoch is not None
            and other.first_epoch is not None
            and self.first_epoch <= other.first_epoch
        )

    def _read(self, text: str) -> None:
        counted = "/" in text or " of " in text
        moved = counted and (self._read_epoch(text) | self._read_step(text))
        if not moved and ("ROUND" in text or "num_rounds" in text):  # few logs are worth the expressions
            moved = self._read_round(text)
        if moved:
            self.afterwards = ""
        elif (left := _LEFT.search(text)) and (each := float(left[6])):
            days, hours, minutes, seconds, done = (int(group or 0) for group in left.groups()[:5])
            whole = done + (((days * 24 + hours) * 60 + minutes) * 60 + seconds) / each
            self.step, self.steps = done, max(done, int(float(f"{whole:.2g}")))
        elif not self.afterwards and _AFTERWARDS.search(text):
            self.afterwards = text.strip()

    def _read_epoch(self, text: str) -> bool:
        named = EPOCH.search(text)
        match = named or _YOLO.match(text)
        if match is None or int(match[1]) > int(match[2]):
            return False
        number = int(match[1])
        if self.first_epoch is None:
            self.first_epoch = number
        if number != self.epoch:
            # A row of such a table that no bar ends is written when its epoch is over, with what it came to.
            self.within = 1.0 if named is None and "%" not in text else None
        self.epoch, self.epochs = number, int(match[2])
        return True

    def _read_round(self, text: str) -> bool:
        if (planned := _ROUNDS.search(text)) is not None:
            self.epochs = int(planned[1])
        match = _ROUND.search(text)
        if match is None or (self.epochs is None and match[2] is None):
            return False
        number = int(match[1])
        self.first_epoch = number if self.first_epoch is None else self.first_epoch
        self.epoch, self.epochs, self.within = number, int(match[2] or self.epochs or 0), None
        return True

    def _read_step(self, text: str) -> bool:
        if " iter, " in text and (bar := _CHAINER.match(text)):
            self._counts.append((int(bar[1]), int(bar[2])))
            return True
        found = None if _BAR.match(text) else _WITHIN.search(text) or _TITLED_BAR.match(text)
        if found is not None:
            done, total = (int(group) for group in found.groups() if group is not None)
            named = _STEP_OF_BAR.search(text)
            if named is not None and 0 <= int(named[1]) - done <= 1 and "poch" not in text:
                self._counts.append((done, total))  # the bar of all steps, though it has a title
                return True
            if 0 < total >= done:
                self.within = done / total
            return False
        named = _STEP.search(text) or _BAR.match(text)
        found = named or ("%" in text and _PERCENT.search(text)) or None
        if found is None or int(found[1]) > int(found[2]) or int(found[2]) == 0:
            return False
        (self._counts if named else self._percents).append((int(found[1]), int(found[2])))
        self._of_epoch |= "poch" in text
        return True

    def _settle(self) -> None:
        """Decide what the step counter counts: all steps, or those of one epoch, which begins again when it is full."""
        if not self._counts and self.epoch is None:
            self._counts = self._percents  # epochs and steps that are named say more
        if not self._counts:
            return
        largest = max(total for _, total in self._counts)
        counts = [done for done, total in self._counts if total == largest]
        if len(counts) >= STANDS_STILL and len(set(counts)) == 1 and counts[0] < FULL * largest:
            return  # the log went on and it did not: the bar of something else
        again = any(second < first and first > FULL * largest for first, second in pairwise(counts))
        done, total = self._counts[-1]
        if total < largest and done < total and counts[-1] > FULL * largest:
            return  # the full bar was that of a part: after it the one of another part began
        if self._of_epoch or again:
            self.within = counts[-1] / largest
        else:
            self.step, self.steps = counts[-1], largest
