"""The configuration that DeepSpeed prints when an engine starts: what was really in effect.

    [config.py:678:print]   fp16_enabled ................. True
    [config.py:678:print]   dynamic_loss_scale_args ...... {'init_scale': 65536, 'scale_window': 1000, 'delayed_shift': 2, 'min_scale': 1}
    [config.py:664:print_user_config]   json = {
        "train_batch_size": 4,
        "fp16": {
            "enabled": true
        }
    }

Only scalars are kept, under the dotted keys of a ``ds_config.json``.
"""

from __future__ import annotations

import math
import re
from typing import Any

from analyzer.ingest.text.log_line import LogLine, LogState, WritesAtOnce
from analyzer.ingest.text.setup.json_block import JsonBlock, flatten, scalar
from analyzer.lazy_regex import LazyRegex
from analyzer.model.config import ConfigScalar

_ENTRY = LazyRegex(r"^\s{1,8}(?P<key>\w{2,60}) [. ]{1,60}+(?P<value>\S.{0,4000})$")
_SETTING = LazyRegex(
    r"\b(?P<key>overlap_comm|reduce_bucket_size|contiguous_gradients|stage)=(?P<value>[\w.<: ]{1,60}?)(?=[ ,)>]|$)"
)
_SCALE_KEYS = {
    "scale_window": "loss_scale_window",
    "delayed_shift": "hysteresis",
    "min_scale": "min_loss_scale",
}

# Names of the engine's own attributes, and where the same thing stands in a ds_config.json.
_ATTRIBUTES = {
    "fp16_enabled": "fp16.enabled",
    "bfloat16_enabled": "bf16.enabled",
    "bf16_enabled": "bf16.enabled",
    "gradient_clipping": "gradient_clipping",
    "gradient_accumulation_steps": "gradient_accumulation_steps",
    "zero_optimization_stage": "zero_optimization.stage",
    "train_batch_size": "train_batch_size",
    "train_micro_batch_size_per_gpu": "train_micro_batch_size_per_gpu",
    "optimizer_name": "optimizer.type",
    "scheduler_name": "scheduler.type",
    "steps_per_print": "steps_per_print",
    "communication_data_type": "communication_data_type",
}


def _write_config(parsed: Any, started: LogLine, log: LogState) -> None:
    for key, value in flatten(parsed):
        log.out.config(key, value, framework="deepspeed", layer="runtime_echo", line=started.number)


class DeepSpeedConfigDump(WritesAtOnce):
    """Reads the attributes and begins the capture of the JSON."""

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        if line.text.rstrip().endswith("json = {"):
            log.captures.append(JsonBlock(line, "the configuration printed by DeepSpeed", _write_config))
            log.out.framework("deepspeed")
            return True
        match = _ENTRY.match(line.raw.partition(":print]")[2])
        if match is None:
            return False
        self._entry(match["key"], match["value"].strip(), line, log)
        return True

    def _entry(self, key: str, text: str, line: LogLine, log: LogState) -> None:
        if key == "world_size" and text.isdecimal() and len(text) < 8:
            log.out.layout(world_size=int(text), line=line.number)
        elif key == "dynamic_loss_scale_args":
            for name, number in re.findall(r"'(\w{1,40})': (\d{1,18})\b", text):
                if name == "init_scale" and int(number) > 0:
                    _state(log, "fp16.initial_scale_power", round(math.log2(int(number))), line)
                elif name in _SCALE_KEYS:
                    _state(log, f"fp16.{_SCALE_KEYS[name]}", int(number), line)
        elif key == "zero_config":
            for found in _SETTING.finditer(text):
                value = scalar(found["value"].rpartition(":")[2].strip())
                _state(log, f"zero_optimization.{found['key']}", value, line)
        elif key in _ATTRIBUTES and text != "None":
            _state(log, _ATTRIBUTES[key], scalar(text), line)


def _state(log: LogState, key: str, value: ConfigScalar, line: LogLine) -> None:
    log.out.config(key, value, framework="deepspeed", layer="runtime_echo", line=line.number)
