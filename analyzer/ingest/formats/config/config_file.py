"""Training configuration in JSON, YAML, or Python files of literals.

    zero_optimization: ...       DeepSpeed (JSON)            sequence_len: ...    Axolotl
    per_device_train_batch_size  HF Trainer                  cutoff_len: ...      LLaMA-Factory
    optim_wrapper = dict(...)    mmengine (Python)           mixed_precision: ... Accelerate
    SOLVER: {BASE_LR: ...}       detectron2 (YAML), and its scripts: cfg.SOLVER.BASE_LR = ...

Keys are recorded as the file spells them. Not for a model's or tokenizer's own files, and not for W&B's
copy of a configuration, in which every value is wrapped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.formats.config.structured_text import (
    MAX_ENTRIES,
    REPEATED,
    Entry,
    StructuredTextError,
    read_json,
    read_python,
    read_yaml,
)
from analyzer.ingest.source_text import decode, read_text
from analyzer.lazy_regex import LazyRegex
from analyzer.vocabulary.config import training_words
from analyzer.vocabulary.frameworks import built_on

MAX_BYTES = 5 << 20
"""The longest configuration of the survey has 90 KB; larger files of these types are data."""

MAX_PYTHON_BYTES = 512 << 10
"""Python's own parser needs 700 bytes of memory for each byte of a list."""

_KEY = LazyRegex(r"""(?m)^[ \t]*(?:-[ \t]+)?["']?([A-Za-z_][\w.-]{0,79})["']?[ \t]*[:=](?![=/])""")
_JSON_KEY = LazyRegex(r'"([A-Za-z_][\w.-]{0,79})"\s{0,80}:')
_CODE = LazyRegex(r"(?m)^(?:def |class |async |if __name__|for |while |@)")
_LIGHTNING = LazyRegex(r"/version_\d{1,6}/hparams\.yaml$")  # what its loggers save of a module's arguments
_MMENGINE = LazyRegex(
    r"(?m)^(?:optim_wrapper|train_cfg|default_hooks|param_scheduler|optimizer_config|lr_config)\s*="
)
_DETECTRON = LazyRegex(r"(?m)^SOLVER:\s*$|^cfg\.SOLVER\.[A-Z_.]{2,60} *=")
_SOLVER_KEYS = frozenset({"BASE_LR", "IMS_PER_BATCH", "MAX_ITER", "WARMUP_ITERS", "STEPS", "GAMMA"})
# Other things than a training configuration that hold such words.
_FOREIGN = LazyRegex(r'(?m)wandb_version|^_wandb:|"traceEvents"|"log_history"|"weight_map"')
_WEAK = frozenset(
    {
        "adapter", "batch_size", "bits", "block_size", "compile", "dtype", "epochs", "eps", "lora",
        "lr", "max_length", "model_name", "optimizer", "packing", "precision", "resume", "scale",
        "seed", "template", "warmup",
    }
)  # fmt: skip
"""Words that other files use as well; two of them count as one sign."""

# Framework by the keys that only it has, most telling first; keys are those at the top of the file.
_SIGNS: tuple[tuple[str, frozenset[str]], ...] = (
    ("deepspeed", frozenset({"zero_optimization", "train_micro_batch_size_per_gpu", "zero_allow_untested_optimizer"})),
    ("llamafactory", frozenset({"finetuning_type", "cutoff_len", "dataset_dir"})),
    ("axolotl", frozenset({"sequence_len", "sample_packing", "micro_batch_size,base_model", "datasets,base_model"})),
    ("accelerate", frozenset({"distributed_type", "deepspeed_config", "fsdp_config,mixed_precision"})),
    ("hf-trainer", frozenset({
        "per_device_train_batch_size", "num_train_epochs", "lr_scheduler_type", "logging_steps,output_dir", "fp16_opt_level",
    })),
)  # fmt: skip
_STRATEGIES = frozenset({"strategy", "strategy.type", "trainer.strategy", "distributed_type"})
_DUMPED = LazyRegex(r"(?:^|/)vis_data/config\.py$")  # mmengine's own copy of what it ran with
_READERS: dict[str, Callable[[str], Iterator[Entry]]] = {
    "json": read_json,
    "yaml": read_yaml,
    "python": read_python,
}
_REPEATS_NOTED = 5
_MORE_OBJECTS = LazyRegex(r"\{[^\n]{0,9999}\}\s{0,9}\n\{")
"""One object a line: the rows of a log, of which the first may hold the settings."""

_TEXT_BELOW = LazyRegex(
    r"\{[^\n]{0,9999}\}\s{0,9}\n\s{0,9}[^\s{\[]|\{[^\0]{0,9999}?\n\}\s{0,9}\n\s{0,9}[^\s{\[]"
)
"""The settings that a program printed before anything else: the head of its log."""


