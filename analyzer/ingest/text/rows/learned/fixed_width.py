"""Columns of numbers that are printed in one width (``%.4f``, ``%.3e``), turned into floats all at once.

The digits of such a column stand under each other. A number is its digits as a whole number over a power of ten; both are
exact below 2**53 and 10**22, so that one division rounds as ``float`` does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from analyzer.ingest.text.rows.learned.whole_rows import NUMBERS
from analyzer.model.arrays import Integers, Values

if TYPE_CHECKING:
    import numpy.typing as npt

LEAST_ROWS = 64
"""Rows below which reading one number after the other is as fast."""

MAX_DIGITS = 15
MAX_POWER = 22
_ALL_NUMBERS = re.compile(rb"(?:%b(?:\n|\Z))++" % NUMBERS)
_POINT, _ZERO, _E, _MINUS = b".0e-"
_POWERS = 10.0 ** np.arange(MAX_POWER + 1)


def fixed_width(column: list[bytes]) -> Values | None:
    """float64, shape (n_rows,): the numbers of a column; None if they are not all printed alike.

    >>> fixed_width([b"0.25", b"1.50"] * 32)[:2].tolist(), fixed_width([b"0.25", b"10.5", b"nan"] * 32)
    ([0.25, 1.5], None)
    >>> fixed_width([b"10", b"99"] * 32)[:2].tolist(), fixed_width([b"1_0", b"inf"] * 32)
    ([10.0, 99.0], None)
    >>> fixed_width([b"1.5e-03", b"2.5e-04"] * 32)[:2].tolist()
    [0.0015, 0.00025]
    """
    first, rows = column[0], len(column)
    width, point = len(first), first.find(b".")
    if rows < LEAST_ROWS or point == 0 or len(set(map(len, column))) != 1:
        return None
    table = np.frombuffer(b"".join(column), np.uint8).reshape(rows, width)
    power_at = first.find(b"e")
    end = width if power_at < 0 else power_at
    places = [at for at in range(end) if at != point]
    if len(places) > MAX_DIGITS or (point > 0 and not (table[:, point] == _POINT).all()):
        return None
    whole: Integers = np.zeros(rows, np.int64)
    for at in places:
        digits = table[:, at] - np.uint8(_ZERO)
        if (digits > 9).any():  # a sign wraps around and is above 9 too
            return None
        whole = whole * 10 + digits
    powers = end - 1 - point if point > 0 else 0
    if power_at < 0:
        return np.asarray(whole / _POWERS[powers], np.float64)
    exponents = _exponents(table[:, power_at:])
    if exponents is None or int(exponents.max()) + powers > MAX_POWER:
        return None
    return np.asarray(whole / _POWERS[exponents + powers], np.float64)


def _exponents(table: npt.NDArray[np.uint8]) -> Integers | None:
    """int64, shape (n_rows,): how far the point moves to the left; None if any moves to the right."""
    if not ((table[:, 0] == _E).all() and (table[:, 1] == _MINUS).all() and table.shape[1] == len("e-04")):
        return None
    digits = table[:, 2:] - np.uint8(_ZERO)
    return None if (digits > 9).any() else digits[:, 0].astype(np.int64) * 10 + digits[:, 1]


def floats(column: list[bytes]) -> Values:
    """float64, shape (n_rows,): numbers; ``ValueError`` if one of them is none."""
    try:
        if column and column[:1] * len(column) == column:  # many are settings
            return np.full(len(column), float(column[0]))
        if column and (alike := fixed_width(column)) is not None:
            return alike
        return np.fromiter(map(float, column), np.float64, len(column))
    except ValueError:
        text = b"\n".join(column)
        if _ALL_NUMBERS.fullmatch(text) is None:
            raise
        return np.fromiter(map(float, text.replace(b",", b"").split()), np.float64, len(column))
