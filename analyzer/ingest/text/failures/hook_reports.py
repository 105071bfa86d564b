"""Reports of transformers' ``DebugUnderflowOverflow``: which module first gave NaN or infinity.

    Detected inf/nan during batch_number=0
    Last 21 forward frames:
    abs min  abs max  metadata
                      encoder.block.2.layer.1.DenseReluDense.wi_0 Linear
    2.17e-07 4.50e+00 weight
    1.79e-06 4.65e+00 input[0]
    2.68e-06 3.70e+01 output
                      encoder.block.2.layer.1.DenseReluDense.wo Linear
    0.00e+00      inf output

Values are absolute; frames stand in the order in which the modules ran.
"""

from __future__ import annotations

import re

from analyzer.ingest.formats.dumps.trace_rows import completed
from analyzer.ingest.text.log_line import Fed, LogLine, LogState, WritesAtOnce
from analyzer.ingest.text.rows.printed_numbers import NUMBER, parse_number
from analyzer.lazy_regex import LazyRegex

_HEADER = LazyRegex(r"Detected inf/nan during batch_number=(\d{1,12})")
_MODULE = LazyRegex(r"^ {10,40}(?P<module>[\w.]{0,200}) (?P<type>\w{1,80})\s*$")
_VALUES = LazyRegex(
    rf"^\s*(?P<min>{NUMBER})\s+(?P<max>{NUMBER})\s+(?P<role>(?:output|input|weight|bias)[\w\[\]]{{0,20}})\s*$"
)
_PREAMBLE = LazyRegex(
    r"^(?:Last \d{1,6} forward frames:|abs min +abs max +metadata|\s*(?:None|not a tensor output.*))\s*$"
)


class _FramesCapture:
    """Reads the frames; the report names the culprit last, but the first bad output is what counts."""

    def __init__(self, batch: int) -> None:
        self.batch = batch
        self.module = ""
        self.module_type = ""
        self.rows = 0
        self.found = False

    def feed(self, line: LogLine, log: LogState) -> Fed:
        """See ``Capture.feed``."""
        if match := _MODULE.match(line.raw):
            self.module = match["module"]
            self.module_type = match["type"]
            return Fed.OWNED
        if match := _VALUES.match(line.raw):
            self._values(match, line, log)
            return Fed.OWNED
        return Fed.OWNED if _PREAMBLE.match(line.raw) else Fed.ENDED

    def _values(self, match: re.Match[str], line: LogLine, log: LogState) -> None:
        value = parse_number(match["max"])
        self._row(match, line, log)
        if value is None or not match["role"].startswith("output") or not self.module:
            return
        if value - value == 0:  # finite
            log.event("module_absmax", "info", line, {"module": self.module, "value": value})
        elif not self.found:
            self.found = True
            fields = {"module": self.module, "pass": "forward", "batch": self.batch, "value": match["max"]}
            log.event("nonfinite_hook", "symptom", line, fields)

    def _row(self, match: re.Match[str], line: LogLine, log: LogState) -> None:
        """One row of the numeric table; the smallest magnitude printed may be that of a zero."""
        low, high = parse_number(match["min"]), parse_number(match["max"])
        if high is None:
            return
        role = match["role"] if match["role"] != "output" else "output[0]"
        row = {
            "replay_id": "hf_debug_overflow", "source_format": "hf_debug_overflow", "step": log.step,
            "rank": line.rank, "seq": self.rows, "pass": "fwd", "module": self.module, "module_type": self.module_type,
            "tensor_role": role, "absmax": high, "absmin_nonzero": low or None, "nonfinite": high - high != 0,
        }  # fmt: skip
        self.rows += 1
        log.out.replay(completed(row), line=line.number)

    def finish(self, log: LogState) -> None:
        """Whatever was read is already written."""


class HookReports(WritesAtOnce):
    """Begins a capture at each report."""

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        match = _HEADER.search(line.raw)
        if match is None:
            return False
        log.captures.append(_FramesCapture(int(match[1])))
        return True
