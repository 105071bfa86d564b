"""Settings: what each framework calls the same thing; see ``config.yaml``.

One table serves reading and fixing: a fix finds the key under the user's own spelling because both have the same
canonical key.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from analyzer.errors import RuleSyntaxError, nearest
from analyzer.vocabulary import cache
from analyzer.vocabulary.frameworks import family, frameworks
from analyzer.vocabulary.marked import MarkedFile
from analyzer.vocabulary.sections import check_section, json_schema

FIELDS: Mapping[str, Mapping[str, tuple[str, bool]]] = {
    "file": {"settings": ("map", True), "others": ("map", False)}
}
_FILE = Path(__file__).parent / "config.yaml"

_DEEPSPEED_SECTIONS = frozenset({"deepspeed", "deepspeed_config", "ds_config"})
"""Sections in which another trainer's file holds a DeepSpeed configuration."""

_AMBIGUOUS_TAILS = frozenset(
    {"lr", "dtype", "optimizer", "eps", "precision", "batch_size", "resume", "template", "lora", "compile", "warmup",
     "scale", "adapter", "seed", "epochs", "max_length", "packing", "bits", "train_batch_size", "beta", "top_k", "top_p",
     "temperature", "fp8", "num_iterations"}
)  # fmt: skip
"""Words that mean different things in different sections; taken only at the top level."""


def config_schema() -> dict[str, Any]:
    """JSON Schema of ``config.yaml``."""
    schema = json_schema(FIELDS, "analyzer.config/1", "file", {})
    words = {"type": "array", "items": {"type": "string"}}
    schema["properties"]["settings"]["additionalProperties"] = {
        "type": "object",
        "additionalProperties": words,
    }
    schema["properties"]["others"]["additionalProperties"] = words
    return schema


def read_settings(file: MarkedFile) -> dict[str, Any]:
    """Check a loaded file of settings: framework to spelling to canonical key, and the other settings of each.

    Raises:
        RuleSyntaxError: A framework is not declared, or one spelling stands for two settings; with line and column.
    """
    data = check_section(file, FIELDS, "file", file.data, ())
    known = {*frameworks(), "any"}
    spellings: dict[str, dict[str, str]] = {}
    for canonical, names in data["settings"].items():
        for framework, keys in names.items():
            where = file.where("settings", canonical, framework)
            if framework not in known:
                raise RuleSyntaxError(f"no framework is called {framework!r}", where)
            for key in keys:
                if spellings.setdefault(framework, {}).setdefault(key, canonical) != canonical:
                    raise RuleSyntaxError(f"{key!r} stands for two settings", where)
    for framework in data.get("others", {}):
        if framework not in known:
            raise RuleSyntaxError(f"no framework is called {framework!r}", file.where("others", framework))
    return {"spellings": spellings, "others": data.get("others", {})}


@lru_cache(maxsize=1)
def _data() -> Mapping[str, Any]:
    names = ",".join(sorted(frameworks()))
    data: Mapping[str, Any] = cache.checked_file("config", _FILE, read_settings, str(FIELDS), names)
    return data


def _spelled(framework: str, key: str) -> str | None:
    found: str | None = _data()["spellings"].get(framework, {}).get(key)
    return found


@lru_cache(maxsize=8192)
def canonical_key(framework: str, key: str) -> str | None:
    """Canonical key of a framework's dotted key, or None if it has none.

    >>> canonical_key("deepspeed", "fp16.enabled"), canonical_key("hf-trainer", "fp16")
    ('fp16.enabled', 'fp16.enabled')
    >>> canonical_key("model", "lr") is None
    True
    """
    found = _spelled(framework, key)
    if found is not None or framework in family("own-words"):
        return found
    found = _spelled("any", key)
    if found is not None or framework == "deepspeed":
        return found
    return _in_section(key)


def _in_section(key: str) -> str | None:
    """A section around a known key ("training.learning_rate", "args.fp16") does not change its meaning."""
    head, _, rest = key.partition(".")
    if head in _DEEPSPEED_SECTIONS and rest:
        return canonical_key("deepspeed", rest) or _spelled("any", rest)
    parts = key.split(".")
    if not 1 < len(parts) <= 4:
        return None
    pair, tail = ".".join(parts[-2:]), parts[-1]  # NeMo's "model.optim.lr" is known as "optim.lr"
    return _spelled("any", pair) or (None if tail in _AMBIGUOUS_TAILS else _spelled("any", tail))


def spelling_of(framework: str, canonical: str) -> str | None:
    """A framework's own key for a canonical one, None if the table has none of its own.

    >>> spelling_of("detectron2", "train.learning_rate"), spelling_of("detectron2", "train.epochs")
    ('SOLVER.BASE_LR', None)
    """
    keys: Mapping[str, str] = _data()["spellings"].get(framework, {})
    return next((key for key, meant in keys.items() if meant == canonical), None)


@lru_cache(maxsize=1)
def _spellings_of() -> Mapping[str, int]:
    """Canonical key to the number of its spellings, over all frameworks."""
    found: dict[str, set[str]] = {}
    for keys in _data()["spellings"].values():
        for key, canonical in keys.items():
            found.setdefault(canonical, set()).add(key)
    return {canonical: len(keys) for canonical, keys in found.items()}


def is_common(canonical: str) -> bool:
    """Whether more than one program has such a setting; what has one spelling only is a feature of one trainer.

    >>> is_common("train.learning_rate"), is_common("train.logging_nan_inf_filter")
    (True, False)
    """
    return _spellings_of().get(canonical, 0) > 1


def is_setting(framework: str, key: str) -> bool:
    """Whether a setting of a framework is declared: as a spelling of something known, or among the others."""
    return canonical_key(framework, key) is not None or key in _data()["others"].get(framework, ())


def nearest_setting(framework: str, key: str) -> str:
    """The declared setting of a framework whose name is nearest; empty if none is near."""
    spellings = _data()["spellings"]
    known = [*spellings.get(framework, {}), *spellings["any"], *_data()["others"].get(framework, ())]
    return nearest(key, known)


@lru_cache(maxsize=1)
def training_words() -> frozenset[str]:
    """First words of all keys by which a training configuration is known, without command-line options."""
    return frozenset(
        key.partition(".")[0].lstrip("-")
        for framework, keys in _data()["spellings"].items()
        for key in keys
        if framework not in family("own-words")
    )
