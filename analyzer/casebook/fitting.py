"""Fit what shares are worth on answers for unseen runs, with whole sets of runs held out.

An answer is right or not, so this is a logistic regression: the logit of the share, with a slope of its own where nothing failed, an offset per status and one
per family of causes. Offsets are drawn to none by a ridge; sets are held out whole, since runs of one set were gathered alike.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from analyzer.casebook.figures import calibration_error
from analyzer.errors import InputError
from analyzer.model.arrays import Values
from analyzer.model.diagnosis import STATUSES
from analyzer.model.wording import LIKELY
from analyzer.record import NamedTuple
from analyzer.rules.calibration import FAILED, Calibration, logit
from analyzer.rules.causes import catalogue

RIDGE = 10.0
"""Penalty on a squared offset, in nats: one that ten answers speak for stays small. 3 reaches an error of 0.053 in place of 0.042."""

RESAMPLES = 1000
"""Draws of sets: the interval is known to a hundredth."""

SURE = 0.95

COLUMNS = ("set", "source", "status", "cause", "said", "right")


class Answer(NamedTuple):
    """The first answer for a labelled run, given before any rule was changed for it."""

    group: str  # set that the run was gathered with
    source: str  # its address
    status: str  # status of the answer
    cause: str  # leading cause
    said: float  # its share by the weights of rules, 0 to 1
    right: bool  # whether the label or a cause that its labeller accepts; of a sound run nothing is


def read_answers(path: Path) -> list[Answer]:
    """The answers of a table.

    Raises:
        InputError: A line is none, or tells of a cause or a status that does not exist.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    if not rows or tuple(rows[0]) != COLUMNS:
        raise InputError(f"{path}:1: expected the columns {', '.join(COLUMNS)}")
    return [_answer(row, f"{path}:{number}") for number, row in enumerate(rows[1:], 2)]


def _answer(row: Sequence[str], where: str) -> Answer:
    try:
        group, source, status, cause, said, right = row
        share = float(said)
    except ValueError:
        raise InputError(f"{where}: expected {len(COLUMNS)} columns, the share a number") from None
    if (
        status not in STATUSES
        or cause not in catalogue()
        or not 0.0 <= share <= 1.0
        or right not in {"0", "1"}
    ):
        raise InputError(f"{where}: expected a status, a known cause, a share of 0 to 1 and 0 or 1")
    return Answer(group, source, status, cause, share, right == "1")


def fit(answers: Sequence[Answer]) -> Calibration:
    """The numbers that make the answers likeliest, less the ridge."""
    entries = catalogue()
    statuses = sorted({answer.status for answer in answers})
    families = sorted({entries[answer.cause].family for answer in answers})
    columns = [np.array([logit(answer.said) for answer in answers])]
    columns += [np.array([float(answer.status == name) for answer in answers]) for name in statuses]
    columns += [
        np.array([float(entries[answer.cause].family == name) for answer in answers]) for name in families
    ]
    columns.append(columns[0] * np.array([answer.status != FAILED for answer in answers]))
    weights = _logistic(np.column_stack(columns), np.array([float(answer.right) for answer in answers]))
    offsets = [round(float(weight), 3) for weight in weights]
    first = 2 + len(statuses)
    return Calibration(
        intercept=offsets[0],
        slope=offsets[1],
        statuses=dict(zip(statuses, offsets[2:first], strict=True)),
        families=dict(zip(families, offsets[first:-1], strict=True)),
        softer=offsets[-1],
        answers=len(answers),
    )


def _logistic(inputs: Values, right: Values) -> Values:
    """Intercept, slope and offsets; the first two bear no penalty, and a higher share is never worth less."""

    def cost(weights: Values) -> tuple[float, Values]:
        score = inputs @ weights[1:] + weights[0]
        off = 1.0 / (1.0 + np.exp(-score)) - right
        slope = np.concatenate([[off.sum()], inputs.T @ off])
        slope[2:] += RIDGE * weights[2:]
        loss = np.logaddexp(0.0, score) - right * score
        return float(loss.sum() + 0.5 * RIDGE * np.square(weights[2:]).sum()), slope

    start = np.zeros(inputs.shape[1] + 1)
    bounds = [(None, None), (0.0, None), *[(None, None)] * (len(start) - 2)]
    return np.asarray(minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds).x)


def held_out(answers: Sequence[Answer]) -> list[float]:
    """What each answer is told at by numbers that were fitted without its set."""
    entries = catalogue()
    fitted = {
        group: fit([answer for answer in answers if answer.group != group])
        for group in {answer.group for answer in answers}
    }
    return [fitted[a.group].told(a.said, a.status, entries[a.cause].family) for a in answers]


def fit_with_proof(answers: Sequence[Answer]) -> Calibration:
    """The numbers, with what they reach on sets held out."""
    told = held_out(answers)
    pairs = [(said, answer.right) for said, answer in zip(told, answers, strict=True)]
    groups = sorted({answer.group for answer in answers})
    of_group = {name: [p for p, a in zip(pairs, answers, strict=True) if a.group == name] for name in groups}
    rng = np.random.default_rng(0)
    errors = [
        calibration_error(
            [pair for i in rng.integers(len(groups), size=len(groups)) for pair in of_group[groups[i]]]
        )
        for _ in range(RESAMPLES)
    ]
    sure = [right for said, right in pairs if said >= LIKELY]
    return fit(answers)._replace(
        error=round(calibration_error(pairs), 3),
        error_low=round(float(np.quantile(errors, 1 - SURE)), 3),
        error_high=round(float(np.quantile(errors, SURE)), 3),
        error_by_hand=round(calibration_error([(a.said, a.right) for a in answers]), 3),
        sure=len(sure),
        sure_right=round(sum(sure) / len(sure), 3) if sure else 0.0,
    )
