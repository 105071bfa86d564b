"""Progress lines of DeepSpeed.

    [2023-04-18 01:46:59,142] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=6, lr=[9.6e-06, 9.6e-06], mom=[(0.9, 0.95)]
    [...] [timer.py:199:stop] epoch=0/micro_step=10/global_step=10, RunningAvgSamplesPerSec=173.4, CurrSamplesPerSec=171.9, ...
    [...] [timer.py:198:stop] 0/224, RunningAvgSamplesPerSec=51.1, CurrSamplesPerSec=42.8, ...

``skipped`` counts all skipped steps so far: its slope is the rate of overflows. Actor and critic of one run are two engines, which
print the same step one after the other.
"""

from __future__ import annotations

from analyzer.ingest.text.log_line import Learnable, LogLine, LogState, WritesAtOnce
from analyzer.ingest.text.rows.printed_numbers import NUMBER, parse_number
from analyzer.lazy_regex import LazyRegex

_PROGRESS = LazyRegex(rf"\bstep=(\d{{1,12}}), skipped=(\d{{1,12}}), lr=\[({NUMBER})?")
_SPEED = LazyRegex(
    rf"(?:global_step=(?P<step>\d{{1,12}})|\b\d{{1,9}}/(?P<micro>\d{{1,12}})), (?:RunningAvg)?SamplesPerSec=(?P<mean>{NUMBER})"
    rf"(?:, CurrSamplesPerSec=(?P<now>{NUMBER}))?"
)


class DeepSpeedLines(Learnable, WritesAtOnce):
    """Reads progress and throughput."""

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        return self._progress(line, log) or self._speed(line, log)

    @staticmethod
    def _progress(line: LogLine, log: LogState) -> bool:
        matches = list(_PROGRESS.finditer(line.raw))
        for match in matches:
            log.out.framework("deepspeed")
            step = int(match[1])
            log.saw_step(step)
            engine, suffix = 0, ""
            while log.last_step_of(f"skipped_steps{suffix}", line.rank) == step:
                engine += 1
                suffix = f"@engine{engine}"
            log.metric(f"skipped_steps{suffix}", float(match[2]), line, step)
            rate = parse_number(match[3]) if match[3] else None
            if rate is not None:
                log.metric(f"learning_rate{suffix}", rate, line, step)
        return bool(matches)

    @staticmethod
    def _speed(line: LogLine, log: LogState) -> bool:
        match = _SPEED.search(line.raw)
        if match is None:
            return False
        # The old form counts micro-steps, which are not optimizer steps: it gets no step.
        step = int(match["step"]) if match["step"] else None
        if step is not None:
            log.saw_step(step)
        speed = parse_number(match["now"] or match["mean"])
        if speed is not None:
            log.metric("samples_per_second", speed, line, step)
        return True
