"""The learning rate against what is usual for the optimizer and the kind of training: a prior, with its sources.

The ranges are wide on purpose: what lies beyond them by a factor is unusual for every model.
"""

from __future__ import annotations

import re

import numpy as np

from analyzer.detect.base import FactWriter, RunView, number
from analyzer.detect.curves.numerics.bad_points import values_beside
from analyzer.lazy_regex import LazyRegex
from analyzer.model.arrays import Values
from analyzer.model.refs import SourceRef
from analyzer.model.tables import Series

ADAPTIVE = LazyRegex(r"adam|rmsprop|nadam|radam|adamax|lamb$|novograd")
PLAIN = LazyRegex(r"(?:^|[._])(?:sgd|momentum|nesterov|nag)(?:$|[._\d])|gradientdescent|momentumoptimizer")
OTHER_UNIT = LazyRegex(
    r"prodigy|dadapt|d-adapt|adadelta|lars|lbfgs|rprop|muon|sophia|lion|adafactor|schedule_?free|adagrad"
)
"""Optimizers whose rate means something else: a factor near 1, layer-wise, a sign, or one that shrinks by itself (Adagrad)."""

RANGES: dict[tuple[str, str], tuple[float, float]] = {
    # Kingma and Ba (arXiv 1412.6980) give 1e-3; large language models are pre-trained at 6e-5 to 6e-4 (arXiv 2005.14165,
    # table 2.1), small networks at up to 1e-2.
    ("adaptive", "scratch"): (1e-5, 1e-2),
    # BERT and RoBERTa are fine-tuned at 1e-5 to 5e-5 (arXiv 1810.04805, A.3; 1907.11692), Llama 2 at 2e-5 (2307.09288);
    # small encoders and T5 up to 1e-3 (1910.10683, section 3.1.2).
    ("adaptive", "tuning"): (2e-7, 1e-3),
    # LoRA: 1e-4 to 2e-3 (arXiv 2106.09685, tables 9 to 13), QLoRA 1e-4 to 2e-4 (2305.14314).
    ("adaptive", "adapter"): (5e-6, 5e-3),
    # Prefixes at 5e-5 (arXiv 2101.00190), P-tuning v2 at 5e-3 to 2e-2 (2110.07602 and ChatGLM's scripts), PEFT's prompts at 3e-2.
    ("adaptive", "prompt"): (2e-5, 5e-2),
    # 0.1 for 256 images with momentum (arXiv 1706.02677), up to 1 without; smaller where batches are small.
    ("plain", "scratch"): (5e-4, 1.0),
    ("plain", "tuning"): (1e-5, 0.1),
    ("plain", "adapter"): (1e-4, 1.0),
    ("plain", "prompt"): (1e-4, 1.0),
    # Nothing is known of the optimizer: above 1 or below 1e-6 is unusual for each of them.
    ("unknown", "scratch"): (1e-6, 1.0),
    ("unknown", "tuning"): (2e-7, 0.1),
    ("unknown", "adapter"): (5e-6, 1.0),
    ("unknown", "prompt"): (2e-5, 1.0),
}

MOMENTUM_ROOM = 5.0
"""Momentum multiplies a step by 1/(1 - m): 0.1 at 0.9 is usual, 0.5 is not; without momentum the bound stays."""

EARLY, EARLY_EPOCH = 100, 0.2
"""A log whose first rate is that late may show the tail of a decay only."""

_TUNED = LazyRegex(r"finetun|fine-tun|fine_tun|pretrained|sft")
_TEMPLATE_RATES = ("noam", "inverse_sqrt", "rsqrt")
"""Schedules whose configured rate is a factor, not the rate that is applied."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``config.rate.*``."""
    found = applied_rate(view)
    if found is None:
        return
    rate, refs, whole = found
    family = optimizer_family(view)
    if rate <= 0 or family is None:
        return
    low, high = RANGES[(family, start_of(view))]
    if family == "plain":
        high *= min(1.0, MOMENTUM_ROOM * (1.0 - momentum(view)))
    out.put("value", rate, refs)
    out.put("over_usual", rate / high, refs)
    if whole:
        out.put("under_usual", low / rate, refs)
    out.put("usual_low", low, refs)
    out.put("usual_high", high, refs)


