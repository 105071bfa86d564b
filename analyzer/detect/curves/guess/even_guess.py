"""The accuracy of one answer for every sample where all classes are equally frequent, as in most test sets of benchmarks."""

from __future__ import annotations

EVEN_GUESS = 0.005
"""Relative distance of an accuracy from 1/C at which C classes of one size explain it: test sets are cut to equal classes,
and three digits are printed."""

EVEN_CLASSES = (*range(3, 11), 20, 50, 100, 200, 1000)
"""Numbers of classes that test sets of equal classes have. Of two classes one half is not the share of a majority."""


def is_even_guess(share: float) -> bool:
    """Whether an accuracy is that of one answer among classes of equal size, so that none is the largest."""
    halves = (
        abs(share - 0.5) <= 2 * EVEN_GUESS
    )  # of two classes the guess scatters by a percent, and no share is beyond it
    return halves or any(abs(share * count - 1) <= EVEN_GUESS for count in EVEN_CLASSES)
