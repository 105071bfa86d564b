"""What stands around the lines of a table and is none of their cells: a bar that shows how far the run is, stars."""

from __future__ import annotations

from analyzer.lazy_regex import LazyRegex

# The bar of a table that shows how far the run is before each row, xLearn's: "[   10%      ]     1   0.25", and stars around a head.
_BAR_AHEAD = LazyRegex(r"^\[[-=># ]{0,20}(?:\d{1,3}% {0,20}|-{3,20})[-=># ]{0,20}\](?= )")
_STARS = LazyRegex(r"^\s{0,4}\*{3,40} ?(?=\w[^*]{8,300}\*{3,40}\s{0,4}$)|(?<=\w) ?\*{3,40}\s{0,4}$")


def unframed(text: str) -> str:
    """A line of a table with blanks in place of the bar before it, and without the stars that set a head off.

    >>> unframed("[   10%      ]     1   0.25"), unframed("[1] 0.25")
    ('                   1   0.25', '[1] 0.25')
    >>> unframed("***train_loss,valid_loss***"), unframed("a *** b")
    ('train_loss,valid_loss', 'a *** b')
    """
    return _STARS.sub("", _BAR_AHEAD.sub(lambda match: " " * len(match[0]), text))
