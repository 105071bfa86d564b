"""Canonical metric names: many spellings, one name and one unit; the original is kept beside the points.

They stand in ``metric_names.txt``, a row each: ``name | unit | meaning | spellings``. Spellings are compared in lower case; ``*0.001`` after
one converts its unit to that of the name: a log that prints milliseconds becomes seconds. ``METRICS`` gives names, units and meanings to
whoever documents or checks them. A spelling that no row holds is read by its words (``name_words``), which is a guess, and stays as it is, in lower
case, if they tell nothing. Learning rates of further parameter groups are ``learning_rate_group_<n>``, n from 1.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import read_memory, read_name, words_of
from analyzer.record import NamedTuple


class Metric(NamedTuple):
    """What a canonical name means."""

    unit: str  # unit, empty if it has none
    meaning: str  # what is measured, in a few words


def _read(table: str) -> tuple[dict[str, Metric], dict[str, str], dict[str, float]]:
    """Metrics by name, names by spelling, and factors of the spellings that have another unit."""
    metrics: dict[str, Metric] = {}
    names: dict[str, str] = {}
    factors: dict[str, float] = {}
    for row in table.splitlines():
        name, unit, meaning, spellings = (cell.strip() for cell in row.split("|"))
        metrics[name] = Metric(unit, meaning)
        for spelling in spellings.split(", "):
            plain, _, factor = spelling.partition("*")
            names[plain] = name
            if factor:
                factors[plain] = float(factor)
    return metrics, names, factors


METRICS, _EXACT, _FACTORS = _read(Path(__file__).with_name("metric_names.txt").read_text(encoding="utf-8"))

# Prefixes that trackers add in front of a trainer's own name; stripped until nothing changes.
_PREFIX = LazyRegex(
    r"^(?:train/samples|train|training|trainer|train_metrics|global|scalars|metrics|optim|opt|misc|debug)[/.]"
)
_RATE_OF_GROUP = LazyRegex(
    r"^(?:x/|optim0_|optim/)?(?:lr|learning_rate)[-_/]?(?:[a-z]\w{0,20}/)?(?:(?P<from_one>pg)|group[_-]?)?(?P<group>\d{1,3})$"
)


@lru_cache(maxsize=4096)
def canonical_metric(name: str) -> str:
    """Canonical name of a logged metric; the lower-cased name itself if it has no canonical one.

    ``train/train_loss`` is the mean that HF Trainer logs once at its end, not a point of the loss curve.

    >>> canonical_metric("train/grad_norm"), canonical_metric("Train/Samples/train_loss")
    ('grad_norm', 'loss')
    >>> canonical_metric("eval/loss"), canonical_metric("rewards/chosen")
    ('eval_loss', 'rewards/chosen')
    >>> canonical_metric("lr-AdamW/pg1"), canonical_metric("lr-AdamW/pg2")
    ('learning_rate', 'learning_rate_group_1')
    """
    lowered = name.strip().lower()
    known = _known(lowered)
    if known is not None:
        return known[0]
    return _guessed(name) or lowered


def _guessed(name: str) -> str:
    """Canonical name by the words of a name, empty if they do not tell it."""
    if name.startswith("epoch/"):  # how readers here keep means of epochs apart from the points of steps
        return ""
    if memory := read_memory(name):
        return memory[0]
    canonical = read_name(name.strip()).canonical
    return "" if "%" in name and canonical.endswith("_time_s") else canonical


def is_guess(name: str) -> bool:
    """Whether only the words of a name say what it is called here.

    >>> is_guess("train_loss"), is_guess("Loss/validation"), is_guess("mystery")
    (False, True, False)
    """
    return _known(name.strip().lower()) is None and bool(_guessed(name))


@lru_cache(maxsize=4096)
def unit_factor(name: str) -> float:
    """What a logged value is multiplied by to have the unit of its canonical name.

    >>> unit_factor("elapsed time per iteration (ms)"), unit_factor("step_time")
    (0.001, 1.0)
    """
    known = _known(name.strip().lower())
    if known is not None:
        return _FACTORS.get(known[1], 1.0)
    if memory := read_memory(name):
        return memory[1]
    canonical = _guessed(name)
    return 1e-3 if canonical.endswith("_time_s") and "ms" in words_of(name) else 1.0


def _known(lowered: str) -> tuple[str, str] | None:
    """Canonical name of a lower-case name, and the spelling of the table that it is."""
    stripped = lowered
    while stripped not in _EXACT and (shorter := _PREFIX.sub("", stripped, count=1)) != stripped:
        stripped = shorter
    if stripped not in _EXACT and " " in stripped:  # headers of tables: "Training Loss"
        stripped = stripped.replace(" ", "_")
    if stripped in _EXACT:
        return _EXACT[stripped], stripped
    if match := _RATE_OF_GROUP.match(stripped):
        group = int(match["group"]) - (1 if match["from_one"] else 0)
        return ("learning_rate" if group <= 0 else f"learning_rate_group_{group}"), stripped
    return None
