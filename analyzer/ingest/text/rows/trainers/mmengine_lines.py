r"""Rows of OpenMMLab's runners (mmengine, mmcv 1) and of XTuner 1.

    2026/01/01 00:00:00 - mmengine - INFO - Iter(train) [  10/1000]  lr: 1.0000e-04  eta: 0:10:00  time: 0.5  data_time: 0.01  loss: nan  grad_norm: nan
    2026/01/01 00:00:00 - mmengine - INFO - Epoch(train)  [3][ 10/500]  lr: ...
    2020-01-01 00:00:00,000 - mmcv - INFO - Epoch [1][50/1000]\tlr: 1.000e-03, eta: 0:10:00, time: 0.5, data_time: 0.1, memory: 9, loss: 2.1
    Epoch 1 Step 20/500 data_time: 0.1 lr: 1.000000e-05 time: 0.9 text_tokens: 4096.0 reduced_llm_loss: 1.8 grad_norm: 0.50000000

The printed loss is a mean over the rows' interval.
"""

from __future__ import annotations

import re

from analyzer.ingest.text.log_line import Learnable, LogLine, LogState
from analyzer.ingest.text.rows.printed_numbers import NUMBER, parse_number
from analyzer.ingest.text.rows.windows import StepGaps
from analyzer.lazy_regex import LazyRegex

_PLACE = LazyRegex(
    r"\b(?:(?P<unit>Iter|Epoch)(?:\((?P<mode>train|val|test)\))? {1,3}(?:\[(?P<epoch>\d{1,9})\])?\[ {0,12}(?P<at>\d{1,12})(?:/ {0,12}(?P<of>\d{1,12}))?\]"
    r"|Epoch (?P<xepoch>\d{1,9}) Step (?P<xat>\d{1,12})/(?P<xof>\d{1,12}) )"
)
_PAIR = LazyRegex(rf"(?<![\w./])([A-Za-z][\w./@-]{{0,80}}): {{1,4}}({NUMBER})(?=[\s,]|$)")
_DROPPED = frozenset(
    {"eta", "text_tokens", "e2e_tgs", "exp_tgs", "momentum", "max_memory", "reserved_memory"}
)
# What the runners call by one word, under a name that says what it is; memory is in MiB.
_NAMES = {"time": "step_time_s", "data_time": "data_time_s", "tflops": "tflops_per_gpu"}
_TIMES = frozenset({*_NAMES.values(), "gpu_memory_peak_gib"})
_MIB_PER_GIB = 1024.0


class MmengineLines(Learnable):
    """Reads rows of training and of validation."""

    def __init__(self) -> None:
        self._gaps = StepGaps()

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        place = _PLACE.search(line.raw)
        if place is None:
            return False
        values: dict[str, float] = {}
        for name, text in _PAIR.findall(line.raw[place.end() :]):
            number = parse_number(text)
            if number is not None and name not in _DROPPED:
                values[_NAMES.get(name, name)] = number
        memory_mib = values.pop("memory", None)
        if memory_mib is not None:
            values["gpu_memory_peak_gib"] = memory_mib / _MIB_PER_GIB
        if "lr" in values:
            values.pop("base_lr", None)  # the same rate before warm-up factors
        if place["mode"] in {"val", "test"}:
            self._validation(values, line, log)
        else:
            self._training(place, values, line, log)
        log.out.framework("xtuner" if place["xat"] else "mmengine")
        return True

    def _training(self, place: re.Match[str], values: dict[str, float], line: LogLine, log: LogState) -> None:
        step = int(place["at"] or place["xat"])
        # XTuner's step runs through; in epochs of mmengine it starts again at each.
        if place["epoch"] and place["of"]:
            step += (max(int(place["epoch"]), 1) - 1) * int(place["of"])
        elif not place["epoch"]:
            log.total_steps = int(place["of"] or place["xof"] or 0) or log.total_steps
        log.saw_step(step)
        self._gaps.add(step)
        for name, value in values.items():
            log.metric(name, value, line, step)

    @staticmethod
    def _validation(values: dict[str, float], line: LogLine, log: LogState) -> None:
        for name, value in values.items():
            if name not in _TIMES:
                log.metric("eval_loss" if name == "loss" else f"val/{name}", value, line, log.step)

    def finish(self, log: LogState) -> None:
        """See ``LineGrammar.finish``."""
        self._gaps.state_window(log)
