"""Configuration of a run: canonical keys, where each value came from, and which sources disagree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from analyzer.model.refs import SourceRef
from analyzer.record import NamedTuple, dataclass, field

ConfigScalar = bool | int | float | str | None

LAYERS = ("default", "file", "cli", "env", "runtime_echo")
"""Layers of configuration, weakest first: what the run itself printed beats what a file asked for."""


class ConfigValue(NamedTuple):
    """One configured value."""

    value: ConfigScalar  # parsed value; None means that the file says null
    raw: str  # the value as written
    key_in_source: str  # the dotted key as the user's file spells it, for example ``fp16.enabled``
    layer: str  # one of ``LAYERS``
    ref: SourceRef | None  # where it stands, or None for a default that no file states
    # whose spelling ``key_in_source`` is: hf-trainer, deepspeed, mmengine, model, tokenizer, …
    framework: str = ""
    # what other layers or files said instead, if different; shown to the user
    conflicts: tuple[ConfigValue, ...] = ()

    @property
    def word(self) -> str:
        """The last word of the key, with underscores: ``trainer.--pre-norm`` is called ``pre_norm``."""
        return self.key_in_source.rpartition(".")[2].replace("-", "_").lstrip("_")


@dataclass(frozen=True)
class ConfigFacts(Mapping[str, ConfigValue]):
    """Canonical key to value. ``entries`` keeps every value ever read, also the overruled ones."""

    values_by_key: Mapping[str, ConfigValue] = field(default_factory=dict)
    entries: tuple[ConfigValue, ...] = ()

    def __getitem__(self, key: str) -> ConfigValue:
        return self.values_by_key[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_key)

    def __len__(self) -> int:
        return len(self.values_by_key)

    def value(self, key: str) -> ConfigScalar:
        """The value of a canonical key, or None if nobody stated it."""
        found = self.values_by_key.get(key)
        return None if found is None else found.value
