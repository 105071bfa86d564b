"""Lines that say that there was nothing to evaluate, or that a mean was taken over nothing."""

from __future__ import annotations

from analyzer.ingest.text.events.patterns import Pattern

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
    # Rows of the table of classes that mmsegmentation prints: IoU and accuracy in percent
    Pattern(
        "class_without_pixels",
        "info",
        ("| nan ", "|  nan "),
        r"^\s{0,40}\|\s{1,40}(?P<name>[A-Za-z][\w ./()-]{0,60}?)\s{1,40}\|\s{1,8}nan\s{1,8}\|\s{1,8}nan\s{1,8}\|",
    ),
    Pattern(
        "class_without_error",
        "info",
        ("| 100.0 | 100.0 |",),
        r"^\s{0,40}\|\s{1,40}(?P<name>[A-Za-z][\w ./()-]{0,60}?)\s{1,40}\| 100\.0 \| 100\.0 \|",
    ),
    Pattern(
        "mean_of_nothing",
        "symptom",
        ("Mean of empty slice",),  # NumPy: "RuntimeWarning: Mean of empty slice."
        r"RuntimeWarning: Mean of empty slice",
        once=True,
    ),
)
