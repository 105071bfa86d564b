"""The block that HF Trainer's ``log_metrics`` prints when training or evaluation ended.

***** train metrics *****
  epoch                    =     2.9268
  train_loss               =        0.0
  train_runtime            = 0:02:59.80
"""

from __future__ import annotations

from analyzer.ingest.text.log_line import LogLine, LogState, WritesAtOnce
from analyzer.ingest.text.rows.printed_numbers import NUMBER, parse_number
from analyzer.lazy_regex import LazyRegex

_ROW = LazyRegex(
    rf"^\s{{1,4}}(?P<name>(?:train|eval)_(?:loss|runtime))\s{{1,60}}=\s{{1,40}}(?P<value>{NUMBER}|[\d:.]{{4,20}})\s*$"
)


class HfSummary(WritesAtOnce):
    """Reads the mean loss; the run time says that training came to its end."""

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        match = _ROW.match(line.raw)
        if match is None:
            return False
        log.out.framework("hf-trainer")
        if match["name"] == "train_runtime":
            log.event("training_completed", "info", line)
            return True
        value = parse_number(match["value"])
        if value is not None:
            # a mean over the whole run, not a point of the curve
            log.metric(
                "train_loss_mean" if match["name"] == "train_loss" else match["name"], value, line, None
            )
        return True
