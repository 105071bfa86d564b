"""What the classifier says of a run: facts, with the points that speak for it; silent wherever it should not speak.

It speaks for training curves of supervised learning that are long enough and lie within what it was trained on.
"""

from __future__ import annotations

import math

import numpy as np

from analyzer.detect.base import FactWriter, RunView
from analyzer.detect.setup.run_course import reward_metrics
from analyzer.detect.shapes.classes import shape_named
from analyzer.detect.shapes.features import FEATURES, features, refs_of
from analyzer.detect.shapes.forest import Model, model_in_use
from analyzer.model.arrays import Values
from analyzer.model.labels import HEALTHY
from analyzer.model.refs import SourceRef
from analyzer.record import NamedTuple

MIN_POINTS = 20
"""Runs of the training corpus log 25 points or more, cut ones 14; fewer show no course to compare with them."""

MAX_BITS = 3.0
"""The classifier can tip a balance (8:1) and never overrules evidence."""

REASONS = 3
"""Features named as reasons; more is read by nobody."""


class Answer(NamedTuple):
    """What was found for one run."""

    shape: str | None  # the one class that cannot be excluded; None if there are several or none
    members: tuple[str, ...]  # classes that cannot be excluded, the likeliest first
    probability: float  # calibrated probability of the likeliest class
    best: str  # that class
    outside: float  # share of the known features outside the range of nearly all training runs
    within: bool  # whether that share is as small as it is of the runs of training
    # evidence for the likeliest class, log2 of posterior odds over prior odds, at most ``MAX_BITS``
    bits: float
    reasons: tuple[str, ...]  # the features that moved the answer most, in words
    refs: tuple[SourceRef, ...]  # where they can be seen


def answer_of(view: RunView, model: Model | None = None) -> Answer | None:
    """The answer of a model, or of the one in use, for a run; None where the classifier has nothing to say."""
    series = view.curve("loss")
    if series is None or len(series) < MIN_POINTS or reward_metrics(view):
        return None
    model = model_in_use() if model is None else model
    vector = features(view)
    p = model.calibrated(vector)
    members = model.conformal_set(p)
    best = int(p.argmax())
    outside = model.outside_share(vector)
    single = len(members) == 1 and members[0] == model.classes[best] and outside <= model.outside_limit
    reasons, refs = _reasons(view, model, vector, model.classes[best])
    return Answer(
        shape=model.classes[best] if single else None,
        members=members,
        probability=float(p[best]),
        best=model.classes[best],
        outside=outside,
        within=outside <= model.outside_limit,
        bits=min(
            support_bits(float(p[best]), float(model.prior[best])), shape_named(model.classes[best]).most_bits
        ),
        reasons=reasons,
        refs=refs,
    )


def support_bits(probability: float, prior: float) -> float:
    """Bits that an answer adds to its causes: log2 of posterior odds over prior odds, within 0 and ``MAX_BITS``."""
    if probability >= 1.0:
        return MAX_BITS
    odds, before = probability / (1 - probability), prior / (1 - prior)
    return min(MAX_BITS, max(0.0, math.log2(max(odds / before, 1.0))))


def _reasons(
    view: RunView, model: Model, vector: Values, name: str
) -> tuple[tuple[str, ...], tuple[SourceRef, ...]]:
    moved = model.contributions(vector, name)
    chosen = [
        index
        for index in np.argsort(-moved, kind="stable")
        if moved[index] > 0 and math.isfinite(vector[index])
    ][:REASONS]
    words = tuple(FEATURES[index].sentence(float(vector[index])) for index in chosen)
    places = dict.fromkeys(ref for index in chosen for ref in refs_of(view, FEATURES[index])[:1])
    return words, tuple(places)


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``classifier.*``."""
    found = answer_of(view)
    if found is None:
        return
    out.put("answered", found.shape is not None, found.refs)
    out.put("members", ", ".join(found.members) or "none", found.refs)
    out.put("outside_share", found.outside, found.refs)
    if found.shape is not None:
        out.put("shape", found.shape, found.refs)
        out.put("probability", found.probability, found.refs)
        out.put("bits", found.bits if found.shape != HEALTHY else 0.0, found.refs)
        out.put("because", "; ".join(found.reasons), found.refs)
    elif found.within:
        out.put("leans_to", found.best, found.refs)
        out.put("leaning", found.probability, found.refs)
