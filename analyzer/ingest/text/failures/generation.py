"""Printed generations that repeat one token: what a model of NaN weights says.

    sample generation: !!!!!!!!!!!!!!!! [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]

A hint only: a healthy model of few steps may repeat itself too.
"""

from __future__ import annotations

from analyzer.ingest.text.log_line import LogLine, LogState, WritesAtOnce
from analyzer.lazy_regex import LazyRegex

MIN_REPEATS = 8
"""Identical tokens in a row. Healthy text repeats a word two or three times; dashes and bars are left out."""

_MAX_TEXT = 8_000  # a repeated token shows early; the rest of a page-long generation adds nothing

_AFTER = LazyRegex(
    r"(?i)(?:generat\w{0,5}|sample|output|completion|response|prediction)s?\b[^:=>\n]{0,40}[:=>]"
)
_IDS = LazyRegex(r"[\[(,]\s{0,2}(?P<id>-?\d{1,7})(?:,\s{0,2}(?P=id)(?!\d)){7,}")
_RUN = LazyRegex(r"(?P<token>[^\s\d=_*#.~+<>|/\\()\[\]{}\"'`,█▏▎▍▌▋▊▉━─-])(?P=token){7,}")


class GenerationLines(WritesAtOnce):
    """Looks for runs of one token after words such as "generation"."""

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        start = _AFTER.search(line.text[:_MAX_TEXT])
        if start is None:
            return False
        text = line.text[start.end() : _MAX_TEXT]
        repeated = repeated_token(text)
        if repeated is None:
            return False
        token, count = repeated
        log.event("generation_repeats", "symptom", line, {"token": token, "times": count})
        return True


def repeated_token(text: str) -> tuple[str, int] | None:
    """The token that stands ``MIN_REPEATS`` times in a row, and how often; None if there is none.

    >>> repeated_token("the the the the the the the the cat"), repeated_token("a b c")
    (('the', 8), None)
    """
    if match := _IDS.search(text):
        return match["id"], match[0].count(",") + (match[0][0] != ",")
    if match := _RUN.search(text):
        return match["token"], len(match[0])
    previous, count, best = "", 0, ("", 0)
    for word in text.split():
        count = count + 1 if word == previous else 1
        previous = word
        if count > best[1]:
            best = (word, count)
    token, count = best
    return (token[:80], count) if count >= MIN_REPEATS and any(c.isalnum() for c in token) else None
