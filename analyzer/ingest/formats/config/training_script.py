"""The script that trained, as it stands beside a log: last layer, loss, optimizer and loop, by its syntax alone.

    model.compile(loss='categorical_crossentropy', optimizer=Adam(lr=0.003))     Keras
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)                      PyTorch

Nothing is executed. A value is recorded only where all places of the script agree, since what a branch would
have chosen is not known.
"""

from __future__ import annotations

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.source_text import decode, read_text
from analyzer.lazy_regex import LazyRegex

MAX_BYTES = 256 << 10
"""Python's own parser needs 700 bytes of memory for each byte of a list; training scripts have some ten kilobytes."""

_TRAINS = LazyRegex(
    r"\.compile\([^)]{0,400}?(?:loss|optimizer)\s{0,4}=|\.fit(?:_generator)?\(|\.backward\(|\boptim\.[A-Z]\w{2,20}\("
)
_LIBRARY = LazyRegex(r"(?m)^(?:__all__|class (?:\w{0,30}Trainer|\w{0,30}Optimizer)\b)")
_SETTINGS = frozenset({"optimizer", "learning_rate"})


class TrainingScript:
    """Reads a training script."""

    def sniff(self, candidate: Candidate) -> Match:
        """Python that fits a model or steps an optimizer, and is no library that others train with."""
        if not candidate.name.lower().endswith(".py") or candidate.size_bytes > MAX_BYTES:
            return Match.NO
        text = decode(candidate.head)
        return Match.MAYBE if _TRAINS.search(text) and not _LIBRARY.search(text) else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Every plain statement becomes a setting with its line."""
        from analyzer.ingest.formats.config.script_parts import collect  # noqa: PLC0415  (few scripts are read)
        from analyzer.ingest.formats.config.script_statements import statements  # noqa: PLC0415

        found = dict(collect(list(statements(read_text(source, out, MAX_BYTES)))).agreed())
        for key, part in found.items():
            if key == "learning_rate" and not isinstance(part.value, float):
                continue  # it stands in a variable that was not read
            spelled = key if key in _SETTINGS else f"script.{key}"
            out.config(spelled, part.value, framework="config", layer="file", line=part.line)
