"""What stands around the lines of a table and is none of their cells, a bar that shows how far the run is or stars, and the names that a cell of a head holds."""

from __future__ import annotations

from analyzer.ingest.text.rows.learned.line_masks import in_english
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import is_score, read_name

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


# Of "t[m:s]" the "[m" goes with the colours of terminals.
_UNIT = LazyRegex(r"(?:\[[a-z:/]{1,8}|:[a-z]{1,4})\]$")
_BETWEEN_VALUES = LazyRegex(r"(?<=\d|%)\s?/\s?(?=-?\d{1,9}\.\d)")


def names_in(cell: str) -> list[str]:
    """The name in a cell of a head, without signs and units; two, where one cell heads two columns.

    >>> names_in("Val Loss"), names_in("min&max std"), names_in("valid_loss/acc"), names_in("mse_t / mse_v"), names_in("train/loss")
    (['val_loss'], ['min_std', 'max_std'], ['valid_loss', 'valid_acc'], ['mse_t', 'mse_v'], ['train/loss'])
    """
    name = _UNIT.sub("", in_english(cell).strip().lower())
    first, _, last = (part.strip() for part in name.partition("/"))
    measured = all(part and (read_name(part).quantity or is_score(part)) for part in (first, last))
    if measured or (" / " in name and first[:-1] == last[:-1] and first.isidentifier()):
        of, _, _ = first.rpartition("_")
        return [first.replace(" ", "_"), f"{of}_{last}" if of and last.isalnum() else last.replace(" ", "_")]
    name = name.replace(" ", "_")
    first, both, last = name.partition("&")
    of = last.partition("_")[2]
    return [f"{first}_{of}", last] if both and of else [name.lstrip("#%") or name]


def parted(row: str) -> str:
    """A row whose cells hold two values each as one of single values: ``0.5 / 0.25``."""
    return _BETWEEN_VALUES.sub("  ", row)


def with_phases(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names of columns that end in the letters of two phases, with the phases.

    >>> with_phases(("epoch", "loss_t", "loss_v", "x_t")), with_phases(("loss_t", "loss"))
    (('epoch', 'train_loss', 'val_loss', 'x_t'), ('loss_t', 'loss'))
    """
    both = {name[:-2] for name in names if name.endswith("_t") and f"{name[:-2]}_v" in names}
    phases = {"_t": "train", "_v": "val"}
    return tuple(
        f"{phases[name[-2:]]}_{name[:-2]}" if name[-2:] in phases and name[:-2] in both else name
        for name in names
    )
