"""The strict bulk form of Megatron's iteration lines; see ``megatron_lines`` for what they look like.

Which fields a version prints is learned from a line; further lines are matched by the expression made of them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from analyzer.ingest.bulk_lines import Batch, CurvePart, Records
from analyzer.ingest.metric_lines.learned_shapes import NUMBER, PLAIN_BAR, LazyBytesRegex, LearnedShapes
from analyzer.ingest.prefixes import peel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from analyzer.ingest.log_line import LogState
    from analyzer.ingest.text_layer import Block

_BAR = LazyBytesRegex(PLAIN_BAR + rb"[^\r\n%|{]{0,120}")
_HEAD = LazyBytesRegex(rb"iteration {1,12}\d{1,12}/ {0,12}\d{1,12} \|")
_FIELD = LazyBytesRegex(rb" ([A-Za-z][A-Za-z0-9_ ()/.-]{1,60}): {1,16}(?:" + NUMBER + rb") \|")


class Iteration(NamedTuple):
    """One line.

    Attributes:
        step: Iteration.
        total: Iterations that the run intends.
        names: Names of the fields.
        values: Their numbers.
        rank: Global rank that a prefix names.
        time_s: Unix seconds, None if unknown.
    """

    step: int
    total: int
    names: tuple[str, ...]
    values: tuple[float, ...]
    rank: int | None
    time_s: float | None


class IterationTaker(Protocol):
    """The grammar that takes iterations."""

    def write(self, row: Iteration, number: int, log: LogState) -> None:
        """Take one."""

    def may_write_all(self, rows: Iterations, log: LogState) -> bool:
        """Whether ``write_all`` may be called."""

    def write_all(self, rows: Iterations, log: LogState) -> Iterable[CurvePart]:
        """Take many; the points are for the caller to write."""


class Iterations(NamedTuple):
    """Many lines that print the same fields on one rank.

    Attributes:
        begins: Where each begins in the block.
        steps: int64, shape (n_lines,).
        total: Iterations that the run intends, as the last line says.
        names: Names of the fields.
        values: float64, shape (n_lines, n_fields).
        rank: Global rank.
        numbers: int64, shape (n_lines,): line numbers.
        times_s: float64, shape (n_lines,): NaN where unknown.
    """

    begins: Sequence[int]
    steps: npt.NDArray[np.int64]
    total: int
    names: tuple[str, ...]
    values: npt.NDArray[np.float64]
    rank: int | None
    numbers: npt.NDArray[np.int64]
    times_s: npt.NDArray[np.float64]


class _Lines(Batch):
    """Lines with their names and groups, and what their prefixes say."""

    def __init__(
        self,
        columns: Records,
        found: list[tuple[tuple[bytes, ...], tuple[str, ...]]],
        peeled: list[tuple[int | None, float | None]],
        taker: IterationTaker,
    ) -> None:
        super().__init__(columns.starts, columns.ends, columns.lines)
        self._taker = taker
        self._names = [names for _, names in found]
        self._values = [tuple(map(float, groups[2:])) for groups, _ in found]
        self._totals = [int(groups[1]) for groups, _ in found]
        self._peeled = peeled
        self.steps = np.array([int(groups[0]) for groups, _ in found], np.int64)

    def take(self, index: int, block: Block, log: LogState) -> None:
        """See ``Batch.take``."""
        rank, time_s = self._peeled[index]
        line = self.lines[index]
        row = Iteration(
            int(self.steps[index]),
            self._totals[index],
            self._names[index],
            self._values[index],
            rank,
            block.time_s(line) if time_s is None else time_s,
        )
        self._taker.write(row, block.number(line), log)

    def _all(self, low: int, high: int, numbers: npt.NDArray[np.int64]) -> Iterations:
        return Iterations(
            self.starts[low:high],
            self.steps[low:high],
            self._totals[high - 1],
            self._names[low],
            np.array(self._values[low:high]),
            self._peeled[low][0],
            numbers,
            np.array([time_s for _, time_s in self._peeled[low:high]], np.float64),
        )

    def ready(self, low: int, high: int, log: LogState) -> bool:
        """See ``Batch.ready``."""
        names, rank = self._names[low], self._peeled[low][0]
        if self._names[low:high].count(names) < high - low:
            return False
        if any(other != rank for other, _ in self._peeled[low:high]):
            return False
        return self._taker.may_write_all(self._all(low, high, self.steps[low:high]), log)

    def take_all(
        self, low: int, high: int, numbers: npt.NDArray[np.int64], log: LogState
    ) -> Iterable[CurvePart]:
        """See ``Batch.take_all``."""
        return self._taker.write_all(self._all(low, high, numbers), log)


class MegatronBulkForm:
    """See ``analyzer.ingest.bulk_lines.BulkForm``.

    Args:
        taker: Takes what lines say.
    """

    anchor = b"elapsed time per iteration (ms)"
    swallows: tuple[str, ...] = ("elapsed time per iteration (ms)", "loss", "time ", "grad norm")
    passed_by: tuple[str, ...] = ("ProgressBars",)  # the bars before these lines hold no values

    def __init__(self, taker: IterationTaker) -> None:
        self._taker = taker
        self._shapes = LearnedShapes(_learn)

    def match(self, data: bytes, records: Records, wanted: Sequence[int]) -> Batch:  # noqa: ARG002
        """See ``BulkForm.match``."""
        kept: list[int] = []
        found: list[tuple[tuple[bytes, ...], tuple[str, ...]]] = []
        peeled: list[tuple[int | None, float | None]] = []
        for index, (start, end, at) in enumerate(
            zip(records.starts, records.ends, records.positions, strict=True)
        ):
            head = data.find(b"iteration ", start, at)
            match = self._shapes.match(data, head, end) if head >= 0 else None
            said = _prefix(data[start:head]) if match is not None else None
            if match is not None and said is not None:
                kept.append(index)
                found.append((match[0].groups(), match[1]))
                peeled.append(said)
        return _Lines(records.only(kept), found, peeled, self._taker)


@lru_cache(maxsize=1024)
def _prefix(prefix: bytes) -> tuple[int | None, float | None] | None:
    """Rank and time of what stands before a line; None if that may be more than a prefix."""
    if prefix.endswith(b" ") and _BAR.fullmatch(prefix):
        return None, None
    if prefix[-1:] not in (b"", b" ") or b"%" in prefix or b"|" in prefix or b"{" in prefix:
        return None
    peeled = peel(prefix.decode("utf-8", "replace") + "iteration      10/  100")
    return peeled.rank, peeled.time_s


def _learn(text: bytes) -> tuple[tuple[str, ...], bytes] | None:
    """The shape of a line that is wholly made of plain numbers; one without a loss is not for here."""
    head = _HEAD.match(text)
    if head is None:
        return None
    names: list[bytes] = []
    position = head.end()
    while field := _FIELD.match(text, position):
        names.append(field[1])
        position = field.end()
    has_loss = any(is_loss(name.decode()) for name in names)
    if text[position:].strip(b" \t") or not has_loss or len(set(names)) < len(names):
        return None
    fields = b"".join(rb" %b: {1,16}(%b) \|" % (re.escape(name), NUMBER) for name in names)
    head_form = rb"iteration {1,12}(\d{1,12})/ {0,12}(\d{1,12}) \|"
    return tuple(name.decode() for name in names), head_form + fields + rb"[ \t]*"


def is_loss(name: str) -> bool:
    """Whether a field is a loss, in the spelling of any version."""
    return name.replace("-", " ").replace("_", " ").endswith("loss")
