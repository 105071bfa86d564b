r"""A line of a log with its numbers masked: what stays is the wording that all rows of one kind share.

    "Epoch [2/10], loss: 0.5" -> parts ("Epoch [", "/", "], loss: ", ""), numbers ("2", "10", "0.5")

The mask keeps of each number only what sort it is: ``INT`` a whole number, ``FLOAT`` any other (nan and inf too),
``TIME`` a date or a time of day, which measures nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from pathlib import Path

from analyzer.ingest.text.prefixes import peel
from analyzer.ingest.text.rows.printed_numbers import parse_number
from analyzer.ingest.text.rows.spellings.line_spellings import plain_spelling
from analyzer.lazy_regex import LazyRegex
from analyzer.record import NamedTuple

INT, FLOAT, TIME = "\x01", "\x02", "\x03"
NUMBER = f"[{INT}{FLOAT}]"

_NUMBERS = LazyRegex(
    # an index that a hyphen joins to a word, before the sign of a decimal, is part of the name: "part-2: 0.5"
    r"(?<![A-Za-z0-9_.@])(?<![tT]op-)(?!(?<=[A-Za-z]-)\d{1,2}(?: ?(?:[:=]|- ) {0,3}(?:-?\d{1,6}\.\d|-?[nN]a[nN]\b)|_[A-Za-z]))("
    r"\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)?|[01]\d[-/][0-3]\d(?= \d\d:\d\d:\d\d)|\d{1,3}:\d\d(?::\d\d|:\d(?=\.))?(?:\.\d{1,6})?(?![\d:])(?: ?[AP]M\b)?"
    r"|[-+]?(?:(?!(?<=\[)\d{1,3},\d{3}\])[1-9]\d{0,2}(?:,\d{3}){1,5}(?!\d|,\d|\.\d{7})(?:\.\d{1,6})?"
    r"|(?:\d{1,320}(?:\.\d{1,40})?|\.\d{1,40})(?:[eE][-+]?\d{1,4})?(?!\.#)|1\.#(?:IND|QNAN|INF)0{0,12}"
    r"|(?:[nN][aA][nN]|[iI]nfinity|INFINITY|[iI][nN][fF])(?:\(ind\)|x{1,3}|\.0)?(?![A-Za-z0-9_]))"
    r")"
)
_SPACES = LazyRegex(r"[ \u00a0\u3000]{2,}")
_BARS = LazyRegex(
    r"\d{1,3}%\|[^|\r\n]{0,400}\||\[[=>.#-]{3,120}\]|[\u2501\u2500\u2578\u257a\u254d\u2588\u2589\u258a\u258b\u258c\u258d\u258e\u258f\u2591-\u2593\u25a0\u25a1]{3,400}"
)
_OTHER_STROKES = LazyRegex(r"(?<= )[\u258e\u258f\u2595\u2758\u00a6\u250a\u2506\u254e](?= )")
"""Signs that part values as a stroke does: ``step 10 \u258f dist 1.5 \u258f fit 0.5``."""
_FULL_WIDTH = str.maketrans("：，；＝（）［］｜％、،", ":,;=()[]|%,,")  # noqa: RUF001


def _in_place_of(english: str, match: re.Match[str]) -> str:
    return f" {english} {next(filter(None, match.groups()), '')} "


_GLUED = LazyRegex(r"(?<=it/s|s/it)\](?:\[[A-Z]{4,8}\] {1,2})?(?=[^\W\d_])")
"""The end of a bar to which the row of the program is glued, with its level or without, because the bar ends no line."""

_BAR_BEFORE = LazyRegex(
    r"\A[^\r\n]{0,300}?(?:it/s|s/it)\]\s{0,3}(?:\[[A-Z]{4,8}\] {1,2})?(?=[\[(]?(?:(?:global_?)?(?:[Ss]tep|[Ii]ter)\w{0,8}\s?[=:\[]|[Ee]poch[=: ]{1,4})\s{0,6}\d)"
)
"""A bar before a row that counts its own steps or epochs: the row stands where it says, and not where the bar stood."""


@lru_cache(maxsize=1)
def _foreign() -> tuple[list[str], LazyRegex, list[tuple[str, str]]]:
    """The pieces of foreign words in ASCII, an expression for any of all words, and English with the expression of each."""
    text = Path(__file__).with_name("foreign_words.txt").read_text(encoding="utf-8")
    (_, pieces), *rows = (line.split(": ", 1) for line in text.splitlines() if not line.startswith("#"))
    # of text in small letters: alternatives that begin with a known letter are passed over fast, in any case of letters slowly
    return pieces.split("|"), LazyRegex("|".join(words for _, words in rows)), [(e, w) for e, w in rows]


@lru_cache(maxsize=1)
def _foreign_words() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(words, re.IGNORECASE), english) for english, words in _foreign()[2])


_PADDED = LazyRegex(r"(?<![\w.])0{1,20}(?=(?:nan|inf)\b)")
"""Zeros that fill up the width of what is no number: ``loss = 0000nan``."""
_HYPHENATED = LazyRegex(r"^(\d{1,9})-(\d{1,12}\.\d{1,20}(?:[eE][-+]?\d{1,3})?|nan)\s{0,4}$")
"""A counter and its value, which a hyphen parts: ``0001-64.5714``."""


class Masked(NamedTuple):
    """A line in parts."""

    key: str  # what rows of one kind share: the parts between the numbers
    numbers: list[str]  # the numbers as printed


def mask(text: str) -> Masked:
    r"""Split a line into its wording and its numbers.

    >>> mask("step 3  loss nan")
    Masked(key='step \x01  loss \x01', numbers=['3', 'nan'])
    >>> mask("step 3 \u258f dist 0.5 \u258f fit 2.5")
    Masked(key='step \x01 | dist \x01 | fit \x01', numbers=['3', '0.5', '2.5'])
    >>> mask("step 80: loss = 0000nan")
    Masked(key='step \x01: loss = \x01', numbers=['80', 'nan'])
    >>> mask("0001-64.5"), mask("3 -64.5")
    (Masked(key='\x01: \x01', numbers=['0001', '64.5']), Masked(key='\x01 \x01', numbers=['3', '-64.5']))
    """
    text = plain_spelling(text)
    if "0nan" in text or "0inf" in text:
        text = _PADDED.sub("", text)
    if text[:1].isdigit():
        text = _HYPHENATED.sub(r"\1: \2", text)
    if "%|" in text or "[=" in text or "[." in text or not text.isascii():
        text = _BAR_BEFORE.sub("", _OTHER_STROKES.sub("|", _BARS.sub("|", text)), count=1)
        text = _GLUED.sub("] ", text)
    if "  " in text:
        text = _SPACES.sub("  ", text)
    parts = _NUMBERS.split(text)
    return Masked(INT.join(parts[::2]), parts[1::2])


def sorts(masked: Masked) -> str:
    """The wording with a mask for the sort of each number in the place of the number."""
    parts = masked.key.split(INT)
    text = parts[0]
    for number, part in zip(masked.numbers, parts[1:], strict=True):
        text += _sort(number) + part
    return text


def counted(number: str) -> str:
    """A whole number without the commas between its thousands; empty for any other number."""
    plain = number.replace(",", "")
    return plain if plain.isdecimal() else ""


def _sort(number: str) -> str:
    if counted(number):
        return INT
    return FLOAT if parse_number(number.rstrip("x")) is not None else TIME


def may_be_foreign(text: str) -> bool:
    """Whether a text may hold a word of another language that stands for one of the vocabulary of names.

    >>> may_be_foreign("Epok 3"), may_be_foreign("the loss")
    (True, False)
    """
    lowered = text.lower()
    return not text.isascii() or any(piece in lowered for piece in _foreign()[0])


@lru_cache(maxsize=1)
def _held_out_words() -> re.Pattern[str]:
    words = "|".join(words for english, words in _foreign()[2] if english in {"val", "test"})
    return re.compile(f"eval|val|test|{words}", re.IGNORECASE)


def may_be_held_out(text: str) -> bool:
    """Whether a text holds a word that may stand for data held out, in any language that is known.

    >>> may_be_held_out("开始验证"), may_be_held_out("训练开始")
    (True, False)
    """
    return _held_out_words().search(text) is not None


def in_english(text: str) -> str:
    r"""Masked text with words of other languages turned into those of the vocabulary of names.

    >>> in_english("训练损失:\x02"), in_english("Epoche \x01: Verlust \x02")
    ('train loss :\x02', 'epoch \x01: loss \x02')
    >>> in_english("perdita di validazione_\x01=\x02"), in_english("dogrulama_dogrulugu=\x02")
    ('loss val_\x01=\x02', 'val_accuracy =\x02')
    """
    if not may_be_foreign(text):
        return text
    text = text.translate(_FULL_WIDTH)
    if _foreign()[1].search(text.lower()) is None:
        return text
    for words, english in _foreign_words():
        text = words.sub(partial(_in_place_of, english), text)
    return _SPACES.sub(" ", _JOINED.sub("_", text)).strip()


_JOINED = LazyRegex(r" {1,3}_ {0,3}|_ {1,3}")
"""What was one name stays one: ``dogrulama_kaybi``."""


_ANOTHERS_BAR = LazyRegex(
    r"[^|\r\n]{0,80}\|[^|\r\n]{0,200}\| {0,3}\d{1,9}/(?:\? \[[^\]\r\n]{0,60}\] ?(?=\S)|\d{1,9} \[[^\]\r\n]{0,200}\] ?(?=\d{4}-\d\d-\d\d[ T])|\d{1,9} \[00:00<\?, {1,2}\?[a-z]{1,12}/s\] ?(?=[A-Z[({])(?![^\r\n]{0,400}%\|))"
)
"""A bar behind which another writer went on: of unknown length, before the time of a logger, or before it told of anything."""

_ONLY_BAR = LazyRegex(
    rf"\s{{0,64}}\|\s{{0,3}}{INT}/{INT} \[[^\]\w]{{0,80}}(?:s/it|it/s)?\](?:\s{{0,64}}$|[^\s,|:;])"
)
"""A bar that shows no values; what others printed past its end has no place, see ``wordings.learn``."""

_CUT_BAR = LazyRegex(r"(?<=[\w.]), [\w/.-]{1,60}=[^\s,\[\]]{0,40}$")
"""The last value of a bar that no bracket closes: the terminal was too narrow, and of the number stands its beginning."""


def without_bar(text: str) -> str:
    """A line without the bar that stands before what another writer printed, or the value at which a narrow terminal cut its bar."""
    if ("/? [" in text or "<?, " in text or "it]2" in text or "s]2" in text) and (
        bar := _ANOTHERS_BAR.match(text)
    ):
        text = peel(text[bar.end() :]).text
    return _CUT_BAR.sub("]", text) if "%|" in text else text


def is_only_bar(text: str) -> bool:
    """Whether a line tells nothing but how far a bar has come.

    >>> bar = "  3%|#    | 3/100 [00:03<01:37,  1.02s/it]"
    >>> is_only_bar(bar), is_only_bar(f"{bar}[2026-10-01 00:00:03] 7 GB"), is_only_bar(f"{bar} loss 0.5")
    (True, True, False)
    """
    return INT not in text and _ONLY_BAR.match(sorts(mask(without_bar(text)))) is not None
