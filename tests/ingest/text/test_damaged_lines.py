"""Lines are still recognised after what happens to them on the way into a log or an issue.

Every example of every pattern is damaged in ten ways; what is lost may be no more than one in twenty.
"""

from __future__ import annotations

import re
from collections import Counter

import pytest

from analyzer.ingest.text.events.patterns import all_patterns, match_pattern
from analyzer.ingest.text.prefixes import peel
from analyzer.vocabulary import events
from analyzer.vocabulary.marked import load_marked

LOST = 0.05
"""Part of all damaged lines that may be lost; see the issue of messages that need no exact sentence."""


def examples():
    """Each example with the place of its pattern in the order in which patterns are tried."""
    at = 0
    for path in events.event_files():
        for pattern in load_marked(path.read_text(encoding="utf-8"), path.name).data.get("patterns", []):
            texts = pattern["example"] if isinstance(pattern["example"], list) else [pattern["example"]]
            yield from ((at, text) for text in texts)
            at += 1


def until(line: str, part: float) -> str:
    """The first part of a line, but never less than what its words need to be told apart."""
    return line[: max(60, int(len(line) * part))]


DAMAGES = {
    "stamped by a collector": lambda line: f"2024-02-03T04:05:06.789Z {line}",
    "prefixed by a container": lambda line: f"trainer-0  | {line}",
    "prefixed by a rank": lambda line: f"[rank3]: {line}",
    "prefixed by Ray": lambda line: f"(TrainWorker pid=4242, ip=10.0.0.5) {line}",
    "after the shell's word in another language": lambda line: f"FEHLER: {line}",
    "in quotes of an e-mail": lambda line: f"> {line}",
    "with its quotes eaten by Markdown": lambda line: re.sub("[`'\"]", "", line),
    "wrapped by a terminal": lambda line: line[:120],
    "cut at four fifths": lambda line: until(line, 0.8),
    "with more text behind it": lambda line: f"{line} (see above)",
}


def is_recognised(pattern, line: str) -> bool:
    text = peel(line).text
    held = any(literal in text for literal in pattern.literals)
    return held and match_pattern(pattern, text) is not None


@pytest.fixture(scope="module")
def lost():
    patterns, found, total = all_patterns(), [], 0
    for at, line in examples():
        if not is_recognised(patterns[at], line):
            continue  # an example of two lines, or one that only its context tells
        for name, damage in DAMAGES.items():
            total += 1
            if not is_recognised(patterns[at], damage(line)):
                found.append((name, patterns[at].kind, line))
    return found, total


def test_hardly_any_damaged_line_is_lost(lost):
    found, total = lost

    assert total > 4_000
    assert len(found) <= LOST * total, Counter(name for name, _, _ in found)