class ConfigFile:
    """Reads a training configuration."""

    def sniff(self, candidate: Candidate) -> Match:
        """The head holds keys by which some framework configures training."""
        if candidate.size_bytes > MAX_BYTES or b"\0" in candidate.head[:4096]:
            return Match.NO
        text = decode(candidate.head)
        language = _language(candidate.name, text)
        if language == "python" and candidate.size_bytes > MAX_PYTHON_BYTES:
            return Match.NO
        if language is None or _FOREIGN.search(text) or (language == "json" and _MORE_OBJECTS.match(text)):
            return Match.NO
        if _LIGHTNING.search(candidate.path.as_posix()):
            return Match.LIKELY  # whatever its keys are called: a module's own arguments
        pattern = _JSON_KEY if language == "json" else _KEY
        words = {match[1] for match in pattern.finditer(text)} & training_words()
        if candidate.name.rpartition("/")[2] == "hparams.yaml" and language == "yaml":
            return Match.LIKELY  # Lightning's own dump, whatever the keys are called
        signs = len(words - _WEAK) + len(words & _WEAK) // 2
        if language == "python":
            if _MMENGINE.search(text) or _DETECTRON.search(text):
                return Match.LIKELY
            return Match.LIKELY if signs > 1 and not _CODE.search(text) else Match.NO
        if language == "yaml" and _DETECTRON.search(text):
            return Match.LIKELY
        return (Match.NO, Match.MAYBE)[signs] if signs < 2 else Match.LIKELY

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Every scalar becomes a configured value with the line of its key."""
        text = read_text(source, out, MAX_BYTES)
        language = _language(source.name, text) or "yaml"
        entries, error = _collect(_READERS[language](text), out)
        is_lightning = _LIGHTNING.search(source.path.as_posix()) is not None
        framework = "pytorch-lightning" if is_lightning else _framework(entries, language)
        layer = "runtime_echo" if _DUMPED.search(source.name) else "file"
        for entry in entries:
            out.config(
                entry.key, entry.value, framework=framework, layer=layer, line=entry.line, raw=entry.raw
            )
        _note_repeats(entries, out)
        _note_misplaced(entries, framework, out)
        if error is not None:
            out.gap(f"{error}; what stands before was read", line=error.line)
        if framework != "config":
            out.framework(framework)
        if framework in built_on("hf-trainer"):
            out.framework("hf-trainer")
        if any(_asks_for_deepspeed(entry) for entry in entries):
            out.framework("deepspeed")


def _asks_for_deepspeed(entry: Entry) -> bool:
    """A trainer's own file hands the steps to DeepSpeed: a path, an inline section, or a strategy's name."""
    if entry.key.startswith(("deepspeed.", "deepspeed_config.")):
        return True
    if not isinstance(entry.value, str):
        return False
    return entry.key == "deepspeed" or (entry.key in _STRATEGIES and "deepspeed" in entry.value.lower())


def _language(name: str, text: str) -> str | None:
    """json, yaml or python; JSON by content whatever the name, the others by name."""
    start = text.lstrip("\ufeff \t\r\n")
    suffix = name.lower().removesuffix(".gz").removesuffix(".zst").rpartition(".")[2]
    # A log may begin with a table of another language, whose keys stand without quotes.
    in_a_log = start[1:].lstrip()[:1] in {'"', "}", "/"} and not _TEXT_BELOW.match(start)
    begins = start.startswith("{") and (suffix == "json" or in_a_log)
    if begins and suffix not in {"jsonl", "py"}:
        return "json"
    return {"yaml": "yaml", "yml": "yaml", "py": "python"}.get(suffix)


def _collect(entries: Iterator[Entry], out: SourceWriter) -> tuple[list[Entry], StructuredTextError | None]:
    found: list[Entry] = []
    try:
        for entry in entries:
            if len(found) == MAX_ENTRIES:
                out.gap(f"only the first {MAX_ENTRIES} entries were read", line=entry.line)
                break
            found.append(entry)
    except StructuredTextError as error:
        return found, error
    return found, None


def _note_repeats(entries: list[Entry], out: SourceWriter) -> None:
    repeats = [entry for entry in entries if entry.note == REPEATED]
    for entry in repeats[:_REPEATS_NOTED]:
        out.gap(f"{entry.key} stands here again; loaders silently let the last one win", line=entry.line)
    if len(repeats) > _REPEATS_NOTED:
        out.gap(f"{len(repeats) - _REPEATS_NOTED} more keys are repeated")


def _note_misplaced(entries: list[Entry], framework: str, out: SourceWriter) -> None:
    """detectron2 takes "cfg.BASE_LR" without a word and goes on to read "cfg.SOLVER.BASE_LR"."""
    keys = {entry.key for entry in entries}
    for entry in entries:
        if framework == "detectron2" and entry.key in _SOLVER_KEYS and f"SOLVER.{entry.key}" not in keys:
            told = {"key": entry.key, "section": "SOLVER"}
            out.event(
                "config_key_unused", f"{entry.key} = {entry.raw}", role="info", line=entry.line, fields=told
            )


def _framework(entries: list[Entry], language: str) -> str:
    """Whose spelling the keys are; ``config`` if they are nobody's in particular."""
    if any(entry.key.startswith("SOLVER.") for entry in entries):
        return "detectron2"
    if language == "python":
        return (
            "mmengine"
            if any(entry.key.startswith(("optim_wrapper", "train_cfg", "default_hooks")) for entry in entries)
            else "config"
        )
    top = {re.split(r"[.\[]", entry.key, maxsplit=1)[0] for entry in entries}
    keys = {entry.key for entry in entries}
    if keys & {"fp16.enabled", "bf16.enabled"}:  # HF's fp16 is a plain true or false
        return "deepspeed"
    for framework, signs in _SIGNS:
        if any(top.issuperset(sign.split(",")) for sign in signs):
            return framework
    return "config"