def applied_rate(view: RunView) -> tuple[float, list[SourceRef | None], bool] | None:
    """The largest rate that was logged, else the one that was asked for, and whether it can have been the peak.

    A warm-up that still rises shows no peak, and neither does the tail of a decay.
    """
    entry = view.config("train.learning_rate")
    asked = None if entry is None else number(entry.value)
    schedule = str(view.config_value("train.scheduler") or "").lower()
    if any(word in schedule for word in _TEMPLATE_RATES):
        asked = None
    curve = view.curve("learning_rate")
    known = np.zeros(0) if curve is None else np.where(np.isfinite(curve.value), curve.value, 0.0)
    if curve is None or not known.size or float(known.max()) <= 0:
        return None if asked is None or entry is None else (asked, [entry.ref], True)
    top = int(known.argmax())
    rises = _still_rises(known)
    if asked is not None and (rises or asked > known[top]):
        return asked, [curve.ref(top)], True
    decays = top == 0 and known.size > 1 and bool(known[-1] < known[0])
    begins = curve.step_at(0)
    tail = decays and (begins is None or begins > EARLY or _epoch_at_first(view, curve) > EARLY_EPOCH)
    return float(known[top]), [curve.ref(top)], not rises and not tail


def _still_rises(rates: Values) -> bool:
    """Whether the last rates are the highest and stand no longer than a step on the way: few digits turn a rise into stairs.

    >>> _still_rises(np.array([0.0, 0.0, 0.0, 1e-6, 1e-6])), _still_rises(np.array([0.0, 0.1, 0.2, 0.2, 0.2]))
    (True, False)
    >>> _still_rises(np.array([0.1, 0.1, 0.1, 0.2, 0.2]))
    False
    """
    edges = np.flatnonzero(np.diff(rates)) + 1
    if not edges.size or rates[-1] < rates.max() or rates[-1] <= rates[0]:
        return False
    stairs = np.diff(np.concatenate(([0], edges, [rates.size])))
    step = (
        stairs[:-1].max() if edges.size > 1 or not rates[0] else 1
    )  # one leap between two levels is no stair
    return bool(stairs[-1] <= step)


def _epoch_at_first(view: RunView, curve: Series) -> float:
    """Epoch in the row of the first point, 0 if the rows name none."""
    beside = values_beside(view, curve, "epoch")
    return float(beside[1][0]) if beside is not None and beside[0][0] else 0.0


def optimizer_family(view: RunView) -> str | None:
    """``adaptive``, ``plain`` or ``unknown``; None where the rate means something else."""
    name = str(view.config_value("train.optimizer") or "").lower()
    if OTHER_UNIT.search(name):
        return None
    if ADAPTIVE.search(name):
        return "adaptive"
    if PLAIN.search(name):
        return "plain"
    return "adaptive" if view.has_habit("adaptive-optimizer") and not name else "unknown"


def momentum(view: RunView) -> float:
    """The momentum of SGD as configured, 0 where nothing says it."""
    for entry in view.run.config.entries:
        if re.split(r"[./_-]", str(entry.key_in_source).lower())[-1] == "momentum":
            value = number(entry.value)
            if value is not None and 0 <= value < 1:
                return value
    return 0.0


def start_of(view: RunView) -> str:
    """``prompt`` where few learned inputs are all that is trained, ``adapter``, ``tuning`` of a published model, or ``scratch``."""
    if view.setting("pre_seq_len", "num_virtual_tokens", "prefix_projection") is not None:
        return "prompt"
    if view.config("lora.r") is not None:
        return "adapter"
    name = view.config_value("model.name")
    if isinstance(name, str) and name:
        return "tuning"
    if any(_TUNED.search(str(entry.key_in_source).lower()) for entry in view.run.config.entries):
        return "tuning"
    return "scratch"
