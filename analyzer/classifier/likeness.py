"""Train and judge the model of likeness: which cause labelled runs with such facts had.

A penalised multinomial over the marks of facts (``detect/likeness/marks.py``), trained on the records of casebooks that
have numbers to judge. Runs of one group (a thread, a repository) never stand on both sides of the cross-validation.
A run of which several causes are right teaches each of them, the first as much as the others together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from analyzer.casebook.record import CaseRecord
from analyzer.detect.likeness.marks import marks_of
from analyzer.detect.linear import pack_linear
from analyzer.errors import InputError
from analyzer.model.arrays import Rows, Values
from analyzer.model.labels import HEALTHY, ORDINARY, OUTSIDE
from analyzer.rules.causes import catalogue

if TYPE_CHECKING:
    import numpy.typing as npt

ENOUGH = 3
"""Runs that must have a mark: one or two are accidents of a log."""

STRENGTH = 0.1
"""Inverse regularisation: as good as 1 for the first answer, and better for its probability, on groups held out."""

FOLDS = 5

TOLERANCE = 1e-3
"""Of the fit: ten times as fine changes no answer and takes four times as long."""

LAB = "lab/"
"""Source of runs that were made for a purpose: their labels are certain, and how many there are was chosen."""

MADE = 0.1
"""Weight of a made run beside a public one. Of whole answers for runs left out, without these, at 0.1 and at 1
(health withheld below a half of likeness): of 576 small trainings
409, 431 and 439 are right first and 78, 73 and 62 called healthy; of 244 public ones 161, 160 and 155 are right; of 442 sound public
ones 266, 263 and 255 are called healthy."""

LEAST_RUNS = 50
"""Fewer labelled runs say how common causes are, and hardly what they look like."""


@dataclass(frozen=True)
class LabelledMarks:
    """Runs with their marks.

    Attributes:
        marks: Of each run.
        labels: The first label of each.
        right: Every label that is right.
        groups: What is held out together.
        unseen: Whether nobody tuned on it.
        made: Whether it was made for a purpose (``LAB``).
    """

    marks: tuple[tuple[str, ...], ...]
    labels: tuple[str, ...]
    right: tuple[frozenset[str], ...]
    groups: tuple[str, ...]
    unseen: tuple[bool, ...]
    made: tuple[bool, ...]


def labelled_marks(records: Sequence[CaseRecord]) -> LabelledMarks:
    """The runs of a casebook that have numbers to judge; benign labels count as sound.

    Raises:
        InputError: There are too few.
    """
    rows: list[tuple[tuple[str, ...], str, frozenset[str], str, bool, bool]] = []
    for record in records:
        marks = tuple(marks_of(record.facts))
        if not marks:
            continue
        label = _label(record.label)
        right = frozenset({label, *(_label(name) for name in record.acceptable)})
        made = record.source.startswith(LAB)
        rows.append((marks, label, right, record.group or record.id, record.split == "fit", made))
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
    taught = _taught(runs)
    figures = _cross_validated(rows, taught, runs)
    model = _fitted(rows, taught, np.arange(len(runs.labels)))
    share = [taught.weights[taught.labels == label].sum() for label in model.classes_]
    arrays = {
        "labels": model.classes_.astype(np.str_),
        "prior": np.array(share / np.sum(share), np.float32),
        "marks": np.array(known, np.str_),
        **pack_linear(model.coef_, model.intercept_),
    }
    return arrays, figures


def _matrix(marks: Sequence[Sequence[str]], known: Sequence[str]) -> Any:
    place = {mark: column for column, mark in enumerate(known)}
    pairs = [(row, place[mark]) for row, found in enumerate(marks) for mark in set(found) if mark in place]
    at = tuple(np.array(pairs, np.int64).T) if pairs else (np.zeros(0, int), np.zeros(0, int))
    return csr_matrix((np.ones(len(pairs)), at), shape=(len(marks), len(known)))


class _Taught(NamedTuple):
    """What is learned of each run: a row for each of its right causes, with the weight of that one."""

    rows: Rows
    labels: npt.NDArray[np.str_]
    weights: Values


def _taught(runs: LabelledMarks) -> _Taught:
    found: list[tuple[int, str, float]] = []
    for row, weight in enumerate(_weights(runs)):
        label, further = runs.labels[row], sorted(runs.right[row] - {runs.labels[row], OUTSIDE, HEALTHY})
        further = [] if label in {OUTSIDE, HEALTHY} else further
        found.append((row, label, weight / 2 if further else weight))
        found += [(row, name, weight / 2 / len(further)) for name in further]
    rows, labels, weights = zip(*found, strict=True)
    return _Taught(np.array(rows), np.array(labels), np.array(weights))


def _weights(runs: LabelledMarks) -> Values:
    """1 for a public run, ``MADE`` for one that was made; of these the sound weigh as much as the faulty, and n logs of one as its root."""
    logs, made = Counter(runs.groups), np.array(runs.made)
    weights = np.array(
        [logs[group] ** -0.5 if own else 1.0 for group, own in zip(runs.groups, made, strict=True)]
    )
    sound = np.array([label == HEALTHY for label in runs.labels])
    for chosen in (made & sound, made & ~sound):
        if chosen.any():
            weights[chosen] *= MADE * made.sum() / 2 / weights[chosen].sum()
    return weights


def _fitted(rows: Any, taught: _Taught, seen: Rows) -> Any:
    """A model of the runs in ``seen``."""
    kept = np.isin(taught.rows, seen)
    model = LogisticRegression(C=STRENGTH, max_iter=3000, tol=TOLERANCE)
    return model.fit(rows[taught.rows[kept]], taught.labels[kept], sample_weight=taught.weights[kept])


def _cross_validated(rows: Any, taught: _Taught, runs: LabelledMarks) -> dict[str, float]:
    """The first and the first three causes on groups held out, of faulty public runs, and of those nobody tuned on."""
    hits: list[tuple[bool, bool, bool]] = []
    folds = GroupKFold(min(FOLDS, len(set(runs.groups))))
    for seen, held in folds.split(rows, runs.labels, runs.groups):
        model = _fitted(rows, taught, seen)
        public = held[~np.array(runs.made)[held]]
        if not len(public):
            continue
        causes = [i for i, label in enumerate(model.classes_) if label not in {HEALTHY, OUTSIDE}]
        for row, shares in zip(public, model.predict_proba(rows[public]), strict=True):
            if runs.labels[row] == HEALTHY:
                continue
            best = [model.classes_[i] for i in sorted(causes, key=lambda i: -shares[i])[:3]]
            right = runs.right[row]
            hits.append((best[0] in right, any(name in right for name in best), runs.unseen[row]))
    table = np.array(hits, float).reshape(-1, 3)
    unseen = table[table[:, 2] == 1]
    return {
        "runs": float(len(runs.labels)),
        "faulty": float(len(table)),
        "top1": float(table[:, 0].mean()) if len(table) else 0.0,
        "top3": float(table[:, 1].mean()) if len(table) else 0.0,
        "unseen": float(len(unseen)),
        "unseen_top1": float(unseen[:, 0].mean()) if len(unseen) else 0.0,
        "unseen_top3": float(unseen[:, 1].mean()) if len(unseen) else 0.0,
    }
