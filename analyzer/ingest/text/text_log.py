"""Console logs of any trainer: metrics, failure lines, tracebacks, configuration echoes.

Also reads console lines that a tracker keeps one by one (``read_lines``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from analyzer.ingest.base import DIARIES, Candidate, Match, OpenSource, SourceWriter, TruncatedSourceError
from analyzer.ingest.metric_columns import METRIC_FILE
from analyzer.ingest.runs.run_shapes import is_of_held_out
from analyzer.ingest.source_text import UTF16_MARKS, bounded_lines, decode, is_model_card, looks_like_text
from analyzer.ingest.text.failures.error_lines import error_lines
from analyzer.ingest.text.log_reader import LogReader, literal_hits
from analyzer.ingest.text.text_layer import MAX_RECORD_BYTES, line_blocks, read_blocks
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import read_name
from analyzer.model.score_words import read_score

# Files that hold text but never the course of a run. Content may overrule the suffix, not the name.
_NEVER = LazyRegex(
    r"(?i)^(?:requirements.*\.txt|merges\.txt|vocab\.txt|licen[cs]e.*|readme.*|copying|notice|conda-environment.*|pip_freeze.*|source\.md"
    r"|debug(?:-internal|-core)?\.log)$"  # the last: the W&B client's diary of itself
)
_NOT_LOG_SUFFIXES = frozenset(
    {".py", ".sh", ".yaml", ".yml", ".json", ".jsonl", ".toml", ".ini", ".cfg", ".csv", ".tsv", ".xml", ".jinja", ".ipynb",
     ".patch", ".diff", ".md", ".rst", ".sql", ".proto", ".c", ".h", ".cc", ".cpp", ".cu", ".js", ".ts", ".css", ".html"}
)  # fmt: skip
_LOG_NAME = LazyRegex(
    r"(?i)\.(?:log|out|err|stdout|stderr|[oe]\d{1,9})(?:\.\w{1,8})*$|(?:^|[_.-])(?:log|slurm|stdout|stderr|console|dmesg|nohup)(?:[_.-]|$)"
)
# A line that a logger, a progress bar or Python itself wrote.
_LOG_LINE = re.compile(
    rb"(?m)^.{0,40}(?:\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d|\b(?:INFO|WARNING|ERROR|DEBUG)\b[: \]|]|Traceback \(most recent call last\)|\d{1,3}%\|)"
)
# A line that counts an epoch or a step, or tells a loss; and a line that is set as Markdown.
_COUNTERS = rb"epoch|step|iter|ep num"
_BEGINNING_WITH = rb"(?im)^[^\n#|]{0,40}?\b(?:%b)[\w/]{0,20}[ \t]{0,3}[:=]?[ \t]{0,3}[\[(]?[ \t]{0,3}\d"
_ROW = re.compile(_BEGINNING_WITH % (_COUNTERS + rb"|loss"))
# A line that counts, and a cell in quotes, which only a table has.
_COUNTED = re.compile(_BEGINNING_WITH % _COUNTERS)
_CELL = re.compile(rb'[,;\t]"[^"\n]{0,400}"[ \t]{0,3}[,;\t\r\n]')
# A table of numbers without a head.
_NO_HEADER = re.compile(
    rb"(?:[ \t]{0,8}\d[\d.eE+-]{0,30}(?:[,;\t ]{1,4}(?:[-+]?\d[\d.eE+-]{0,30}|nan)){1,16}\s{0,2}\n){10}"
)
# A list of some numbers, which may be all that the log is.
_LIST = re.compile(
    rb"\s{0,80}(?:[A-Za-z][\w ./-]{0,60}[:=]\s{0,4})?\[(?:\s{0,80}['\"]?(?:[-+]?\d[\d.e+-]{0,40}|nan|inf)['\"]?(?:\s{0,4},|\s)){4}"
)
_SET = re.compile(rb"(?m)^[ \t]{0,8}(?:```|~~~|[-*+] |\|.{0,80}\||!?\[[^\]\n]{1,80}\]\()")
# What a batch system adds to the output of a job, whatever name was chosen for it: LSF's mail, the ends that Slurm and PBS report.
_OF_BATCH = re.compile(
    rb"(?m)^(?:Sender: LSF System <.{1,120}>\r?$|slurmstepd: error: \*{3} |=>> PBS: job killed: )"
)
# A line that is no JSON, and no row of a table: it begins with a word and is more than a few cells.
_BESIDE_ROWS = LazyRegex(
    r"(?<=\n)(?!\s{0,20}(?:[{}\]\"]|\[\s{0,4}[{\"]|[\d.+-]{1,24}\s{0,4}[,;\t]|\w{1,40}[,;\t]))[^\n]{4,400}"
)

MIN_ROWS_OF_MARKDOWN = 20
"""Lines of a Markdown file that is a console log under a wrong name; a page that quotes a run shows a few."""

MIN_ROWS_OF_TABLE = 3
"""Lines of a log that is named as a table: one or two may be a table's title."""

MIN_HITS_BY_CONTENT = 3
"""Different known phrases that make a file with a foreign suffix a log: a training script may quote one or two."""


