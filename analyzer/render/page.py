"""What both terminal pages are written on: wrapping, colours, links, and a beginning that is the same on both."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from analyzer.ingest.masking import clean_text
from analyzer.lazy_regex import LazyRegex
from analyzer.model.diagnosis import Diagnosis, Fix, Place
from analyzer.record import NamedTuple
from analyzer.render.sentences import ended_words, fix_note, happened, notes_of, others_notes

WIDTH = 100
LONGEST_PATH = 40
"""Columns of a path as the user would type it; the sentence that it follows wants the rest of the line."""

_STATUS_COLOUR = {"failed": "31;1", "degraded": "33;1", "interrupted": "33;1", "healthy": "32;1"}


class Style(NamedTuple):
    """How to write for a terminal."""

    colour: bool  # whether to colour
    width: int = WIDTH  # columns
    links: bool = False  # whether the terminal makes ``path:line`` clickable (OSC 8)
    # absolute path of each source, by its path within the run; what is missing is shown as it is
    locations: Mapping[str, str] = {}
    here: str = ""  # directory from which paths are shown; empty to show them as they stand within the run

    def paint(self, text: str, code: str) -> str:
        """Text in an ANSI colour, or as it is."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text

    def shown(self, path: str) -> str:
        """A path of the run as the user would type it where they stand."""
        location = self.locations.get(path)
        if location is None or not self.here:
            return path
        relative = os.path.relpath(location, self.here)
        # a long one is shown from the run on, which the first line names: it would wrap at every line of evidence
        return path if len(relative) > LONGEST_PATH or relative.startswith("../..") else clean_text(relative)


class Page:
    """Lines of a page."""

    def __init__(self, style: Style) -> None:
        self.style = style
        self.lines: list[str] = []
        self._places: dict[str, str] = {}

    def add(self, text: str = "", *, indent: int = 0, hang: int = 0, colour: str = "") -> None:
        """A paragraph, wrapped at spaces; further lines are indented by ``hang`` more. Two empty ones are one."""
        if not text and self.lines and not self.lines[-1]:
            return
        wrapped = textwrap.wrap(
            text,
            self.style.width,
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent + hang),
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
        self.lines.extend(self.style.paint(line, colour) if colour else line for line in wrapped)

    def raw(self, text: str, colour: str = "") -> None:
        """A line as it is."""
        self.lines.append(self.style.paint(text, colour) if colour else text)

    def place(self, place: Place) -> str:
        """``path:line`` as the user would type it, remembered as a link."""
        shown = self.style.shown(place.path) + ("" if place.line is None else f":{place.line}")
        if place.path in self.style.locations:
            self._places[shown] = self.style.locations[place.path]
        return shown

    def text(self) -> str:
        """The page, ending with a newline."""
        while self.lines and not self.lines[-1].strip():
            self.lines.pop()
        whole = "\n".join(self.lines) + "\n"
        if not self.style.links:
            return whole
        for shown, location in sorted(self._places.items(), key=lambda item: -len(item[0])):
            link = f"\x1b]8;;{Path(location).as_uri()}\x1b\\{shown}\x1b]8;;\x1b\\"
            whole = whole.replace(f"({shown})", f"({link})").replace(f"[{shown}]", f"[{link}]")
        return whole


_LOGGERS_OWN = LazyRegex(
    r"(?:(?:\[[^\[\]]{0,90}+\]|\([^()\s]{1,40}+\)|(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL|[DIWEF](?:\d{4})?)(?=[\s:])"
    r"|\d[\d:.,/TZ+-]{4,40}+|[\w./-]{1,160}+:\d{1,6}\]?|what\(\))[:\s]*+)++"
)
"""Clock, level, rank and place that a logger puts before what it says."""


def quoted_line(text: str, room: int) -> str:
    """A line of a log in some columns; where it is too long, what the logger put before its words goes first.

    >>> quoted_line("ERROR 2026-07-31T10:36:53.04Z [rank0]: TypeError: list indices must be integers", 50)
    '… TypeError: list indices must be integers'
    """
    if len(text) <= room:
        return text
    head = _LOGGERS_OWN.match(text.lstrip())
    text = f"… {text.lstrip()[head.end() :]}" if head else text
    return text if len(text) <= room else text[: room - 1] + "…"


def write_beginning(page: Page, diagnosis: Diagnosis) -> None:
    """Verdict, which of several runs, and what happened."""
    subject = f"{diagnosis.root}" + (f" [{diagnosis.subject}]" if diagnosis.subject else "")
    words = ended_words(diagnosis)
    ended = f"  ({words})" if words else ""
    colour = _STATUS_COLOUR.get(diagnosis.status, "1")
    head = f"{diagnosis.status.upper()}  {subject}{ended}"
    if diagnosis.subject and len(head) > page.style.width:  # two paths in one line are hard to see
        page.raw(f"{diagnosis.status.upper()}  {diagnosis.root}{ended}", colour)
        page.raw(f"  run {diagnosis.subject}")
    else:
        page.raw(head, colour)
    for note in others_notes(diagnosis):
        page.add(note, indent=2, hang=2, colour="33")
    page.add(happened(diagnosis), indent=2)
    for note in notes_of(diagnosis):
        page.add(note, indent=2, hang=2)


def write_beside(page: Page, sentences: Sequence[str]) -> None:
    """What differs from the baseline, if one was given."""
    for number, sentence in enumerate(sentences):
        page.add(
            f"beside the baseline: {sentence}" if number == 0 else sentence, indent=2 * (number > 0), hang=2
        )


def write_change(page: Page, heading: str, fix: Fix, most: int | None = None) -> None:
    """A fix with its diff, keys and code.

    Args:
        page: Where to write.
        heading: What stands before the title.
        fix: The fix.
        most: Lines of diff and code to show; None for all.
    """
    page.add(f"{heading}: {fix.title} ({fix_note(fix)})", indent=2, hang=3, colour="36")
    diffs = [line for change in fix.changes for line in change.diff.splitlines()]
    for line in diffs[:most]:
        code = "32" if line.startswith("+") else "31" if line.startswith("-") else ""
        page.raw(f"     {line}", colour=code)
    for change in fix.changes:
        if change.path is None:
            page.add(f"{change.framework}: {change.in_words()}", indent=5, hang=2)
        elif not diffs:
            old = f"{change.old} -> " if change.old is not None else ""
            page.add(f"{change.path}:{change.line or '?'}  {change.key}: {old}{change.new}", indent=5, hang=2)
    code_lines = fix.code.splitlines()
    left = None if most is None else max(0, most - len(diffs))
    for line in code_lines[:left]:
        page.raw(f"     {line}")
    hidden = 0 if most is None else len(diffs) - len(diffs[:most]) + len(code_lines) - len(code_lines[:left])
    if hidden > 0:
        page.add("… the rest of the change with --all", indent=5)
