"""Lines without a number that say of which data the rows below them are: ``Validation:``, ``测试结果:``, ``Training metrics``."""

from __future__ import annotations

from analyzer.ingest.text.rows.learned.line_masks import in_english, may_be_held_out
from analyzer.lazy_regex import LazyRegex

HELD_OUT_HEADING = LazyRegex(
    r"(?i)^\W{0,40}(?:(?:now )?(?:we are |is )?(?:start|begin|run|do|perform)(?:ning|ing|s)? )?(?:eval(?:uat(?:ion|ing|e))?|val(?:id(?:at(?:ion|ing|e))?)?|test(?:ing)?)(?!(?:[ _-]set)?\W{0,3}\x01\W{0,40}$)"
    r"(?:[ :_-] ?(?:res(?:ults?)?|metrics?|measures?|scores?|summary|errors?|performance|set|on|at|in|for|of|epoch|step|the|model|mode|phase|begins?|began|starts?|started|eval|dev|test|val(?:id(?:ation)?)?|[\x01])){0,5}(?: with \[[^\]]{0,200}\])?\W{0,40}$"
)
_FOREIGN_HEADING = LazyRegex(r"^[^A-Za-z]{0,40}(?:val|validation|test|eval)\b[^A-Za-z]{0,20}: {0,3}$")
"""The same among words of another script, of which only the telling one is known."""
TRAINING_HEADING = LazyRegex(
    r"(?i)^\W{0,40}train(?:ing)?(?: (?:res(?:ults?)?|metrics?|measures?|scores?|summary|errors?|performance|set|on|at|the)){0,4}\W{0,40}$"
)
"""What stands below is of training data, also within the lines that follow a heading of held-out data."""


def heads_evaluation(text: str) -> bool:
    """Whether a line without a number is the heading of an evaluation, in English or in another script.

    >>> heads_evaluation("Validation:"), heads_evaluation("验证结果:"), heads_evaluation("模型测试的数据")
    (True, True, False)
    """
    if text.isascii():
        return HELD_OUT_HEADING.match(text) is not None
    return (
        len(text) <= MAX_HEADING_CHARACTERS
        and may_be_held_out(text)
        and is_held_out_heading(in_english(text))
    )


def is_held_out_heading(text: str) -> bool:
    """Whether text in English is such a heading."""
    return HELD_OUT_HEADING.match(text) is not None or _FOREIGN_HEADING.match(text) is not None


MAX_HEADING_CHARACTERS = 160
"""Characters of a heading in another script, with its frame."""
