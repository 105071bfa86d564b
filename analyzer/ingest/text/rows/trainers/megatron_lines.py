"""Iteration lines of Megatron-LM and its relatives (Megatron-DeepSpeed, GPT-NeoX, NeMo's Megatron).

     iteration      120/ 1716613 | consumed samples: 30720 | elapsed time per iteration (ms): 591.5 | learning rate: 7.019E-06 |
     global batch size:   256 | lm loss: 8.958018E+00 | loss scale: 2048.0 | grad norm: 1.2 | number of skipped iterations:   0 | number of nan iterations:   0 |

Fields are read by name: their set and order differ by version. A loss that is NaN is *not printed*: the
field is missing. It is also missing when every iteration since the last line was skipped by the loss
scaler, and then nothing is known about it. Counters start anew on each line; they are summed up here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from analyzer.ingest.text.log_line import Origin
from analyzer.ingest.text.rows.bulk.bulk_lines import CurvePart
from analyzer.ingest.text.rows.bulk.megatron_bulk import Iteration, Iterations, MegatronBulkForm, is_loss
from analyzer.ingest.text.rows.printed_numbers import NUMBER, parse_number
from analyzer.ingest.text.rows.windows import StepGaps
from analyzer.lazy_regex import LazyRegex

if TYPE_CHECKING:
    from collections.abc import Iterable

    from analyzer.ingest.text.log_line import LogLine, LogState
    from analyzer.ingest.text.rows.bulk.bulk_lines import BulkForm

_HEAD = LazyRegex(r"\biteration\s{1,12}(\d{1,12})/\s{0,12}(\d{1,12}) \|")
_FIELD = LazyRegex(rf"\|\s{{0,4}}([A-Za-z][\w ()/.-]{{1,60}}?):\s{{1,16}}({NUMBER})(?=\s)")
_VALIDATION = LazyRegex(
    rf"validation loss at (?:iteration\s{{1,12}}(?P<step>\d{{1,12}})|[^|]{{1,60}}) \|.{{0,200}}?(?:lm[ _]loss value|lm_loss_value): (?P<loss>{NUMBER})"
)
_PARALLEL = LazyRegex(r"using world size: (\d{1,7})")

_SKIPPED = "number of skipped iterations"
_NAN = "number of nan iterations"
_KEPT = frozenset(
    {
        "learning rate",
        "grad norm",
        "loss scale",
        "num zeros",
        "params norm",
        _NAN,
        "elapsed time per iteration (ms)",
        "throughput per GPU (TFLOP/s/GPU)",
        "tokens per gpu per second (tgs)",
        "samples per second",
        "TFLOPs",
    }
)
# Losses that a line still prints when the loss proper is NaN, and so left out.
_AUXILIARY = LazyRegex(r"(?i)balanc|aux|\bz[ _-]|mtp|router|moe")


_PLACEHOLDERS = frozenset({"loss scale", "grad norm", "num zeros", "params norm"})


class _Plan:
    """What is written of the lines that print the same fields.

    Attributes:
        losses: Names as written of the losses proper.
        metrics: Place of the field, name as written, and whether it may be a placeholder; losses first.
        scale: Place of the loss scale.
        skipped: Place of the number of skipped iterations.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        losses = [name for name in names if is_loss(name)]
        self.losses = tuple(name.replace("-", " ") for name in losses if not _AUXILIARY.search(name))
        self.metrics = tuple(
            (names.index(name), name.replace("-", " "), name in _PLACEHOLDERS)
            for name in [*losses, *(name for name in names if name in _KEPT)]
        )
        self.scale = names.index("loss scale") if "loss scale" in names else None
        self.skipped = names.index(_SKIPPED) if _SKIPPED in names else None


