"""Numbers and probabilities in words; one place, so that a sentence and a table never disagree."""

from __future__ import annotations

from analyzer.model.tables import Scalar

REPORTED = 0.3
"""Share from which a cause is called at least "possible" and may decide the status of a run."""

LIKELY = 0.6
"""Share from which it is called "likely"."""

_WORDS = ((0.9, "very likely"), (LIKELY, "likely"), (REPORTED, "possible"), (0.0, "unlikely"))


def word_for(probability: float) -> str:
    """Words for a probability: very likely, likely, possible, unlikely."""
    return next(word for limit, word in _WORDS if probability >= limit)


def percent(probability: float) -> str:
    """A share as a whole percentage, never rounded to certainty.

    >>> percent(0.83), percent(0.999), percent(0.001)
    ('83%', '>99%', '<1%')
    """
    if probability >= 0.995:
        return ">99%"
    return "<1%" if probability < 0.005 else f"{max(1, round(100 * probability))}%"


def counted(number: int, what: str, several: str = "") -> str:
    """A number of things, with the plural in ``s`` if no other is given.

    >>> counted(1, "file"), counted(0, "setting"), counted(2, "fix", "fixes")
    ('1 file', '0 settings', '2 fixes')
    """
    return f"{number} {what if number == 1 else several or what + 's'}"


LONG_NUMBER = 1e8
"""From here on digits are counted, not read: nine of them."""


def format_scalar(value: Scalar) -> str:
    """A value as a person writes it.

    >>> format_scalar(65536.0), format_scalar(0.000123456), format_scalar(True)
    ('65536', '0.000123', 'yes')
    >>> format_scalar(8116699648.0), format_scalar(1e-7)
    ('8.12e+09', '1e-07')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < LONG_NUMBER else f"{value:.3g}"
    return str(value)