class TextLog:
    """Ingestor of console logs."""

    def sniff(self, candidate: Candidate) -> Match:
        """MAYBE for any text, LIKELY for what reads or is named like a log."""
        head = candidate.head
        path = PurePosixPath(candidate.name)
        if not head or not looks_like_text(head):
            return Match.NO
        if is_model_card(candidate):
            return Match.LIKELY
        if _NEVER.match(path.name):
            return Match.NO
        suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in {".gz", ".zst"}]
        foreign = bool(suffixes) and suffixes[-1] in _NOT_LOG_SUFFIXES
        text = head if not head.startswith(UTF16_MARKS) else head.replace(b"\0", b"")
        lines = len(_LOG_LINE.findall(text[:16_384]))
        if foreign and _OF_BATCH.search(text):
            return Match.LIKELY
        if foreign and suffixes[-1] == ".md":
            return Match.LIKELY if _is_log_in_markdown(text) else Match.NO
        if foreign and suffixes[-1] in {".csv", ".tsv"} and _is_log_in_table(path.name, text):
            return Match.MAYBE
        if foreign:
            # Structured files belong to their own readers; only a log by content is taken.
            structured = text.lstrip()[:1] in (b"{", b"[", b"<")
            return (
                Match.LIKELY
                if lines >= 2 and not structured and literal_hits(text) >= MIN_HITS_BY_CONTENT
                else Match.NO
            )
        if _LOG_NAME.search(path.name) or lines >= 2 or literal_hits(text) >= MIN_HITS_BY_CONTENT:
            return Match.LIKELY
        return Match.MAYBE

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Read the whole log; of a damaged archive, what inflates."""
        lost: list[str] = []

        def chunks() -> Iterator[bytes]:
            try:
                yield from source.chunks()
            except TruncatedSourceError as error:
                lost.append(str(error))

        def on_long_line(line: int) -> None:
            out.gap(f"a line is longer than {MAX_RECORD_BYTES} bytes; it was read in pieces", line=line)

        reader = LogReader(out)
        reader.state.held_out = is_of_held_out(source.path, alone=False)
        reader.state.measures = _measures(source.path)
        is_diary = source.path.name.endswith(DIARIES)
        lines = None
        if _LIST.match(source.candidate.head):
            from analyzer.ingest.text.number_lists import read_lists  # noqa: PLC0415  (few logs begin so)

            lines = read_lists(source, out, reader.state.measures)
        elif b"\n" not in source.candidate.head.strip():
            from analyzer.ingest.text.glued_rows import read_glued  # noqa: PLC0415  (few logs are one line)

            lines = read_glued(source, out)
        blocks = read_blocks(chunks(), on_long_line) if lines is None else line_blocks(lines)
        reader.read(blocks, of_run=not is_diary)
        if is_diary:
            out.gap("the client of a tracker keeps this diary of itself: it tells nothing of the training")
        for reason in lost:
            out.gap(f"the rest of the file cannot be read: {reason}", evidence=True)


def _measures(path: Path) -> str:
    """What the name of a file says that it holds and nothing else, such as ``eval_miou.txt``; empty if it says more or less."""
    reading, score = read_name(path.stem), read_score(path.stem)
    whole = (reading.quantity and reading.whole and not reading.setting) or (score.better and score.whole)
    return path.stem if whole else ""


def _is_log_in_table(name: str, text: bytes) -> bool:
    """Whether what is named as a table has no head: bare rows of numbers, or lines that count an epoch or tell a loss from the first on.

    Most lines of one that is not named for the course of a run must, and the first count: remarks on runs tell losses as well.
    """
    of_a_course = METRIC_FILE.search(name)
    if of_a_course and _NO_HEADER.match(text):
        return True
    if not (_ROW if of_a_course else _COUNTED).match(text.lstrip()):
        return False
    shown = text[:16_384]
    rows, lines = len(_ROW.findall(shown)), sum(1 for line in shown.splitlines() if line.strip())
    most = of_a_course is not None or rows * 2 > lines
    return rows >= MIN_ROWS_OF_TABLE and most and _CELL.search(shown) is None


def _is_log_in_markdown(text: bytes) -> bool:
    """Whether nothing of a file but headings is set as Markdown, and the most of its lines are rows."""
    rows = sum(1 for _ in _ROW.finditer(text))
    lines = sum(1 for line in text.splitlines() if line.strip())
    return rows >= MIN_ROWS_OF_MARKDOWN and rows * 2 > lines and _SET.search(text) is None


def is_console(source: OpenSource) -> bool:
    """Whether lines that read like errors stand between the rows of a table: a console, whose end nobody may miss."""
    return any(error_lines(_BESIDE_ROWS.findall(decode(part))) for part in source.chunks())


def lines_beside_rows(source: OpenSource, out: SourceWriter) -> Iterator[tuple[int, str, None]]:
    """The lines of a console that are no rows of its table, and the last line, which tells whether it went on."""
    number, text = 0, ""
    for number, data in bounded_lines(source, out):
        text = decode(data).rstrip("\n")
        if _BESIDE_ROWS.match("\n" + text, 1):
            yield number, text, None
    yield number, text, None


def read_lines(lines: Iterable[tuple[int, str, float | None]], out: SourceWriter) -> None:
    """Read console lines that stand as records in another file.

    Args:
        lines: Line or record number, text (with or without its line break), unix seconds or None.
        out: Where metrics and events go.
    """
    LogReader(out).read(line_blocks(lines))
