"""What the share that rules give a cause was worth on runs that no rule had seen: the probability that is told.

Rules weigh causes in bits set by hand (``score.py``), and how sure an answer is depends on what it is about: an exception
that was written down is named right more often than its share says, a fault that is only seen in the course of a curve less
often. ``rules/calibration.json`` holds a logit of the share with one offset per status and one per family of causes, fitted
by ``analyzer rules fit`` on first answers for labelled runs (``samples/casebook/answers.csv``), with what it reached on sets
held out. The order of answers never changes by it, nor does a status.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import lru_cache

from analyzer.model.wording import LIKELY, REPORTED
from analyzer.record import NamedTuple
from analyzer.rules.causes import rules_root
from analyzer.rules.tree import HALF, JUST_BELOW_HALF

FILE = "calibration.json"

LEAST_SHARE, MOST_SHARE = 0.02, 0.9
"""Between these a share tells how often answers are right; beyond, it told no more on 1,937 answers (0.95 said, 0.87 right)."""

SURE_FROM = 0.75
"""An answer that is right less often than this is told below "likely": from there on people act, and of those between
0.6 and 0.75 every third would have misled them."""

SURE_THOUGH_SPREAD = 0.85
"""The same of one that holds less than a half by its share: of the 99 answers held out from here on 96 % were right, of the 245
between 0.75 and here 77 %."""

FAILED = "failed"

BELOW_LIKELY = LIKELY - 0.01


class Calibration(NamedTuple):
    """The fitted numbers, and what they reached on sets of runs that they were not fitted on.

    Attributes:
        intercept: Logit of being right at a share of one half, before offsets.
        slope: Factor on the logit of the share of a failed run.
        softer: What is added to it where nothing failed: a share of what only a course shows tells less. With one factor for both the
            error of 2,970 of the answers was 0.060 instead of 0.053, and 93 instead of 82 were wrong at "likely".
        statuses: Offset by status of the run.
        families: Offset by family of the leading cause.
        answers: First answers that they were fitted on.
        error: Expected calibration error of answers held out, 0 to 1.
        error_low: Error that one draw of the sets in twenty falls below.
        error_high: Error that one draw in twenty exceeds.
        error_by_hand: Error of the shares themselves.
        sure: Answers held out that were told at "likely" and more.
        sure_right: Part of them that was right.
    """

    intercept: float
    slope: float
    statuses: Mapping[str, float]
    families: Mapping[str, float]
    softer: float = 0.0
    answers: int = 0
    error: float = 1.0
    error_low: float = 0.0
    error_high: float = 1.0
    error_by_hand: float = 1.0
    sure: int = 0
    sure_right: float = 0.0

    def fitted(self, share: float, status: str, family: str) -> float:
        """How often such a leading answer is right, as fitted."""
        offset = self.statuses.get(status, 0.0) + self.families.get(family, 0.0)
        slope = self.slope if status == FAILED else self.slope + self.softer
        return 1.0 / (1.0 + math.exp(-(self.intercept + slope * logit(share) + offset)))

    def told(self, share: float, status: str, family: str) -> float:
        """The probability of a leading cause as it is told.

        What holds "possible" by its share stays so, since that decides the status; what does not is no likelier than not: of 332 such
        answers held out, told below "possible", 47 % were right. It is "likely" only where it surely is. Of a status that no answer
        was counted for, the share itself.
        """
        if status not in self.statuses:
            return share
        right = self.fitted(share, status, family)
        if right < (SURE_FROM if share >= HALF else SURE_THOUGH_SPREAD):
            right = min(right, BELOW_LIKELY)
        return max(right, REPORTED) if share >= REPORTED else min(right, JUST_BELOW_HALF)


def logit(share: float) -> float:
    """Log odds of a share, in nats, held between the least and the most that tells something."""
    held = min(max(share, LEAST_SHARE), MOST_SHARE)
    return math.log(held / (1.0 - held))


@lru_cache(maxsize=1)
def shipped_calibration() -> Calibration | None:
    """The shipped numbers; None if there are none, and shares are told as they are."""
    path = rules_root() / FILE
    return Calibration(**json.loads(path.read_text(encoding="utf-8"))["fit"]) if path.is_file() else None


def told(share: float, status: str, family: str) -> float:
    """The probability of a leading cause by the shipped numbers."""
    shipped = shipped_calibration()
    return share if shipped is None else shipped.told(share, status, family)
