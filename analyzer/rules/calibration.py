"""Temperatures that labelled runs gave the hand-set odds: one pair of numbers per kind of symptom.

Rules are written in bits by hand. How far those bits are to be believed is measured: ``analyzer rules fit`` looks at
runs whose cause is known (the casebook) and fits per kind a temperature, by which all scores are multiplied, and the
weight of "something else". The order of causes never changes by it. ``rules/calibration.json`` holds the numbers with
the count of runs and what they reached in cross-validation; a kind that is absent there keeps its hand-set odds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from analyzer.rules.causes import rules_root

FILE = "calibration.json"


class Calibration(NamedTuple):
    """How the bits of one kind are turned into probabilities.

    Attributes:
        temperature: Factor on every score; below 1 the hand-set bits were too bold.
        other_bits: Score of "something else".
        runs: Labelled runs behind the two numbers.
        error: Expected calibration error of the first answers in grouped cross-validation, 0 to 1.
        error_low: Error that one draw of the runs in twenty falls below.
        error_high: Error that one draw in twenty exceeds.
        calibrated: Whether the kind passed what the fit asks for, so that the screen may say "calibrated".
    """

    temperature: float = 1.0
    other_bits: float = 0.0
    runs: int = 0
    error: float = 1.0
    error_low: float = 0.0
    error_high: float = 1.0
    calibrated: bool = False


HAND_SET = Calibration()
"""The odds as the rules state them."""

SURE_FROM = 0.6
"""Probability from which an answer is acted upon."""

SURE_ANSWERS = 499
SURE_RIGHT = 0.82
"""Answers of ``SURE_FROM`` and more by hand-set odds on 1,240 labelled public runs before any rule was changed for them, and
the part that was right: 172 of 203 on the runs marked ``fit``, 50 of 75 on the 224 that were added last, and 187 of 221 on 652
further ones of 2026-11 (of a sound run no answer is right)."""


@lru_cache(maxsize=1)
def shipped_calibration() -> Mapping[str, Calibration]:
    """The fitted numbers by kind of symptom; empty if none are shipped."""
    path = rules_root() / FILE
    if not path.is_file():
        return {}
    kinds = json.loads(path.read_text(encoding="utf-8"))["kinds"]
    return {kind: Calibration(**values) for kind, values in kinds.items()}
