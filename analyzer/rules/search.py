"""Find rules by words, or by a pasted log line: what the line is read as, row of metrics or event, and which rules look at that."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.ingest.base import SourceWriter
from analyzer.ingest.builder import RunBuilder
from analyzer.ingest.text.text_log import read_lines
from analyzer.model.run import Run
from analyzer.record import dataclass
from analyzer.rules.schema import Rule


@dataclass(frozen=True, slots=True)
class Reading:
    """What a pasted line was read as."""

    kind: str  # kind of the event
    role: str  # its role
    # rules of which a condition looks at that kind; those that it brings into question come first
    rules: tuple[Rule, ...]


def readings(text: str, rules: Sequence[Rule]) -> tuple[Reading, ...]:
    """Events in pasted log text, the most telling first, each with the rules that look at it."""
    found = {event.kind: event.role for event in _read(text).events}
    return tuple(Reading(kind, role, _rules_about(f"event.{kind}.", rules)) for kind, role in found.items())


def metrics_in(text: str) -> tuple[str, ...]:
    """What pasted rows of metrics are read as, the first value of each metric.

    >>> metrics_in("step 10 | train loss 2.5 | lr 1e-4")
    ('loss 2.5 at step 10', 'learning_rate 0.0001 at step 10')
    """
    metrics = _read(text).metrics
    found = [series for name in metrics.names if (series := metrics.series(name)) is not None]
    return tuple(
        f"{series.metric} {series.value[0]:g}"
        + ("" if (step := series.step_at(0)) is None else f" at step {step}")
        for series in found
    )


def _read(text: str) -> Run:
    builder = RunBuilder("pasted")
    source = builder.add_source(
        "pasted", format_name="text-log", ingestor="text-log", size_bytes=len(text), sha256_head=""
    )
    lines = ((number, line, None) for number, line in enumerate(text.splitlines(), start=1))
    read_lines(lines, SourceWriter(builder, source))
    return builder.finish()


def _rules_about(prefix: str, rules: Sequence[Rule]) -> tuple[Rule, ...]:
    gated = [rule for rule in rules if any(name.startswith(prefix) for name in rule.when.names)]
    looking = [
        rule
        for rule in rules
        if rule not in gated
        and any(name.startswith(prefix) for _, test in rule.conditions() for name in test.names)
    ]
    return (*gated, *looking)


def with_words(words: str, rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Rules whose id, cause, title or text holds the words, case aside."""
    wanted = words.lower()
    return tuple(rule for rule in rules if wanted in _text(rule).lower())


def _text(rule: Rule) -> str:
    reasons = [line.because for line in rule.evidence]
    return " ".join([rule.id, rule.title, rule.entry.id, rule.text, rule.says, *reasons])
