"""Train and judge the model of likeness: which cause labelled runs with such facts had.

A penalised multinomial over the marks of facts (``detect/likeness/marks.py``), trained on the records of a casebook that
have numbers to judge. Runs of one group (a thread, a repository) never stand on both sides of the cross-validation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from analyzer.casebook.record import CaseRecord
from analyzer.detect.likeness.marks import marks_of
from analyzer.detect.linear import pack_linear
from analyzer.errors import InputError
from analyzer.model.labels import HEALTHY, ORDINARY, OUTSIDE
from analyzer.record import dataclass
from analyzer.rules.causes import catalogue

if TYPE_CHECKING:
    import numpy.typing as npt

ENOUGH = 3
"""Runs that must have a mark: one or two are accidents of a log."""

STRENGTH = 0.1
"""Inverse regularisation: as good as 1 for the first answer, and better for its probability, on groups held out."""

FOLDS = 10

LEAST_RUNS = 50
"""Fewer labelled runs say how common causes are, and hardly what they look like."""


@dataclass(frozen=True)
class LabelledMarks:
    """Runs with their marks, the label that is learned, every label that is right, the group, and whether nobody tuned on it."""

    marks: tuple[tuple[str, ...], ...]
    labels: tuple[str, ...]
    right: tuple[frozenset[str], ...]
    groups: tuple[str, ...]
    unseen: tuple[bool, ...]


def labelled_marks(records: Sequence[CaseRecord]) -> LabelledMarks:
    """The runs of a casebook that have numbers to judge; benign labels count as sound.

    Raises:
        InputError: There are too few.
    """
    rows: list[tuple[tuple[str, ...], str, frozenset[str], str, bool]] = []
    for record in records:
        marks = tuple(marks_of(record.facts))
        if not marks:
            continue
        label = _label(record.label)
        right = frozenset({label, *(_label(name) for name in record.acceptable)})
        rows.append((marks, label, right, record.group or record.id, record.split == "fit"))
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
    counts = Counter(mark for marks in runs.marks for mark in set(marks))
    known = sorted(mark for mark, count in counts.items() if count >= ENOUGH)
    rows = _matrix(runs.marks, known)
    target = np.array(runs.labels)
    figures = _cross_validated(rows, target, runs)
    model = _fitted(rows, target)
    share = Counter(runs.labels)
    arrays = {
        "labels": model.classes_.astype(np.str_),
        "prior": np.array([share[label] / len(target) for label in model.classes_], np.float32),
        "marks": np.array(known, np.str_),
        **pack_linear(model.coef_, model.intercept_),
    }
    return arrays, figures


def _matrix(marks: Sequence[Sequence[str]], known: Sequence[str]) -> Any:
    place = {mark: column for column, mark in enumerate(known)}
    pairs = [(row, place[mark]) for row, found in enumerate(marks) for mark in set(found) if mark in place]
    at = tuple(np.array(pairs, np.int64).T) if pairs else (np.zeros(0, int), np.zeros(0, int))
    return csr_matrix((np.ones(len(pairs)), at), shape=(len(marks), len(known)))


def _fitted(rows: Any, target: npt.NDArray[np.str_]) -> Any:
    return LogisticRegression(C=STRENGTH, max_iter=3000).fit(rows, target)


def _cross_validated(rows: Any, target: npt.NDArray[np.str_], runs: LabelledMarks) -> dict[str, float]:
    """The first and the first three causes on groups held out, of faulty runs, and of those nobody tuned on."""
    hits: list[tuple[bool, bool, bool]] = []
    folds = GroupKFold(min(FOLDS, len(set(runs.groups))))
    for seen, held in folds.split(rows, target, runs.groups):
        model = _fitted(rows[seen], target[seen])
        causes = [i for i, label in enumerate(model.classes_) if label not in {HEALTHY, OUTSIDE}]
        for row, shares in zip(held, model.predict_proba(rows[held]), strict=True):
            if target[row] == HEALTHY:
                continue
            best = [model.classes_[i] for i in sorted(causes, key=lambda i: -shares[i])[:3]]
            right = runs.right[row]
            hits.append((best[0] in right, any(name in right for name in best), runs.unseen[row]))
    table = np.array(hits, float).reshape(-1, 3)
    unseen = table[table[:, 2] == 1]
    return {
        "runs": float(len(target)),
        "faulty": float(len(table)),
        "top1": float(table[:, 0].mean()) if len(table) else 0.0,
        "top3": float(table[:, 1].mean()) if len(table) else 0.0,
        "unseen": float(len(unseen)),
        "unseen_top1": float(unseen[:, 0].mean()) if len(unseen) else 0.0,
        "unseen_top3": float(unseen[:, 1].mean()) if len(unseen) else 0.0,
    }
