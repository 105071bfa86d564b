"""Lines about speed and about what a resumed run did not load."""

from __future__ import annotations

from analyzer.ingest.text.events.patterns import Pattern

PERFORMANCE_PATTERNS: tuple[Pattern, ...] = (
    # DeepSpeed ZeRO-3: "3 pytorch allocator cache flushes since last step. this happens when ..."
    Pattern(
        "cache_flush",
        "symptom",
        ("allocator cache flushes since last step",),
        r"\b(?P<flushes>\d{1,9}) \w{1,20} allocator cache flushes since last step",
        {"flushes": "int"},
    ),
    # Megatron ends with this; fairseq, timm and others go on without the state
    Pattern(
        "optimizer_state_missing",
        "symptom",
        ("Unable to load optimizer from checkpoint", "ptimizer state not found", "ot loading optimizer", "esetting optimizer",
         "no optimizer state"),
        r"(?i)unable to load optimizer from checkpoint|optimizer state not found|\bnot loading optimizer|\bresetting optimizer\b|\bno optimizer state\b",
    ),
    Pattern(
        "data_skip_disabled",
        "info",
        ("ignore_data_skip",),
        r"ignore_data_skip['\"]?\s{0,3}[=:]\s{0,3}[Tt]rue",
    ),
)  # fmt: skip
