"""The history of a training that is printed when it is over: one list for each metric, one value for each epoch.

    {'loss': [2.5, 1.25, 0.75], 'accuracy': [0.25, 0.5, 0.75], 'val_loss': [2.25, 1.5, 1.25]}
    history: {"train_loss": [2.5, 1.25, nan], "val_loss": [2.25, 1.5, NaN]}
    defaultdict(<class 'list'>, {'loss': [np.float64(2.5), np.float64(1.25), np.float64(0.75)]})

It repeats what the rows of a log said, where a log has rows: then nothing of it is written.
"""

from __future__ import annotations

from analyzer.ingest.metric_columns import is_known_metric, is_known_score
from analyzer.ingest.names import canonical_metric
from analyzer.ingest.text.log_line import LogLine, LogState, WritesAtOnce
from analyzer.ingest.text.rows.printed_numbers import parse_number
from analyzer.lazy_regex import LazyRegex

LEAST_EPOCHS = 3
"""Values from which on a list of losses is a course: two may be those of two heads or of two sets."""

MOST_METRICS = 64
"""Lists taken from one history."""

MOST_CHARACTERS = 200_000
"""Of a list: ten thousand epochs with all digits of a double."""

_LIST = LazyRegex(rf"""['"]([^'"\n]{{1,120}})['"]: ?\[([^\[\]{{}}'"]{{5,{MOST_CHARACTERS}}})\]""")
_COUNTED = LazyRegex(r"""['"](?:global_)?(?:step|epoch|iter|iteration|episode)['"]: ?['"]?\d""")
_WRAPPED = LazyRegex(r"(?:np\.float\d\d|tensor|array)\(([^()]{1,40})\)")
Course = dict[str, list[float]]


class PrintedHistories(WritesAtOnce):
    """Reads histories that a line shows as a dict or as JSON."""

    def __init__(self) -> None:
        self._last: Course = {}

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        course = history_of(line.raw)
        if not course:
            return False
        told = 0
        if self._last:
            told = _told(self._last, course)
            if not told:
                log.event("training_begins_again", "info", line, {"epoch": 1}, None)
        elif any(log.has_course(canonical_metric(name)) for name in course):
            return True
        self._last = course
        for name, values in course.items():
            for epoch, value in enumerate(values[told:], told + 1):
                log.metric(name, value, line, epoch)
        return True


def history_of(text: str) -> Course:
    """The lists of a line that are as long as that of its loss; empty if it shows none.

    A line that counts a step has the losses of several parts at that step.

    >>> history_of("{'loss': [2.5, 1.5, nan], 'acc': [0.25, 0.5, 0.5], 'hidden': [64, 64]}")
    {'loss': [2.5, 1.5, nan], 'acc': [0.25, 0.5, 0.5]}
    >>> history_of("{'step': 3, 'loss': [2.5, 1.5, 0.5]}"), history_of("{'val_acc': [0.25, 0.5, 0.5]}")
    ({}, {})
    """
    if _COUNTED.search(text):
        return {}
    course: Course = {}
    for name, listed in _LIST.findall(_WRAPPED.sub(r"\1", text))[:MOST_METRICS]:
        if is_known_metric(name) or is_known_score(name):
            values = [parse_number(part.strip()) for part in listed.split(",")]
            known = [value for value in values if value is not None]
            if len(known) == len(values):
                course[name] = known
    length = next((len(values) for name, values in course.items() if canonical_metric(name) == "loss"), 0)
    if length < LEAST_EPOCHS:
        return {}
    return {name: values for name, values in course.items() if len(values) == length}


def _told(before: Course, course: Course) -> int:
    """Epochs of a history that the one before it showed too; 0 if it is that of another training.

    >>> _told({"loss": [2.5, 1.5]}, {"loss": [2.5, 1.5, 0.5]}), _told({"loss": [2.5, 1.5]}, {"loss": [2.5, 1.25, 0.5]})
    (2, 0)
    """
    epochs = len(next(iter(before.values())))
    # as text a NaN is equal to itself
    same = [str(course[name][:epochs]) == str(before[name]) for name in course if name in before]
    return epochs if same and all(same) else 0
