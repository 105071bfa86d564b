r"""Statistics that TransformerEngine writes through nvdlfw-inspect, one line a number.

``nvdlfw_inspect_statistics_logs/nvdlfw_inspect_globalrank-3.log``::

    2025-04-01 10:00:00,123 - INFO - decoder.layers.0.mlp.fc1_activation_max  \t\t\t\t iteration=000010 \t\t\t\t value=12.5000
    2025-04-01 10:00:00,124 - INFO - decoder.layers.0.mlp.fc1_gradient_underflows%  \t iteration=000010 \t value=3.1250

Losses: a value has four decimals, so a gradient of 1e-5 prints as 0.0000: statistics printed as zero stay unknown,
except shares. The numbers are of no known order within an iteration; neither counts of NaN nor dtypes are printed.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.formats.dumps.replay_file import lines_of
from analyzer.ingest.formats.dumps.trace_rows import completed, number_of

_LINE = re.compile(
    r"(?P<layer>\S{1,300})_(?P<tensor>activation|gradient|weight|output|wgrad|dgrad)_(?P<stat>[\w%]{1,60})\s{1,40}"
    r"iteration=(?P<step>\d{1,12})\s{1,40}value=(?P<value>[-+\w.]{1,40})"
)
_RANK = re.compile(r"globalrank-(\d{1,7})")
_PLACES = {
    "activation": ("fwd", "input[0]"), "output": ("fwd", "output[0]"), "weight": ("fwd", "weight"),
    "gradient": ("bwd", "grad_output[0]"), "dgrad": ("bwd", "grad_input[0]"), "wgrad": ("bwd", "param_grad"),
}  # fmt: skip
_COLUMNS = {
    "min": "min",
    "max": "max",
    "mean": "mean",
    "std": "std",
    "l2_norm": "l2norm",
    "cur_amax": "absmax",
}
_FORMATS = re.compile(
    r"(?:(?P<format>fp8|mxfp8|nvfp4|float8\w{0,20})\w{0,40}?_)?(?P<kind>underflows%|overflows%)(?:_(?:fprop|dgrad|wgrad))?"
)
_SHARES = {"underflows%": "underflow_frac", "overflows%": "overflow_frac"}
_FEW_LINES = 3


class InspectLog:
    """Ingestor of the statistics logs of TransformerEngine's precision debug tools."""

    def sniff(self, candidate: Candidate) -> Match:
        """SURE for several lines of the form, or for one in a file of the tool's name."""
        found = len(_LINE.findall(candidate.head[:16_384].decode("utf-8", "replace")))
        named = "nvdlfw_inspect_" in candidate.name
        return Match.SURE if found >= _FEW_LINES or (named and found) else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Gather the numbers of one tensor at one iteration into one row."""
        rank = _RANK.findall(source.name)
        gather = _Gather(out, int(rank[-1]) if rank else None)
        for number, text in lines_of(source, out):
            match = _LINE.search(text.decode("utf-8", "replace"))
            if match:
                gather.add(number, match)
        gather.finish()


class _Gather:
    """The tensors of the present iteration."""

    def __init__(self, out: SourceWriter, rank: int | None) -> None:
        self.out = out
        self._rank = rank
        self._step: int | None = None
        self._rows: dict[tuple[str, str], tuple[int, dict[str, Any]]] = {}
        self._seq = 0
        self._unread = 0

    def add(self, line: int, match: re.Match[str]) -> None:
        """Take one number."""
        step, value = int(match["step"]), number_of(match["value"])
        if step != self._step:
            self.finish_step()
            self._step = step
        place = (match["layer"], match["tensor"])
        _, row = self._rows.setdefault(place, (line, {}))
        stat = match["stat"]
        share = _FORMATS.fullmatch(stat)
        if value is None:
            self._unread += 1
        elif share:
            row[_SHARES[share["kind"]]] = min(max(value / 100.0, 0.0), 1.0) if math.isfinite(value) else None
        elif stat in _COLUMNS:
            # 0.0000 may be anything below 0.00005
            row[_COLUMNS[stat]] = None if value == 0 else value
        else:
            extra = row.setdefault("extra", {})
            if len(extra) < 32:
                extra[stat] = match["value"]

    def finish_step(self) -> None:
        """Write the rows of the present iteration."""
        for (layer, tensor), (line, found) in self._rows.items():
            direction, role = _PLACES[tensor]
            extra = found.pop("extra", None)
            row = completed(
                {
                    "replay_id": "te_inspect", "source_format": "te_inspect", "step": self._step, "rank": self._rank,
                    "seq": self._seq, "pass": direction, "module": layer, "tensor_role": role, **found,
                    "extra": json.dumps(extra) if extra else None,
                }
            )  # fmt: skip
            if "nonfinite" not in row and any(name in row for name in ("min", "max", "l2norm", "absmax")):
                row["nonfinite"] = False  # a NaN would show in every one of them
            self.out.replay(row, line=line)
            self._seq += 1
        self._rows.clear()
        self._seq = 0

    def finish(self) -> None:
        """Write the last iteration and state what was lost."""
        self.finish_step()
        if self._unread:
            self.out.gap(f"{self._unread} values are no numbers", rows_lost=self._unread)
