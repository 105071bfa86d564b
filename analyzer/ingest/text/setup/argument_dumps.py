"""Arguments and model configurations that trainers print before they start.

    INFO:__main__:Training/evaluation parameters TrainingArguments(output_dir=x, fp16=True, learning_rate=5e-05, ...)

    TrainingArguments(
    _n_gpu=1,
    fp16=True,
    )

    ------------------------ arguments ------------------------
      adam_beta1 ...................................... 0.9
      fp16 ............................................ True
    -------------------- end of arguments ---------------------

    [INFO|configuration_utils.py:839] 2026-04-06 21:32:30,630 >> Model config Qwen2Config {
      "dtype": "bfloat16",
    }

    Namespace(batch_size=32, lr=0.1, optimizer='sgd')
    2024-05-01 10:00:00 INFO Config: {'batch_size': 32, 'lr': 0.1}

Only the first of each kind is read: every rank prints its own, and a model's configuration is printed
again when it is saved, then with what the run made of it.
"""

from __future__ import annotations

import ast
import json
from typing import Any

from analyzer.ingest.text.log_line import Fed, LogLine, LogState, WritesAtOnce
from analyzer.ingest.text.setup.json_block import JsonBlock, flatten, scalar
from analyzer.lazy_regex import LazyRegex

_ONE_LINE = LazyRegex(
    r"(?:^|[(, ])([a-z_]\w{0,60})=('[^'\n]{0,400}'|<[^>\n]{0,200}>|[^,()\[\]{}\s]{1,400})(?=,|\)|$)"
)
_OWN_LINE = LazyRegex(r"^\s{0,8}([a-z_]\w{0,60})=(.{0,400}?),?$")
_DOTTED = LazyRegex(r"^\s{1,8}(\w{2,60}) \.{2,80}+\s?(.{0,400}?)(?:\.{3,80}+(?:updated|default))?$")
_OPENED = LazyRegex(r"\b\w{0,40}(?:TrainingArguments|SFTConfig|DPOConfig|GRPOConfig)\(")
_NAMESPACE = LazyRegex(r"\bNamespace\((?=[a-z_]\w{0,60}=)")
_PRINTED = LazyRegex(
    r"(?i)\b(?:config(?:uration)?|(?:hyper_?-?)?param(?:eter)?s|args|arguments|settings|options)\b[^{}\n]{0,20}[:=] {0,3}(?=\{['\"])"
    # no word in front, and a key that is a setting in any program; what tells a loss as well is a row
    r"|^[^{}\n]{0,120}(?=\{['\"][^\n]{0,4000}['\"]batch_size['\"]: )(?![^\n]{0,4000}['\"](?:train_|eval_|val_|test_)?loss['\"]: (?:-?\d|nan|NaN))"
)
_MODEL = LazyRegex(r"Model config \w{1,80} \{\s*$")
_END = "end of arguments"

MAX_PRINTED = 8_000
"""Characters of settings on one line; more of them is no configuration."""

MAX_FOREIGN_LINES = 60
"""Lines of other writers allowed inside a dump."""


class _Lines(WritesAtOnce):
    """Capture of a dump with one entry a line.

    Args:
        entry: Regex with the key and the value of an entry.
        framework: Whose keys they are.
        end: Text of the line that ends the dump, without surrounding blanks.
    """

    def __init__(self, entry: LazyRegex, framework: str, end: str) -> None:
        self.entry = entry
        self.framework = framework
        self.end = end
        self.foreign = 0

    def feed(self, line: LogLine, log: LogState) -> Fed:
        """See ``Capture.feed``."""
        text = line.raw if line.raw[:1] == " " else line.text
        match = self.entry.match(text.rstrip())
        if match is not None:
            _state(log, match[1], match[2], self.framework, line)
            return Fed.OWNED
        if text.strip().strip("- ") == self.end:
            return Fed.OWNED | Fed.ENDED
        self.foreign += 1
        return Fed.ENDED if self.foreign > MAX_FOREIGN_LINES else Fed.PASSED


class ArgumentDumps(WritesAtOnce):
    """Begins a capture at each kind of dump."""

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        if _MODEL.search(line.text):
            if log.first("dump", "model"):
                log.captures.append(JsonBlock(line, "the model's configuration", _write_model))
            return True
        if "--- arguments ---" in line.raw:
            if log.first("dump", "megatron"):
                log.captures.append(_Lines(_DOTTED, "megatron", _END))
            return True
        if _namespace(line, log) or _printed(line, log):
            return True
        opened = _OPENED.search(line.text)
        if opened is None or not log.first("dump", "hf-trainer"):
            return opened is not None
        rest = line.text[opened.end() :]
        if not rest.strip():
            log.captures.append(_Lines(_OWN_LINE, "hf-trainer", ")"))
        for key, value in _ONE_LINE.findall(rest):
            _state(log, key, value, "hf-trainer", line)
        return True


def _namespace(line: LogLine, log: LogState) -> bool:
    """The arguments of a command line as Python shows them."""
    opened = _NAMESPACE.search(line.text)
    if opened is None:
        return False
    if log.first("dump", "namespace"):
        for key, value in _ONE_LINE.findall(line.text[opened.end() :]):
            _state(log, key, value, "config", line)
    return True


def _printed(line: LogLine, log: LogState) -> bool:
    """Settings that a program prints as one dictionary, behind a word that says so or with a size of the batch."""
    opened = _PRINTED.search(line.text)
    text = line.text[opened.end() :].rstrip() if opened is not None else ""
    if not text.endswith("}") or len(text) > MAX_PRINTED:
        return False
    try:
        parsed = json.loads(text) if text[1] == '"' else ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    if log.first("dump", "printed"):
        for key, value in flatten(parsed):
            log.out.config(key, value, framework="config", layer="runtime_echo", line=line.number)
    return True


def _state(log: LogState, key: str, text: str, framework: str, line: LogLine) -> None:
    if text[:1] in "[{(":
        return
    value = scalar(text)
    log.out.config(key, value, framework=framework, layer="runtime_echo", line=line.number, raw=text)
    if framework == "hf-trainer" and key == "logging_steps" and isinstance(value, int) and value > 0:
        log.logging_steps = value


def _write_model(parsed: Any, started: LogLine, log: LogState) -> None:
    for key, value in flatten(parsed):
        log.out.config(key, value, framework="model", layer="runtime_echo", line=started.number)
