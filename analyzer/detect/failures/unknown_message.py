"""What the error lines of a log are like, by their words alone.

A linear model compares them with messages and labelled logs whose causes are known, and names up to six. Pieces that none of these has say
nothing. What a launcher reports of a process that ended, and what stands below such a report, says nothing of why and is not asked.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from analyzer.detect.base import FactWriter, RunView
from analyzer.detect.failures.first_failure import order_of
from analyzer.detect.failures.message_features import pieces
from analyzer.detect.likeness.places import put_places
from analyzer.detect.linear import PackedRidge, read_linear, ridge_of, shares_of
from analyzer.lazy_regex import LazyRegex
from analyzer.model.labels import HEALTHY
from analyzer.model.refs import SourceRef
from analyzer.record import NamedTuple

if TYPE_CHECKING:
    import numpy.typing as npt

    Values = npt.NDArray[np.float32]

# The shipped numbers of the reader of unknown messages: a linear model, scored with NumPy alone.
SHIPPED = Path(__file__).with_name("messages.linear")


class MessageModel(NamedTuple):
    """Weights of each cause over the pieces of a message."""

    causes: tuple[str, ...]  # identifiers of the causes
    pieces: npt.NDArray[np.uint32]  # hashes of the pieces that are known, in order
    ridge: PackedRidge

    def scores(self, lines: Iterable[str]) -> Values:
        """About 1 for the cause of a message and 0 for the others, shape (causes,)."""
        asked = np.fromiter(sorted(pieces(lines)), dtype=np.uint32)
        places = np.flatnonzero(np.isin(self.pieces, asked, assume_unique=True))
        return self.ridge.scores(places)


@lru_cache(maxsize=1)
def shipped_messages() -> MessageModel:
    """The model that comes with analyzer."""
    return read_messages(SHIPPED)


def read_messages(path: Path) -> MessageModel:
    """A model from its file: numbers and names only, nothing that is executed."""
    stored = read_linear(path)
    return MessageModel(
        causes=tuple(stored["causes"]),
        pieces=stored["pieces"],
        ridge=ridge_of(stored),
    )


LINES_SHOWN = 2

FIRST_LEAST = 0.16
"""Score below which not even the likeliest is told: the words are of no message that is known. Of 106 such answers on logs held out
every sixth was right, of 475 up to .25 two in five."""

_OF_A_STACK = LazyRegex(
    r"\s{0,40}(?:\S{0,60}\s)?File \"|\s{2,40}\S|\s{0,8}@ {1,12}0x[\da-f]|.{0,300}\[0x[\da-f]{4,16}\]\s*$|\s{0,8}\d{1,3} {1,4}[\w:~<>]{3,200}\("
)
"""Frames of stacks and the code below them, of Python and of native code: compared like the rest, and not what is shown."""

_AFTERWARDS = frozenset({"cascade", "teardown"})

_REPORTS = frozenset({"torchrun_worker_failed"})
"""Reports of launchers that are no consequence of something in the log, but the first that is known."""

_IN_A_THREAD = "Exception in thread "


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``message.*``."""
    found = words_of(view)
    if not found:
        return
    model = shipped_messages()
    scores = model.scores([text for *_, text in found])
    if scores.max() < FIRST_LEAST:
        return
    shares = shares_of(scores)
    said = [line for line in found if not _OF_A_STACK.match(line[2])] or found
    refs = [SourceRef(source, line) for source, line, _ in said[-LINES_SHOWN:]]
    if HEALTHY in model.causes:
        out.put("sound", float(shares[model.causes.index(HEALTHY)]), refs)
    put_places(out, model.causes, scores, shares, 0.0, refs)


def words_of(view: RunView) -> list[tuple[int, int, str]]:
    """Source, number and text of the lines that tell why a run ended; of a log without errors and rows its last lines."""
    found = list(_errors(view))
    if found or len(view.run.metrics):
        return found
    return [(end.source, *line) for end in view.run.log_ends for line in end.last_lines]


def _errors(view: RunView) -> Iterator[tuple[int, int, str]]:
    """Source, number and text of the error lines up to what only follows: reports of launchers, the end of other processes."""
    after: defaultdict[int, set[int]] = defaultdict(set)
    roots: defaultdict[int, int] = defaultdict(int)
    for event in view.run.events.rows:
        source, line = event.ref.source, event.ref.line
        if line is None:
            continue
        if event.role in _AFTERWARDS or event.kind in _REPORTS:
            after[source].add(line)
        elif event.role == "root_candidate":
            roots[source] = max(roots[source], line)
    for end in view.run.log_ends:
        if not end.errors:
            continue
        least = max(end.errors[0][0], roots[end.source])
        until = min((line for line in after[end.source] if line > least), default=math.inf)
        aside = _of_loaders_left_behind(view, end.source, end.errors)
        for number, text in end.errors:
            if number < until and number not in after[end.source] and number not in aside:
                yield end.source, number, text


def _of_loaders_left_behind(view: RunView, source: int, errors: Iterable[tuple[int, str]]) -> set[int]:
    """Numbers of the lines by which threads of a loader miss workers that ended with the main process: that tells nothing of why it did."""
    order = order_of(view)
    missed = {
        failure.place[2]
        for failure in order.of("dataloader_worker_killed")
        if failure.place[1] == source and order.follows(failure)
    }
    aside: set[int] = set()
    stack: list[int] | None = None
    for number, text in errors if missed else ():
        stack = [] if text.startswith(_IN_A_THREAD) else stack
        if stack is None:
            continue
        stack.append(number)
        if number in missed:
            aside.update(stack)
            stack = None
    return aside
