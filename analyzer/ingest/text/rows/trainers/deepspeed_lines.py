"""Progress lines of DeepSpeed.

    [2023-04-18 01:46:59,142] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=6, lr=[9.6e-06, 9.6e-06], mom=[(0.9, 0.95)]
    [...] [timer.py:199:stop] epoch=0/micro_step=10/global_step=10, RunningAvgSamplesPerSec=173.4, CurrSamplesPerSec=171.9, ...
    [...] [timer.py:198:stop] 0/224, RunningAvgSamplesPerSec=51.1, CurrSamplesPerSec=42.8, ...
    [...] Creating torch.float16 ZeRO stage 2 optimizer

``skipped`` counts all skipped steps so far: its slope is the rate of overflows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.ingest.text.rows.bulk.deepspeed_bulk import Progress, bulk_forms
from analyzer.ingest.text.rows.printed_numbers import NUMBER, parse_number
from analyzer.lazy_regex import LazyRegex

if TYPE_CHECKING:
    from analyzer.ingest.text.log_line import LogLine, LogState
    from analyzer.ingest.text.rows.bulk.bulk_lines import BulkForm

_PROGRESS = LazyRegex(rf"\bstep=(\d{{1,12}}), skipped=(\d{{1,12}}), lr=\[({NUMBER})?")
_SPEED = LazyRegex(
    rf"(?:global_step=(?P<step>\d{{1,12}})|\b\d{{1,9}}/(?P<micro>\d{{1,12}})), (?:RunningAvg)?SamplesPerSec=(?P<mean>{NUMBER})"
    rf"(?:, CurrSamplesPerSec=(?P<now>{NUMBER}))?"
)
_ZERO = LazyRegex(r"Creating (?P<dtype>\S{1,40}) ZeRO stage (?P<stage>\d) optimizer")
_OPTIMIZER = LazyRegex(r"DeepSpeed Basic Optimizer = (\w{1,60})")
_SCALER = LazyRegex(
    r"Creating (?P<dtype>fp16|BF16|bf16) (?:unfused )?optimizer(?: with (?P<scale>dynamic|static) loss scale)?"
)
_WORLD = LazyRegex(r"\b(?:dist_world_size|world_size)[ =]{1,3}(\d{1,6})\b")


class DeepSpeedLines:
    """Reads progress, throughput and the choice of optimizer."""

    literals = (
        ", skipped=",
        "SamplesPerSec=",
        " ZeRO stage ",
        "DeepSpeed Basic Optimizer = ",
        "Creating fp16 ",
        "Creating BF16 optimizer",
        "dist_world_size=",
    )

    def __init__(self) -> None:
        self._last_step = -1
        self._engine = 0

    def bulk_forms(self) -> tuple[BulkForm, ...]:
        """See ``BulkGrammar``."""
        return bulk_forms(self._write_progress, self._write_speed, lambda: self._last_step, self._wrote)

    def _wrote(self, step: int) -> None:
        self._engine, self._last_step = 0, step

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        return self._progress(line, log) or self._speed(line, log) or self._set_up(line, log)

    def _progress(self, line: LogLine, log: LogState) -> bool:
        found = False
        for match in _PROGRESS.finditer(line.raw):
            found = True
            rate = parse_number(match[3]) if match[3] else None
            values = (float(match[2]),) if rate is None else (float(match[2]), rate)
            self._write_progress(Progress(int(match[1]), values, line.rank, line.time_s), line.number, log)
        return found

    def _write_progress(self, row: Progress, number: int, log: LogState) -> None:
        log.out.framework("deepspeed")
        log.saw_step(row.step)
        # Actor and critic of one run are two engines, which print the same step one after the other.
        self._engine = self._engine + 1 if row.step == self._last_step else 0
        self._last_step = row.step
        suffix = f"@engine{self._engine}" if self._engine else ""
        for name, value in zip(("skipped_steps", "learning_rate"), row.values, strict=False):
            log.point(name + suffix, value, row.step, number, row.rank, row.time_s)

    def _speed(self, line: LogLine, log: LogState) -> bool:
        match = _SPEED.search(line.raw)
        if match is None:
            return False
        speed = parse_number(match["now"] or match["mean"])
        values = () if speed is None else (speed,)
        if match["step"]:
            self._write_speed(Progress(int(match["step"]), values, line.rank, line.time_s), line.number, log)
        elif speed is not None:
            # The old form counts micro-steps, which are not optimizer steps: it gets no step.
            log.metric("samples_per_second", speed, line, None)
        return True

    @staticmethod
    def _write_speed(row: Progress, number: int, log: LogState) -> None:
        log.saw_step(row.step)
        for value in row.values:
            log.point("samples_per_second", value, row.step, number, row.rank, row.time_s)

    def _set_up(self, line: LogLine, log: LogState) -> bool:
        if match := _ZERO.search(line.raw):
            _state(log, "zero_optimization.stage", int(match["stage"]), line)
        elif match := _OPTIMIZER.search(line.raw):
            _state(log, "optimizer.type", match[1], line)
        elif match := _SCALER.search(line.raw):
            _state(log, "fp16.enabled" if match["dtype"] == "fp16" else "bf16.enabled", value=True, line=line)
        elif match := _WORLD.search(line.raw):
            log.out.layout(world_size=int(match[1]), line=line.number)
        else:
            return False
        log.out.framework("deepspeed")
        return True

    def finish(self, log: LogState) -> None:
        """Nothing is left to write."""


def _state(log: LogState, key: str, value: bool | int | str, line: LogLine) -> None:
    log.out.config(key, value, framework="deepspeed", layer="runtime_echo", line=line.number)
