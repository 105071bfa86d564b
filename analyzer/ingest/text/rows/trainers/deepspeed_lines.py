"""Progress lines of DeepSpeed.

    [2023-04-18 01:46:59,142] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=6, lr=[9.6e-06, 9.6e-06], mom=[(0.9, 0.95)]

``skipped`` counts all skipped steps so far: its slope is the rate of overflows. Actor and critic of one run are two engines, which
print the same step one after the other.
"""

from __future__ import annotations

from analyzer.ingest.text.log_line import Learnable, LogLine, LogState, WritesAtOnce
from analyzer.ingest.text.rows.printed_numbers import NUMBER, parse_number
from analyzer.lazy_regex import LazyRegex

_PROGRESS = LazyRegex(rf"\bstep=(\d{{1,12}}), skipped=(\d{{1,12}}), lr=\[({NUMBER})?")


class DeepSpeedLines(Learnable, WritesAtOnce):
    """Reads progress."""

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
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
