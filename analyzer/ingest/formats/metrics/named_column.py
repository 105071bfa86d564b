r"""One number per line, in a file that is named for what they are (``loss.txt``, ``val_loss_1.log``) or below a head.

    # train_loss                  loss                  % mean class accuracy (train set)        (rewards.csv)
    2.3026e+00                    2.3026                 4.3513e+01                              1.0280e+03,-1.9000e+01

A number that grows from line to line may stand before it: the step.

Loops write such files by ``f.write(f"{loss.item()}\n")``, ``numpy.savetxt``, pandas and Torch's logger. The name or the
head tells the quantity, so only curves of training are taken, and only where every line of the beginning is a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.metric_columns import is_known_metric
from analyzer.ingest.scalar_text import metric_number, whole_step
from analyzer.ingest.source_text import bounded_lines, decode
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import read_name

_NAMED = LazyRegex(
    r"(?:^|/)(?P<stem>[A-Za-z][A-Za-z_ -]{2,60}?)[_ -]{0,2}\d{0,8}\.(?:txt|log|dat|csv|out)(?:\.gz|\.zst)?$"
)
_NUMBER = LazyRegex(
    r"\s{0,40}(?:tensor\()?(?:[-+]?(?:\d{1,40}\.?\d{0,40}|\.\d{1,40})(?:[eE][-+]?\d{1,4})?|[-+]?(?i:nan|inf(?:inity)?))\)?[,;]?\s{0,40}"
)

_STEP = LazyRegex(r"\s{0,40}(?P<step>\d[\d.eE+]{0,40})\s{0,8}[,;\t ]\s{0,8}(?=\S)")

_HEAD = LazyRegex(r"[#%]?\s{0,8}\"?(?P<name>[A-Za-z][\w ()/.-]{1,60})\"?")
_NO_LETTER = LazyRegex(r"[^A-Za-z0-9/]+")

ENOUGH = 5
"""Lines from which a file of such a name holds a curve."""

LONGEST = 200
"""A longer line holds more than one number, or something else."""


class NamedColumn:
    """Reads a bare column of numbers."""

    def sniff(self, candidate: Candidate) -> Match:
        """The name or the first line is that of a curve, and each further line of the head is one number."""
        lines = [line for line in decode(candidate.head[:16_384]).splitlines() if line.strip()]
        if len(candidate.head) > 16_384 or candidate.size_bytes > len(candidate.head):
            lines = lines[:-1]  # the last one may be cut
        headed = bool(lines) and _of_head(lines[0]) is not None
        if not headed and _quantity(candidate.name) is None:
            return Match.NO
        values = lines[headed:]
        steps = [metric_number(match["step"]) for line in values if (match := _STEP.match(line))]
        if steps and (len(steps) < len(values) or not _grow(steps)):
            return Match.NO
        numbers = all(
            len(line) <= LONGEST and _NUMBER.fullmatch(_STEP.sub("", line, count=1)) for line in values
        )
        return Match.LIKELY if len(values) >= ENOUGH and numbers else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Each line becomes a point without a step."""
        name = _quantity(source.candidate.name) or "loss"
        odd = 0
        for number, raw in bounded_lines(source, out):
            line = decode(raw[:LONGEST]).strip()
            before = _STEP.match(line)
            text = line[before.end() if before else 0 :].rstrip(",;")
            value = metric_number(text) if text else None
            if number == 1 and value is None and (named := _of_head(text)) is not None:
                name = named
                continue
            if value is not None:
                step = whole_step(metric_number(before["step"])) if before else None
                out.metric(name, value, step=step, line=number)
            elif text:
                odd += 1
        if odd:
            out.gap(f"{odd} lines hold no number", rows_lost=odd)


def _grow(steps: Sequence[float | None]) -> bool:
    """Whether each number is more than the one before."""
    return all(a is not None and b is not None and a < b for a, b in pairwise(steps))


def _of_head(line: str) -> str | None:
    """The metric that a first line names.

    >>> _of_head("# train_loss"), _of_head("% mean class accuracy (train set)"), _of_head("0.5"), _of_head("Loss of my net:")
    ('train_loss', 'mean_accuracy_train', None, None)
    """
    match = _HEAD.fullmatch(line.strip())
    if match is None:
        return None
    words = _NO_LETTER.sub(" ", match["name"]).split()
    name = "_".join(
        word for word in words if word not in {"class", "set"}
    )  # "mean class accuracy" is one over all classes
    reading = read_name(name)
    told = is_known_metric(name) or (reading.quantity in {"loss", "accuracy"} and not reading.setting)
    return name if told else None


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