class MegatronLines:
    """Reads iteration and validation lines."""

    literals = ("elapsed time per iteration (ms)", "validation loss at ", "using world size: ")

    def __init__(self) -> None:
        self._gaps = StepGaps()
        self._losses: dict[str, None] = {}
        self._lossless: list[tuple[Origin, int]] = []
        self._plans: dict[tuple[str, ...], _Plan] = {}
        self._skipped = 0

    def bulk_forms(self) -> tuple[BulkForm, ...]:
        """See ``BulkGrammar``."""
        return (MegatronBulkForm(self),)

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        head = _HEAD.search(line.raw)
        if head is not None:
            self._iteration(int(head[1]), int(head[2]), line, log)
            return True
        if match := _VALIDATION.search(line.raw):
            value = parse_number(match["loss"])
            if value is not None:
                log.metric("eval_loss", value, line, int(match["step"]) if match["step"] else log.step)
            return True
        if match := _PARALLEL.search(line.raw):
            log.out.layout(world_size=int(match[1]), line=line.number)
            return True
        return False

    def _iteration(self, step: int, total: int, line: LogLine, log: LogState) -> None:
        fields: dict[str, float] = {}
        for name, text in _FIELD.findall(line.raw):
            value = parse_number(text)
            if value is not None:
                fields[name] = value
        row = Iteration(step, total, tuple(fields), tuple(fields.values()), line.rank, line.time_s)
        self.write(row, line.number, log)

    def may_write_all(self, rows: Iterations, log: LogState) -> bool:
        """Whether lines are all usual and none begins a curve."""
        plan = self._plans.get(rows.names)
        if plan is None or not plan.losses or plan.skipped is None:
            return False
        names = [name for _, name, _ in plan.metrics]
        known = all(log.has_curve(name, rows.rank) for name in [*names, "skipped_steps"])
        usual = plan.scale is None or not bool((rows.values[:, plan.scale] < 0).any())
        counted = bool((rows.values[:, plan.skipped] >= 0).all())
        return known and usual and counted and len(set(names)) == len(names)

    def write_all(self, rows: Iterations, log: LogState) -> Iterable[CurvePart]:
        """Do what ``write`` does with each line; the points are for the caller to write."""
        plan = self._plans[rows.names]
        log.total_steps = rows.total
        self._gaps.add_all(rows.steps)
        columns = {name: rows.values[:, place] for place, name, _ in plan.metrics}
        skipped = np.minimum(rows.values[:, plan.skipped or 0], 1e9).astype(np.int64)
        counts = self._skipped + np.cumsum(skipped)
        self._skipped = int(counts[-1])
        columns["skipped_steps"] = counts.astype(np.float64)
        return [
            CurvePart(name, rows.rank, rows.begins, rows.steps, values, rows.numbers, rows.times_s)
            for name, values in columns.items()
        ]

    def write(self, row: Iteration, number: int, log: LogState) -> None:
        """Take what one line says."""
        plan = self._plans.get(row.names)
        if plan is None:
            plan = self._plans[row.names] = _Plan(row.names)
            self._losses.update(dict.fromkeys(plan.losses))
        log.out.framework("megatron")
        log.saw_step(row.step)
        log.total_steps = row.total
        gap = self._gaps.add(row.step)
        values = row.values
        # DeepSpeed keeps norm and scale to itself when it runs the optimizer: the line then shows
        # "loss scale: -1.0 | grad norm: 0.000 | num zeros: 0.0", which are placeholders.
        placeholders = plan.scale is not None and values[plan.scale] < 0
        for place, name, may_be_placeholder in plan.metrics:
            if not (placeholders and may_be_placeholder):
                log.point(name, values[place], row.step, number, row.rank, row.time_s)
        skipped = None if plan.skipped is None else values[plan.skipped]
        if skipped is not None and skipped >= 0:
            self._skipped += int(min(skipped, 1e9))
            log.point("skipped_steps", float(self._skipped), row.step, number, row.rank, row.time_s)
        if not plan.losses and not self._all_skipped(dict(zip(row.names, values, strict=True)), gap):
            self._lossless.append((Origin(number, row.rank, row.time_s), row.step))

    @staticmethod
    def _all_skipped(fields: dict[str, float], gap: int | None) -> bool:
        """Whether no iteration since the last line had a loss to print, for want of a step."""
        if fields.get(_NAN, 0.0) > 0:
            return False
        skipped = fields.get(_SKIPPED, 0.0)
        return skipped > 0 and (gap is None or skipped >= gap)

    def finish(self, log: LogState) -> None:
        """Write NaN for the losses that were left out, under the names that the log uses elsewhere."""
        names = list(self._losses) or ["lm loss"]
        for origin, step in self._lossless:
            for name in names:
                log.metric(name, float("nan"), origin, step)
        self._gaps.state_window(log)
