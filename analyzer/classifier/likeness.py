"""Train and judge the model of likeness: which cause labelled runs with such facts had.

A ridge over the marks of facts (``detect/likeness/marks.py``), trained on the records of a casebook that have numbers to judge. Of 2,172
faulty runs, groups held out, it names 81 % first and 91 % in three; a multinomial with randomised trees named 77 and 89 %, a ridge over
pairs of marks as well no more. Runs of one group (a thread, a repository) never stand on both sides of the cross-validation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold

from analyzer.casebook.record import CaseRecord
from analyzer.classifier.ridge import Ridge, fit_ridge, pack_ridge
from analyzer.detect.likeness.marks import TRUE, marks_of
from analyzer.errors import InputError
from analyzer.model.labels import HEALTHY, ORDINARY, OUTSIDE
from analyzer.record import dataclass
from analyzer.rules.causes import catalogue

ENOUGH = 3
"""Runs that must have a mark: one or two are accidents of a log."""

STRENGTH = 0.5
"""Of the ridge: .3 to 2 name as many first to within half a percent."""

ENOUGH_OF_A_LABEL = 3
"""A cause of fewer runs counts as outside: it would be learned from the accidents of one log."""

LOUDNESS = 5.0
"""How much more weighs what is true of a run than a level that a number reaches: a run has a thousand levels. Of 543 faulty runs, by
readers that had not seen them, 78.8, 79.0, 79.6 and 79.7 % are named first with 1, 2, 3 and 5, of all public ones held out 79.2, 79.3, 79.4 and 79.8."""

LAB, LAB_TRUST = "lab/", 0.3
"""A small training that was made to fail counts less than a run that did: nobody found its fault hard. From .03 to .3 as many unseen
public runs are named right."""

FOLDS = 3
"""A fit takes half a minute."""

LEAST_RUNS = 50
"""Fewer labelled runs say how common causes are, and hardly what they look like."""


@dataclass(frozen=True)
class LabelledMarks:
    """Runs with their marks, what is learned of each (its label first), what is right, group, whether nobody tuned on it, and trust."""

    marks: tuple[tuple[str, ...], ...]
    taught: tuple[tuple[str, ...], ...]
    right: tuple[frozenset[str], ...]
    groups: tuple[str, ...]
    unseen: tuple[bool, ...]
    trust: tuple[float, ...]


def labelled_marks(records: Sequence[CaseRecord]) -> LabelledMarks:
    """The runs of a casebook that have numbers to judge; benign labels count as sound.

    What a second judge said is learned as a further cause, and is none that counts as right.

    Raises:
        InputError: There are too few.
    """
    rows: list[tuple[tuple[str, ...], tuple[str, ...], frozenset[str], str, bool, float]] = []
    for record in records:
        marks = tuple(marks_of(record.facts))
        if not marks:
            continue
        right = tuple(_label(name) for name in (record.label, *record.acceptable))
        taught = tuple(dict.fromkeys([*right, *(_label(name) for name in record.second)]))
        trust = LAB_TRUST if record.source.startswith(LAB) else 1.0
        group = record.group or record.id
        rows.append((marks, taught, frozenset(right), group, record.split == "fit", trust))
    if len(rows) < LEAST_RUNS:
        raise InputError(f"{len(rows)} records with numbers to judge; {LEAST_RUNS} are needed")
    return LabelledMarks(*zip(*rows, strict=True))


def _label(name: str) -> str:
    entry = catalogue().get(name)
    if entry is None:
        return name if name in {HEALTHY, OUTSIDE} else OUTSIDE
    return HEALTHY if entry.kind in ORDINARY else name


def train_likeness(runs: LabelledMarks) -> tuple[dict[str, Any], dict[str, float]]:
    """The arrays of a model file, and what was measured on groups held out."""
    known, learned = _known_marks(runs), _learned(runs)
    figures = _cross_validated(runs, learned, known)
    model = _fitted(runs, learned, known, range(len(learned)))
    return {"labels": model.labels, "marks": np.array(known, np.str_), **pack_ridge(model)}, figures


def fit_without(runs: LabelledMarks, left_out: Collection[int]) -> Ridge:
    """The ridge over the runs without some of them."""
    taken = [i for i in range(len(runs.marks)) if i not in left_out]
    return _fitted(runs, _learned(runs), _known_marks(runs), taken)


def _known_marks(runs: LabelledMarks) -> list[str]:
    counts = Counter(mark for marks in runs.marks for mark in set(marks))
    return sorted(mark for mark, count in counts.items() if count >= ENOUGH)


def _learned(runs: LabelledMarks) -> list[tuple[str, ...]]:
    """What is learned of each run, causes of hardly any as outside."""
    of_label = Counter(causes[0] for causes in runs.taught)
    return [
        causes if of_label[causes[0]] >= ENOUGH_OF_A_LABEL else (OUTSIDE, *causes[1:])
        for causes in runs.taught
    ]


def _fitted(
    runs: LabelledMarks, learned: Sequence[Sequence[str]], known: Sequence[str], seen: Iterable[int]
) -> Ridge:
    chosen = list(seen)
    trust = np.array([runs.trust[i] for i in chosen])
    louder = {mark: LOUDNESS for mark in known if mark.endswith(TRUE)}
    marks, causes = [runs.marks[i] for i in chosen], [learned[i] for i in chosen]
    return fit_ridge(marks, causes, known, STRENGTH, trust, louder)


def _cross_validated(
    runs: LabelledMarks, learned: Sequence[Sequence[str]], known: Sequence[str]
) -> dict[str, float]:
    """The first and the first three causes on groups held out, of faulty runs, and of those nobody tuned on."""
    hits: list[tuple[bool, bool, bool]] = []
    folds = GroupKFold(min(FOLDS, len(set(runs.groups))))
    for seen, held in folds.split(learned, groups=runs.groups):
        model = _fitted(runs, learned, known, seen)
        faulty = [i for i in held if learned[i][0] != HEALTHY and runs.trust[i] == 1]
        if not faulty:
            continue
        best = model.likeliest([runs.marks[i] for i in faulty], besides=(HEALTHY, OUTSIDE))
        for i, named in zip(faulty, best, strict=True):
            told = [cause in runs.right[i] for cause in named]
            hits.append((told[0], any(told), runs.unseen[i]))
    table = np.array(hits, float).reshape(-1, 3)
    unseen = table[table[:, 2] == 1]
    return {
        "runs": float(len(learned)),
        "faulty": float(len(table)),
        "top1": float(table[:, 0].mean()) if len(table) else 0.0,
        "top3": float(table[:, 1].mean()) if len(table) else 0.0,
        "unseen": float(len(unseen)),
        "unseen_top1": float(unseen[:, 0].mean()) if len(unseen) else 0.0,
        "unseen_top3": float(unseen[:, 1].mean()) if len(unseen) else 0.0,
    }
