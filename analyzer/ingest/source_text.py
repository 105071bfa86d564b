"""Read a source as text with bounded memory, keeping what can be read of a damaged or endless file."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from analyzer.ingest.base import Candidate, OpenSource, SourceWriter, TruncatedSourceError

MAX_LINE_BYTES = 1 << 20
"""Longest line kept. Rows of metrics have a few kilobytes; a longer one is a dump or an attack."""

UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_MARKED = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    *((mark, "utf-16") for mark in UTF16_MARKS),
)

ENCODED_BYTES = 16_384
"""What is looked at of a text without a mark to tell its encoding; a program greets in its own language."""

MIN_GBK_BYTES = 20
"""Bytes above ASCII, ten characters, by which GBK is known; a sign or two may be anything."""

_ASCII = bytes(range(128))
# Compiled where they are used first: many runs hold no text and few a card.
_HOLE = rb"\0{64,}"
# The head of the table in the card that Transformers' Trainer writes beside a model.
_CARD = rb"(?mi)^\|[ ]{0,8}(?:train(?:ing)? loss|epochs?|(?:global )?steps?|iter(?:ation)?s?)[ ]{0,8}\|[^\n]{0,200}\bloss[ ]{0,8}\|"

# A number under a name, in a line or in a cell beside the name; and a line that a logger wrote.
_NAMED_NUMBER = (
    rb"(?m)(?:^|(?<=[|,;(\]] )|(?<=[|,;\t ]))[ \t]{0,8}([A-Za-z][\w/-]{1,40}(?: [A-Za-z][\w-]{1,30}){0,2})"
    rb"[ \t]{0,30}[:=|][ \t]{0,30}[-+]?(?:\d[\d.]{0,30}|nan\b)"
)
_LOGGED = rb"^.{0,40}\b(?:INFO|WARNING|ERROR|DEBUG)\b[ \t]{0,8}[:|\]]"

LONGEST_QUOTED_BYTES = 400
"""What is looked at of a line of a page; a row of a run is shorter."""

MIN_REPEATS = 5
"""Lines of a page that give one name another number: a course has points, a page of settings gives each name once."""


def looks_like_text(head: bytes) -> bool:
    """Whether the head of a file is text in some encoding.

    UTF-16 is known by its byte-order mark. Otherwise text holds few control characters; long runs of NUL
    do not count: a log that was truncated under its writer has a hole where its beginning was.
    """
    if head.startswith(UTF16_MARKS):
        return True
    sample = re.sub(_HOLE, b"", head)[:16_384]
    controls = len(sample.translate(None, bytes(range(32, 256)) + b"\t\n\r\x0b\x0c\x1b\x08\x07"))
    return bool(sample) and controls * 50 <= len(sample)


def is_page(name: str) -> bool:
    """Whether a file is Markdown by its name."""
    return name.lower().endswith(".md")


def is_model_card(candidate: Candidate) -> bool:
    """Whether a Markdown page holds the table of losses that a trainer wrote for its model."""
    return is_page(candidate.name) and re.search(_CARD, candidate.head) is not None


def is_log_in_page(candidate: Candidate) -> bool:
    """Whether a page is little else than what a run printed: lines that give the same names other numbers.

    A page about a project quotes a few such lines among its words, and they are no third of it.
    """
    if not looks_like_text(candidate.head):
        return False
    numbers, printed, lines = Counter[bytes](), 0, 0
    for line in candidate.head.splitlines():
        if not line.strip(b" \t`~*=-#"):
            continue
        lines += 1
        names = set(re.findall(_NAMED_NUMBER, line[:LONGEST_QUOTED_BYTES]))
        numbers.update(names)
        printed += bool(names) or re.match(_LOGGED, line[:LONGEST_QUOTED_BYTES]) is not None
    return any(count >= MIN_REPEATS for count in numbers.values()) and printed * 3 > lines


def as_utf8(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Chunks of a text as UTF-8, without byte-order mark, whatever encoding its beginning says; other damage stays."""
    decoder: codecs.IncrementalDecoder | None = None
    for number, chunk in enumerate(chunks):
        if number == 0 and (encoding := encoding_of(chunk)):
            decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
        yield decoder.decode(chunk).encode("utf-8", "replace") if decoder else chunk


def decode(data: bytes | bytearray) -> str:
    """Bytes of a whole text as text, or of a line; damage becomes U+FFFD."""
    return data.decode(encoding_of(data) or "utf-8", errors="replace")


def encoding_of(head: bytes | bytearray) -> str:
    """The encoding by a byte-order mark (PowerShell writes UTF-16), or GBK in which Chinese Windows writes; empty if none shows."""
    marked = next((encoding for mark, encoding in _MARKED if head.startswith(mark)), "")
    return marked or ("gb18030" if _is_gbk(head[:ENCODED_BYTES]) else "")


def _is_gbk(head: bytes | bytearray) -> bool:
    """Whether the head of a text without a mark is Chinese in GBK: its bytes above ASCII stand in the pairs of common characters.

    In Latin and Cyrillic code pages runs of odd length fall out of the pairs; nine tenths of what is UTF-8 (``é`` is a pair) can be read as such.
    """
    if head.isascii():
        return False
    whole = head[: head.rfind(b"\n") + 1]
    foreign = len(whole.translate(None, _ASCII))
    unpaired = len(re.sub(rb"(?:[\xa1-\xf7][\xa1-\xfe])+", b"", whole).translate(None, _ASCII))
    if foreign < MIN_GBK_BYTES or unpaired * 50 > foreign:
        return False
    return len(whole.decode("utf-8", "ignore").encode().translate(None, _ASCII)) * 10 < foreign * 9


def read_text(source: OpenSource, out: SourceWriter, limit_bytes: int) -> str:
    """The text of a whole file, cut at ``limit_bytes`` or where its archive is damaged; a cut becomes a gap."""
    data = bytearray()
    try:
        for block in source.chunks():
            data += block
            if len(data) > limit_bytes:
                del data[limit_bytes:]
                out.gap(f"only the first {limit_bytes} bytes were read: larger than such a file may be")
                break
    except TruncatedSourceError as error:
        out.gap(f"cut short after {len(data)} bytes: {error}")
    return decode(data)


def bounded_lines(source: OpenSource, out: SourceWriter) -> Iterator[tuple[int, bytes]]:
    """1-based number and bytes of each line, with its line end; too long lines are left out and become gaps.

    A last line without a line end is yielded as it is, so that the caller can tell that it may be cut.
    """
    number = 1
    rest = bytearray()
    too_long = False
    try:
        for block in source.chunks():
            start = 0
            while (end := block.find(b"\n", start)) >= 0:
                line = bytes(rest) + block[start : end + 1] if rest else block[start : end + 1]
                rest.clear()
                if too_long or len(line) > MAX_LINE_BYTES:
                    out.gap(f"line longer than {MAX_LINE_BYTES} bytes was not read", line=number, rows_lost=1)
                else:
                    yield number, line
                too_long = False
                number += 1
                start = end + 1
            if not too_long:
                rest += block[start:]
                if len(rest) > MAX_LINE_BYTES:
                    too_long = True
                    rest.clear()
    except TruncatedSourceError as error:
        out.gap(f"cut short: {error}", line=number)
    if too_long:
        out.gap(f"line longer than {MAX_LINE_BYTES} bytes was not read", line=number, rows_lost=1)
    elif rest:
        yield number, bytes(rest)
