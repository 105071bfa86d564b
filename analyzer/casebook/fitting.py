"""Fit a temperature and the weight of "something else" per kind of symptom, with grouped cross-validation.

Two numbers per kind, drawn to the numbers of all kinds together where a kind has few runs: log loss plus a penalty on
the distance from the pooled numbers, as strong as ``PRIOR_RUNS`` runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from analyzer.casebook.figures import Contest, Figures, calibration_error, figures, first_answers
from analyzer.rules.calibration import HAND_SET, Calibration

PRIOR_RUNS = 10
"""Weight of the pooled numbers, in runs: hand-set odds count as about ten cases."""

FOLDS = 5

LEAST_RUNS = 60
"""Runs of a kind from which it may be called calibrated: of thirty, answers that are off by a fifth still pass as chance."""

MOST_VERY_SURE = 0.02
"""Part of the answers that may be wrong at 0.9 and more. And none may become sure and wrong by the fit: odds fitted on 557 runs
lost nothing in cross-validation and tripled such answers (11 to 33 %) for the next 224."""

RESAMPLES = 1000
"""Draws of groups, and of answers at the stated odds: intervals are known to a hundredth."""

SURE = 0.95
"""One kind in twenty that is no better passes by chance, and one in twenty that is calibrated does not."""

_LOG_TEMPERATURE = (
    math.log(0.05),
    math.log(2.0),
)  # twice as bold at most, from runs that no rule was written for
_OTHER_BITS = (-6.0, 12.0)


def fit(contests: Sequence[Contest]) -> dict[str, Calibration]:
    """Temperatures by kind."""
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


@dataclass(frozen=True, slots=True)
class Proof:
    """What cross-validation says of the calibration of a kind.

    Attributes:
        figures: What the calibrated answers reached.
        gain_bits: Log loss saved against the hand-set odds, as at least nineteen of twenty draws of groups have it.
        error_low: Calibration error that one draw in twenty falls below.
        error_high: Calibration error that one draw in twenty exceeds.
        by_chance: Calibration error that answers which are right as often as they say exceed once in twenty.
        by_hand: What the hand-set odds reached.
    """

    figures: Figures
    gain_bits: float
    error_low: float
    error_high: float
    by_chance: float
    by_hand: Figures

    def fails(self) -> str:
        """Why the kind is not called calibrated; empty if it is."""
        if self.figures.runs < LEAST_RUNS:
            return f"fewer than {LEAST_RUNS} runs"
        if self.gain_bits <= 0:
            return "log loss no better than by hand"
        if self.figures.calibration_error > min(self.by_chance, self.by_hand.calibration_error):
            return "wrong more often than by chance"
        if self.figures.wrong_sure > self.by_hand.wrong_sure or self.figures.wrong_very_sure > MOST_VERY_SURE:
            return "more answers that are wrong and sure"
        return ""


def proof(pairs: Sequence[tuple[Contest, Calibration]]) -> Proof:
    """Judge the answers of one kind, each with the calibration that was fitted without its group."""
    rng = np.random.default_rng(0)
    said = np.array(first_answers(pairs), dtype=float)
    saved = np.array([contest.loss_bits(HAND_SET) - contest.loss_bits(fitted) for contest, fitted in pairs])
    groups: dict[str, list[int]] = {}
    for row, (contest, _) in enumerate(pairs):
        groups.setdefault(contest.group, []).append(row)
    rows = list(groups.values())
    gains, errors, chance = [], [], []
    for _ in range(RESAMPLES):
        drawn = np.concatenate([rows[i] for i in rng.integers(len(rows), size=len(rows))])
        gains.append(float(saved[drawn].mean()))
        errors.append(_error(said[drawn, 0], said[drawn, 1] > 0))
        chance.append(_error(said[:, 0], rng.random(len(said)) < said[:, 0]))
    return Proof(
        figures(pairs),
        float(np.quantile(gains, 1 - SURE)),
        float(np.quantile(errors, 1 - SURE)),
        float(np.quantile(errors, SURE)),
        float(np.quantile(chance, SURE)),
        figures([(contest, HAND_SET) for contest, _ in pairs]),
    )


def _error(stated: np.ndarray, right: np.ndarray) -> float:
    return calibration_error(list(zip(stated.tolist(), right.tolist(), strict=True)))


def fit_with_proof(contests: Sequence[Contest]) -> tuple[dict[str, Calibration], Mapping[str, Proof]]:
    """The numbers by kind with their cross-validated error, and what the error was measured by."""
    held_out = cross_validated(contests)
    fitted = fit(contests)
    proofs = {kind: proof([pair for pair in held_out if pair[0].kind == kind]) for kind in fitted}
    return {
        kind: calibration._replace(
            error=round(proofs[kind].figures.calibration_error, 3),
            error_low=round(proofs[kind].error_low, 3),
            error_high=round(proofs[kind].error_high, 3),
            calibrated=not proofs[kind].fails(),
        )
        for kind, calibration in fitted.items()
    }, proofs
