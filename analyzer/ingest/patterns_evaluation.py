"""Lines that say that there was nothing to evaluate, or that a mean was taken over nothing."""

from __future__ import annotations

from analyzer.ingest.patterns import Pattern

EVALUATION_PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "empty_loader",
        "symptom",
        (" across ranks is zero",),  # Lightning: "Total length of `DataLoader` across ranks is zero."
        r"Total length of `(?P<loader>\w{1,40})` across ranks is zero",
    ),
    Pattern(
        "empty_loader",
        "symptom",
        ("Num examples = 0",),  # HF Trainer, at the head of an evaluation or prediction
        r"(?:^|\s)Num examples = 0\s{0,8}$",
    ),
    Pattern(
        "mean_of_nothing",
        "symptom",
        ("Mean of empty slice",),  # NumPy: "RuntimeWarning: Mean of empty slice."
        r"RuntimeWarning: Mean of empty slice",
        once=True,
    ),
)
