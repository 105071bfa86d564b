"""Fit a temperature and the weight of "something else" per kind of symptom, with grouped cross-validation.

Two numbers per kind, drawn to the numbers of all kinds together where a kind has few runs: log loss plus a penalty on
the distance from the pooled numbers, as strong as ``PRIOR_RUNS`` runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize

from analyzer.casebook.figures import Contest, Figures, figures
from analyzer.rules.calibration import Calibration

PRIOR_RUNS = 10
"""Weight of the pooled numbers, in runs: hand-set odds count as about ten cases."""

FOLDS = 5

PASSES_BELOW = 0.1
"""Calibration error in cross-validation up to which a kind is called calibrated."""

LEAST_RUNS = 30
"""Runs of a kind from which it may be called calibrated: with fewer the error itself is not known to 0.1."""

_LOG_TEMPERATURE = (
    math.log(0.05),
    math.log(2.0),
)  # twice as bold at most, from runs that no rule was written for
_OTHER_BITS = (-2.0, 12.0)


def fit(contests: Sequence[Contest]) -> dict[str, Calibration]:
    """Temperatures by kind.

    Args:
        contests: Labelled competitions.
    """
    if not contests:
        return {}
    pooled = _minimum(contests, (math.log(0.7), 0.0), 1.0)
    found: dict[str, Calibration] = {}
    for kind in sorted({contest.kind for contest in contests}):
        own = [contest for contest in contests if contest.kind == kind]
        log_temperature, other = _minimum(own, pooled, float(PRIOR_RUNS))
        found[kind] = Calibration(round(math.exp(log_temperature), 3), round(other, 3), len(own))
    return found


def _minimum(contests: Sequence[Contest], centre: tuple[float, float], penalty: float) -> tuple[float, float]:
    """Log temperature and score of "something else" with the least penalised log loss."""

    def cost(x: np.ndarray) -> float:
        calibration = Calibration(math.exp(float(x[0])), float(x[1]))
        loss = sum(contest.loss_bits(calibration) for contest in contests)
        # one bit of "something else" or a factor e of temperature away from the centre costs the penalty
        far = (float(x[0]) - centre[0]) ** 2 + ((float(x[1]) - centre[1]) / 2.0) ** 2
        return loss + penalty * 0.5 * far

    best = minimize(
        cost, np.array(centre), method="Nelder-Mead", bounds=(_LOG_TEMPERATURE, _OTHER_BITS),
        options={"xatol": 1e-3, "fatol": 1e-3},
    )  # fmt: skip
    return float(best.x[0]), float(best.x[1])


def cross_validated(contests: Sequence[Contest]) -> list[tuple[Contest, Calibration]]:
    """Each contest with the calibration that was fitted without its group.

    Groups are dealt to folds by name, so that the result does not depend on the order of the records.
    """
    groups = sorted({contest.group for contest in contests})
    fold_of = {group: index % FOLDS for index, group in enumerate(groups)}
    found: list[tuple[Contest, Calibration]] = []
    for fold in range(FOLDS):
        inside = [contest for contest in contests if fold_of[contest.group] == fold]
        fitted = fit([contest for contest in contests if fold_of[contest.group] != fold])
        fallback = Calibration()
        found += [(contest, fitted.get(contest.kind, fallback)) for contest in inside]
    return found


def fit_with_errors(contests: Sequence[Contest]) -> tuple[dict[str, Calibration], Mapping[str, Figures]]:
    """The shipped numbers with their cross-validated error, and the figures by kind."""
    held_out = cross_validated(contests)
    fitted = fit(contests)
    by_kind = {kind: figures([pair for pair in held_out if pair[0].kind == kind]) for kind in fitted}
    return {
        kind: replace(
            calibration,
            error=round(by_kind[kind].calibration_error, 3),
            calibrated=calibration.runs >= LEAST_RUNS and by_kind[kind].calibration_error <= PASSES_BELOW,
        )
        for kind, calibration in fitted.items()
    }, by_kind
