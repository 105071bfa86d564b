"""Heads whose columns have the same names in several groups, which the line above them tells apart.

             |------ VALID -------|------ TRAIN -------|
    epoch    | loss   top-1       | loss   top-1       | time

Each column is called by its group too.
"""

from __future__ import annotations

from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import read_name, says_no_quantity

ALIKE = LazyRegex(
    r"^[^|\d]{2,80}\|\s{1,3}(?P<names>[A-Za-z][^|]{3,80}?)\s{0,30}\|\s{1,3}(?P=names)\s{0,30}(?:\||$)"
)
"""A head with the same names in two groups that follow each other."""

_NAME = LazyRegex(r"[^\s|]+(?: [^\s|]+)*")
GROUPS = 2
"""Groups that are called by a phase."""


def grouped(above: str, text: str) -> tuple[tuple[str, ...], tuple[tuple[int, int], ...]]:
    """The names of the columns of a head, and the place of each; none if the line above names no groups of it.

    >>> above, text = "      |-- VALID --|-- TRAIN --|-----|", "epoch | loss  err  | loss  err  | time"
    >>> grouped(above, text)[0], grouped(text, text)
    (('epoch', 'valid_loss', 'valid_err', 'train_loss', 'train_err', 'time'), ((), ()))
    """
    groups = [group.strip(" -=").lower() for group in above.rstrip().removesuffix("|").split("|")]
    phases = [group if read_name(group).phase and says_no_quantity(group) else "" for group in groups]
    if text.rstrip().removesuffix("|").count("|") + 1 != len(groups) or len(set(phases) - {""}) < GROUPS:
        return (), ()
    found = list(_NAME.finditer(text))
    names = (
        f"{phases[text.count('|', 0, match.start())]}_{match[0]}".strip("_").lower().replace(" ", "_")
        for match in found
    )
    return tuple(names), tuple(match.span() for match in found)
