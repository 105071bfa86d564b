"""Train and judge the model of likeness: which cause labelled runs with such facts had.

A penalised multinomial and randomised trees over the marks of facts (``detect/likeness/marks.py``), trained on the records of a
casebook that have numbers to judge. Runs of one group (a thread, a repository) never stand on both sides of the cross-validation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from analyzer.casebook.record import CaseRecord
from analyzer.detect.likeness.answer import OF_TREES
from analyzer.detect.likeness.marks import marks_of
from analyzer.detect.likeness.trees import pack_trees
from analyzer.detect.linear import pack_linear
from analyzer.errors import InputError
from analyzer.model.arrays import Values
from analyzer.model.labels import HEALTHY, ORDINARY, OUTSIDE
from analyzer.record import dataclass
from analyzer.rules.causes import catalogue

if TYPE_CHECKING:
    import numpy.typing as npt

ENOUGH = 3
"""Runs that must have a mark: one or two are accidents of a log."""

STRENGTH = 0.03
"""Inverse regularisation of the multinomial: of 0.01 to 0.1 the best on 301 faulty runs of sets that came after the training."""

ROUNDS = {"max_iter": 600, "tol": 1e-3}
"""The weights settle after about 150 rounds."""

TREES = {"n_estimators": 150, "min_samples_leaf": 2, "max_features": 250, "random_state": 0}
"""More trees or more marks a node name no cause more on those 301 runs; leaves of one run name 3 % less."""

ENOUGH_OF_A_LABEL = 3
"""A cause of fewer runs counts as outside: it would be learned from the accidents of one log."""

LAB, LAB_WEIGHT = "lab/", 0.1
"""A small training that was made to fail weighs a tenth of a run that did. With 650 of them beside 2,880 public runs the pool named
21 more of 1,012 other small trainings first, and of 238 unseen public runs one more; at three tenths more sound runs look faulty."""

FOLDS = 3
"""A fit takes a minute or two."""

LEAST_RUNS = 50
"""Fewer labelled runs say how common causes are, and hardly what they look like."""


@dataclass(frozen=True)
class LabelledMarks:
    """Runs with their marks, the label that is learned, every label that is right, the group, whether nobody tuned on it, and its weight."""

    marks: tuple[tuple[str, ...], ...]
    labels: tuple[str, ...]
    right: tuple[frozenset[str], ...]
    groups: tuple[str, ...]
    unseen: tuple[bool, ...]
    weights: tuple[float, ...]


def labelled_marks(records: Sequence[CaseRecord]) -> LabelledMarks:
    """The runs of a casebook that have numbers to judge; benign labels count as sound.

    Raises:
        InputError: There are too few.
    """
    rows: list[tuple[tuple[str, ...], str, frozenset[str], str, bool, float]] = []
    for record in records:
        marks = tuple(marks_of(record.facts))
        if not marks:
            continue
        label = _label(record.label)
        right = frozenset({label, *(_label(name) for name in record.acceptable)})
        weight = LAB_WEIGHT if record.source.startswith(LAB) else 1.0
        rows.append((marks, label, right, record.group or record.id, record.split == "fit", weight))
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
    of_label = Counter(runs.labels)
    target = np.array([name if of_label[name] >= ENOUGH_OF_A_LABEL else OUTSIDE for name in runs.labels])
    weights = np.array(runs.weights)
    figures = _cross_validated(rows, target, weights, runs)
    linear, trees = _fitted(rows, target, weights)
    arrays = {
        "labels": linear.classes_.astype(np.str_),
        "marks": np.array(known, np.str_),
        **pack_linear(linear.coef_, linear.intercept_),
        **pack_trees(trees),
    }
    return arrays, figures


def _matrix(marks: Sequence[Sequence[str]], known: Sequence[str]) -> Any:
    place = {mark: column for column, mark in enumerate(known)}
    pairs = [(row, place[mark]) for row, found in enumerate(marks) for mark in set(found) if mark in place]
    at = tuple(np.array(pairs, np.int64).T) if pairs else (np.zeros(0, int), np.zeros(0, int))
    return csr_matrix((np.ones(len(pairs), np.float32), at), shape=(len(marks), len(known)))


def _fitted(rows: Any, target: npt.NDArray[np.str_], weights: Values) -> tuple[Any, Any]:
    linear = LogisticRegression(C=STRENGTH, **ROUNDS).fit(rows, target, weights)
    most = {**TREES, "max_features": min(TREES["max_features"], rows.shape[1])}
    return linear, ExtraTreesClassifier(**most).fit(rows.toarray(), target, weights)


def _cross_validated(
    rows: Any, target: npt.NDArray[np.str_], weights: Values, runs: LabelledMarks
) -> dict[str, float]:
    """The first and the first three causes on groups held out, of faulty runs, and of those nobody tuned on."""
    hits: list[tuple[bool, bool, bool]] = []
    folds = GroupKFold(min(FOLDS, len(set(runs.groups))))
    for seen, held in folds.split(rows, target, runs.groups):
        linear, trees = _fitted(rows[seen], target[seen], weights[seen])
        by_trees = trees.predict_proba(rows[held].toarray())
        mixed = (1 - OF_TREES) * linear.predict_proba(rows[held]) + OF_TREES * by_trees
        causes = [i for i, label in enumerate(linear.classes_) if label not in {HEALTHY, OUTSIDE}]
        for row, shares in zip(held, mixed, strict=True):
            if target[row] == HEALTHY or weights[row] < 1:
                continue
            best = [linear.classes_[i] for i in sorted(causes, key=lambda i: -shares[i])[:3]]
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
