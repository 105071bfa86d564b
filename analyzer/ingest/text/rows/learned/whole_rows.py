"""The wording of a row, an expression for all rows of it at once, and what its groups say."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from analyzer.ingest.text.log_line import LogLine
from analyzer.ingest.text.prefixes import peel
from analyzer.lazy_regex import LazyRegex
from analyzer.model.arrays import Integers, Values
from analyzer.model.ranked import distinct_of
from analyzer.record import NamedTuple

if TYPE_CHECKING:
    import numpy.typing as npt

PLAIN_BAR = (
    rb"[ \t]{0,64}\d{1,3}%\|[^|\r\n{]{0,380}\| {1,3}\d{1,12}/\d{1,12} \[[\d:<,.? -]{0,80}(?:s/it|it/s)?\]"
)
"""A progress bar without title and values, to which something may be glued that was printed past it."""

BREAK = "\x1e"
"""Stands between the lines of a row of several lines, so that an expression of it matches no newline."""

MAX_ROW_CHARACTERS = 2_000
"""Longer rows are read line by line; in bytes four times as many."""

_NUMBER = LazyRegex(
    r"(?<![\w.])[-+]?\d{1,18}(?:,\d{3}){0,4}(?:\.\d{0,18})?(?:[eE][-+]?\d{1,3})?(?![\w.]{0,1}\d)"
)
NUMBERS = rb"[-+]?\d{1,18}(?:,\d{3}){0,4}(?:\.\d{0,18})?(?:[eE][-+]?\d{1,3})?"
_CLOCK = LazyRegex(r"\d{4}[-/]\d\d[-/]\d\d[ T_]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?|\d\d:\d\d:\d\d(?:[.,]\d{1,9})?")
_CLOCKS = rb"(?:\d{4}[-/]\d\d[-/]\d\d[ T_])?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_PADDING = re.compile(rb"(?:\\ ){2}|^\\ |\\ $")
_BAR = LazyRegex(PLAIN_BAR.decode())
_BEHIND_BAR = "\1"
_OF_NONE = LazyRegex(r"\bcount ?[:=] ?0(?![\d.])")
"""What says that the NaN of a row are means of nothing; the like of it with another count has values that are NaN."""


class Wording(NamedTuple):
    """A row in parts."""

    # what rows of one wording share: the prefix, whether a bar stands before it, and the message, without times and numbers
    key: tuple[str, ...]
    numbers: list[str]  # the numbers of the message
    after: list[str]  # what stands right after each


def wording_of(line: LogLine) -> Wording | None:
    """A row in parts; None if it is too long, holds several times before its message, or means of nothing."""
    if len(line.raw) > MAX_ROW_CHARACTERS or ("nan" in line.raw and _OF_NONE.search(line.raw)):
        return None
    bar = _BAR.match(line.raw) if "%|" in line.raw else None
    whole = line.raw[bar.end() :] if bar else line.raw
    text = peel(whole).text if bar else line.text  # a bar hides the prefix behind it
    prefix = whole.removesuffix(text)
    if len(prefix) + len(text) != len(whole) or len(_CLOCK.findall(prefix)) > 1:
        return None
    found = list(_NUMBER.finditer(text))
    # Beside a number there may be more spaces or fewer, between words only where there are several.
    squeezed = tuple(_squeezed(part) if "  " in part else part for part in _NUMBER.split(text))
    after = [text[match.end() : match.end() + 1] for match in found]
    before = _BEHIND_BAR * bool(bar) + _CLOCK.sub("\0", prefix)
    return Wording((before, *squeezed), [match[0] for match in found], after)


def _squeezed(part: str) -> str:
    return re.sub("^ +| +$", " ", re.sub(" {3,}", "  ", part))


def anchor_of(key: tuple[str, ...]) -> bytes:
    """The longest piece of the first line of a wording that has no number, time, bar or spaces in it, which may be more or fewer."""
    first = "\0".join(key).partition(BREAK)[0]
    return max(re.split(r"[\0\1]|  +|(?:^|(?<=\0)) | (?=\0|$)", first), key=len).encode()


def expression_of(key: tuple[str, ...], slots: tuple[int, ...], *, timed: bool, loose: bool) -> bytes:
    """The expression of a wording; spaces may be more or fewer, as numbers are wider or narrower.

    Args:
        key: The wording.
        slots: The numbers that are groups.
        timed: Whether the time is a group.
        loose: Of numbers look at the characters only, which takes half the time; making floats of groups shows what is no number.
    """
    before = PLAIN_BAR if key[0].startswith(_BEHIND_BAR) else b""
    clock = b"(%b)" % _CLOCKS if timed else _CLOCKS
    prefix = clock.join(map(_padded, key[0].removeprefix(_BEHIND_BAR).split("\0")))
    message = _padded(key[1])
    for slot, part in enumerate(key[2:]):
        number = _like_number(part) if loose else NUMBERS
        message += (b"(%b)" % number if slot in slots else number) + _padded(part)
    return before + prefix + message


def _padded(part: str) -> bytes:
    return _PADDING.sub(rb" {1,32}", re.escape(part.encode()))


def _like_number(after: str) -> bytes:
    """The characters of a number, none of which may begin what stands after it: nothing is given back."""
    if after.startswith((".", "e", "E", "+", "-")):
        return NUMBERS
    return rb"[\d.eE+-]{1,32}+" if after.startswith(",") else rb"[\d.,eE+-]{1,32}+"


def unix_s(text: npt.NDArray[np.uint8], day_s: Callable[[bytes], float | None]) -> Values:
    """float64, shape (n_rows,): dates with times, ``2026-10-01 00:00:05``, as unix seconds; NaN if a date is none.

    Args:
        text: Shape (n_rows, 19), at least one.
        day_s: Unix seconds of a day.
    """
    days = np.ascontiguousarray(text[:, :10]).view("S10").ravel()
    begins_s = np.full(len(text), np.nan)
    for day in [days[0]] if bool((days == days[0]).all()) else distinct_of(days):
        begin_s = day_s(bytes(day))
        begins_s[days == day] = np.nan if begin_s is None else begin_s
    digits = text[:, [11, 12, 14, 15, 17, 18]].astype(np.int64) - ord("0")
    seconds_of_day: Integers = digits @ np.array([36_000, 3_600, 600, 60, 10, 1])
    return begins_s + seconds_of_day


class WholeRows:
    """One expression for many records at once: a call for each of them would cost more than the match.

    Args:
        form: The whole record, with groups; it can match no newline.
    """

    def __init__(self, form: bytes) -> None:
        self._regex = re.compile(rb"(?m)^" + form + rb"$")

    def match(self, text: bytes, count: int) -> tuple[Integers, list[list[bytes]]]:
        """Which of some records are of this form, and their groups, column by column."""
        # One flat list, without a tuple a record: what is between two matches, then the groups.
        parts = self._regex.split(text)
        width = self._regex.groups + 1
        columns = [parts[group::width] for group in range(1, width)]
        between = parts[:-1:width]
        if len(between) == count:
            return np.arange(count), columns
        return np.cumsum([text.count(b"\n") for text in between], dtype=np.int64), columns
