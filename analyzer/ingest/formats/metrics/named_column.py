r"""One number a line in a file that is named for what they are: ``loss.txt``, ``val_loss_1.log``, ``train_acc.dat``.

Loops write such files by ``f.write(f"{loss.item()}\n")`` and ``numpy.savetxt``. The name alone tells the quantity, so
only curves of training are taken, and only where every line of the beginning is a number.
"""

from __future__ import annotations

import re

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.metric_columns import is_known_metric
from analyzer.ingest.scalar_text import metric_number
from analyzer.ingest.source_text import bounded_lines, decode

_NAMED = re.compile(
    r"(?:^|/)(?P<stem>[A-Za-z][A-Za-z_ -]{2,60}?)[_ -]{0,2}\d{0,8}\.(?:txt|log|dat|csv|out)(?:\.gz|\.zst)?$"
)
_NUMBER = re.compile(
    r"\s{0,40}(?:tensor\()?(?:[-+]?(?:\d{1,40}\.?\d{0,40}|\.\d{1,40})(?:[eE][-+]?\d{1,4})?|[-+]?(?i:nan|inf(?:inity)?))\)?[,;]?\s{0,40}"
)

ENOUGH = 5
"""Lines from which a file of such a name holds a curve."""

LONGEST = 200
"""A longer line holds more than one number, or something else."""


class NamedColumn:
    """Reads a bare column of numbers."""

    name = "named-column"
    summary = "one number a line in a file named for a curve (loss.txt)"
    is_log = True

    def sniff(self, candidate: Candidate) -> Match:
        """The name is that of a curve, and each line of the head is one number."""
        if _quantity(candidate.name) is None:
            return Match.NO
        lines = [line for line in decode(candidate.head[:16_384]).splitlines() if line.strip()]
        if len(candidate.head) > 16_384 or candidate.size_bytes > len(candidate.head):
            lines = lines[:-1]  # the last one may be cut
        numbers = all(len(line) <= LONGEST and _NUMBER.fullmatch(line) for line in lines)
        return Match.LIKELY if len(lines) >= ENOUGH and numbers else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Each line becomes a point without a step."""
        name = _quantity(source.candidate.name) or "loss"
        odd = 0
        for number, raw in bounded_lines(source, out):
            text = decode(raw[:LONGEST]).strip().rstrip(",;")
            value = metric_number(text) if text else None
            if value is not None:
                out.metric(name, value, line=number)
            elif text:
                odd += 1
        if odd:
            out.gap(f"{odd} lines hold no number", rows_lost=odd)


def _quantity(name: str) -> str | None:
    """The metric that a file is named for."""
    match = _NAMED.search(name)
    if match is None:
        return None
    stem = match["stem"].lower().strip("_- ").replace("-", "_").replace(" ", "_")
    options = (
        stem,
        stem.removesuffix("es"),
        stem.removesuffix("s"),
        stem.removesuffix("_history"),
        stem.removesuffix("_log"),
    )
    return next((word for word in options if is_known_metric(word)), None)
