"""Fit how much rules, words and numbers count in the pool (``rules/candidates/pooled.py``) on labelled public failures.

A conditional logit: the likeliest weights where the right cause of a run competes with the others that were named and with none of them.
The words and the numbers of a run are judged by models that saw no run of its place (a repository, a thread elsewhere).
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize

from analyzer.casebook.record import CaseRecord
from analyzer.classifier import likeness, messages
from analyzer.classifier.ridge import Ridge
from analyzer.detect.base import FactWriter
from analyzer.detect.likeness.answer import LEAST
from analyzer.detect.likeness.marks import marks_of
from analyzer.detect.likeness.places import put_places
from analyzer.detect.linear import shares_of
from analyzer.errors import InputError
from analyzer.lazy_regex import LazyRegex
from analyzer.model.arrays import Mask, Values
from analyzer.model.labels import HEALTHY, ORDINARY
from analyzer.model.tables import Scalar
from analyzer.model.wording import REPORTED
from analyzer.record import NamedTuple
from analyzer.rules.candidates.pooled import NUMBERS, WORDING, Alike, Weights, asked, opinions, weighed_causes
from analyzer.rules.folding import fold, in_order
from analyzer.rules.load import RuleSet
from analyzer.rules.score import rank

if TYPE_CHECKING:
    import numpy.typing as npt

FOLDS = 5
"""A fit of both models takes a minute."""

UNSEEN = 3.0
"""How much more a run counts that no rule was written with: of the others rules know more than of a new one."""

RIDGE = 1e-3
"""Penalty on a squared weight, for each run: it only keeps a mark that hardly varies from running away."""

ENOUGH = 50
"""Runs of which five weights can be told."""

_REPOSITORY = LazyRegex(r"https://github\.com/[^/#]{1,100}/[^/#]{1,100}")


class Named(NamedTuple):
    """The causes that were named for some runs, one row each.

    Attributes:
        marks: As ``Opinion.marks`` has them, shape (rows, 5).
        right: Shape (rows,).
        run: Which run a row belongs to, shape (rows,).
        trust: How much each run counts, shape (runs,).
    """

    marks: Values
    right: Mask
    run: npt.NDArray[np.int64]
    trust: Values


def fold_of(address: str) -> int:
    """Which fold a run belongs to: all of one repository to one.

    >>> fold_of("https://github.com/a/b/issues/1") == fold_of("https://github.com/a/b#runs")
    True
    """
    repository = _REPOSITORY.match(address)
    place = address.partition("#")[0] if repository is None else repository[0]
    return zlib.crc32(place.lower().encode()) % FOLDS


def train_pool(
    records: Sequence[CaseRecord], corpus: messages.Corpus, rules: RuleSet
) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """The weights for failures with words and for courses of numbers, and what was measured on folds held out.

    Raises:
        InputError: There are too few faulty public runs of either.
    """
    faulty = [r for r in records if r.label != HEALTHY and not r.source.startswith(likeness.LAB)]
    facts = _with_models_held_out(records, faulty, corpus)
    folds = [fold_of(record.group or record.source) for record in faulty]
    weights: dict[str, dict[str, float]] = {}
    figures: dict[str, float] = {}
    for by in (WORDING, NUMBERS):
        named, of_fold = _named(faulty, facts, folds, rules, by)
        if len(named.trust) < ENOUGH:
            raise InputError(f"{len(named.trust)} faulty runs to fit a pool on; {ENOUGH} are needed")
        fitted = fit_pool(named)
        weights[by.facts] = {name: round(weight, 3) for name, weight in fitted._asdict().items()}
        figures[f"{by.facts}runs"] = float(len(named.trust))
        figures[f"{by.facts}top1"] = _first_right(named, of_fold)
    return weights, figures


def _with_models_held_out(
    records: Sequence[CaseRecord], faulty: Sequence[CaseRecord], corpus: messages.Corpus
) -> list[dict[str, Scalar]]:
    """The facts of each run, with what models that did not see its place say of its words and numbers."""
    runs = likeness.labelled_marks(records)
    of_corpus = [fold_of(group) if group else -1 for group in corpus.groups]
    of_runs = [-1 if group.startswith(likeness.LAB) else fold_of(group) for group in runs.groups]
    logs = {group: i for i, group in enumerate(corpus.groups)}
    facts = [
        {
            name: value
            for name, value in record.facts.items()
            if not name.startswith(("message.", "likeness."))
        }
        for record in faulty
    ]
    for at in range(FOLDS):
        words = messages.fit_without(corpus, {i for i, place in enumerate(of_corpus) if place == at})
        numbers = likeness.fit_without(runs, {i for i, place in enumerate(of_runs) if place == at})
        for record, known in zip(faulty, facts, strict=True):
            if fold_of(record.group or record.source) != at:
                continue
            log = logs.get(record.source)
            if log is not None:
                known.update(_places(words, corpus.pieces[log], "message.", 0.0))
            if marks := tuple(marks_of(record.facts)):
                known.update(_places(numbers, marks, "likeness.", LEAST))
    return facts


def _places(
    model: Ridge, marks: Collection[Hashable], prefix: str, least: float
) -> Iterator[tuple[str, Scalar]]:
    """The facts that a model yields for one run."""
    scores = model.scores([marks])[0].astype(np.float32)
    shares = shares_of(scores)
    labels = model.labels.tolist()
    out = FactWriter(prefix)
    put_places(out, labels, scores, shares, least, ())
    yield from ((name, fact.value) for name, fact in out.facts.items())
    if HEALTHY in labels:
        yield f"{prefix}sound", float(shares[labels.index(HEALTHY)])


def _named(
    faulty: Sequence[CaseRecord],
    facts: Sequence[Mapping[str, Scalar]],
    folds: Sequence[int],
    rules: RuleSet,
    by: Alike,
) -> tuple[Named, list[int]]:
    """What is named for the runs of which such labelled runs are asked, and the fold of each."""
    rows: list[tuple[float, ...]] = []
    right: list[bool] = []
    run: list[int] = []
    trust: list[float] = []
    of_fold: list[int] = []
    for record, known, place in zip(faulty, facts, folds, strict=True):
        ranking = rank(rules.in_question(known), known)
        folded = fold(ranking, known)
        leads = (i for i in in_order(ranking, folded) if i.rule.entry.kind not in ORDINARY)
        leader = next((item for item in leads if item.probability >= REPORTED), None)
        if asked(None if leader is None else leader.rule.symptom_kind, known) is not by:
            continue
        named = opinions(known, rules, weighed_causes(ranking, folded), by)
        if not named:
            continue
        rows += [each.marks for each in named]
        right += [each.rule.entry.id in {record.label, *record.acceptable} for each in named]
        run += [len(trust)] * len(named)
        trust.append(UNSEEN if record.split == "fit" else 1.0)
        of_fold.append(place)
    return Named(np.array(rows), np.array(right), np.array(run), np.array(trust)), of_fold


def fit_pool(named: Named) -> Weights:
    """The likeliest weights, less the ridge."""
    marks, right, run, trust = named
    none_right = np.bincount(run, right, minlength=len(trust)) == 0
    penalty = RIDGE * len(trust) * marks.var(axis=0)

    def cost(weights: Values) -> tuple[float, Values]:
        odds = np.exp(np.clip(marks @ weights, -30.0, 30.0))
        whole = 1.0 + np.bincount(run, odds)
        good = none_right + np.bincount(run, odds * right)
        push = trust[run] * odds * (right / good[run] - 1.0 / whole[run])
        loss = -(trust * np.log(good / whole)).sum() + (penalty * weights**2).sum()
        return float(loss), 2.0 * penalty * weights - marks.T @ push

    return Weights(*minimize(cost, np.zeros(marks.shape[1]), jac=True, method="L-BFGS-B").x.tolist())


def _first_right(named: Named, of_fold: Sequence[int]) -> float:
    """Part of the runs whose first cause is right by weights that were fitted without its fold."""
    place = np.array(of_fold)
    hits: list[bool] = []
    for at in sorted(set(of_fold)):
        weights = np.array(fit_pool(_of_runs(named, place != at)))
        held = _of_runs(named, place == at)
        scores = held.marks @ weights
        order = np.lexsort((-scores, held.run))
        first = np.unique(held.run[order], return_index=True)[1]
        hits += held.right[order][first].tolist()
    return float(np.mean(hits))


def _of_runs(named: Named, chosen: Mask) -> Named:
    """The rows of some runs, numbered anew."""
    rows = chosen[named.run]
    number = np.cumsum(chosen) - 1
    return Named(named.marks[rows], named.right[rows], number[named.run[rows]], named.trust[chosen])
