"""What reruns of one step say about its cause. Needs no torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from analyzer.record import dataclass

RECORDED, REPEATED = "recorded", "repeated"
FLOAT32, BFLOAT16, MATH_ATTENTION = "float32", "bfloat16", "math_attention"
SCALE = "loss_scale_"

MEANING = {
    "weights": "the weights themselves hold NaN or infinities: the step is not the cause",
    "data": "the batch itself holds NaN or infinities",
    "transient": "the same step gave different results on the same device: a transient fault of the hardware",
    "not_reproduced": "run again in eager mode all is finite: a compiled graph, a fused kernel or state outside the capsule",
    "not_precision": "float32 fails too: the model, the loss or the batch, not the precision",
    "kernel": "the operator's inputs give a finite result in float64 that fits its format: the kernel is wrong",
    "overflow": "values are so large that they leave the range of float32 itself: the tensor that holds them is named",
    "loss_scale": "a smaller loss scale cures it: dynamic loss scaling would find it",
    "precision": "float32 is sound and no loss scale helps: the format's range is too small here",
    "unknown": "the reruns do not agree on one explanation",
}
"""Each verdict in words."""

TOLERANCE = 1e-2
"""Two runs of one step on one device may differ by the order of their sums; a loss that differs by more does not."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One rerun of the step."""

    name: str  # which one
    loss: float | None = None  # its loss; None if there was none
    loss_scale: float = 1.0  # factor of the loss
    forward_bad: bool = False  # whether the loss, or the output where there is none, was not finite
    backward_bad: bool | None = None  # whether a gradient was not finite; None if there was no backward pass
    grad_absmax: float | None = None  # largest finite gradient, without the loss scale
    # whether a module inside had a forward output that was not finite, which the loss may hide; None if nobody looked
    modules_bad: bool | None = None
    error: str = ""  # why it could not be run; empty if it was

    @property
    def is_bad(self) -> bool | None:
        """Whether anything was not finite; None if it could not be run."""
        return None if self.error else self.forward_bad or bool(self.backward_bad) or bool(self.modules_bad)

    def row(self) -> dict[str, Any]:
        """A row of the trace."""
        extra = {
            "loss": self.loss,
            "loss_scale": self.loss_scale,
            "forward_bad": self.forward_bad or bool(self.modules_bad),
            "backward_bad": self.backward_bad,
            "grad_absmax": self.grad_absmax,
            "error": self.error or None,
        }
        return {"pass": "rerun", "op": self.name, "nonfinite": self.is_bad, "extra": extra}


@dataclass(frozen=True, slots=True)
class Judgement:
    """All reruns of a capsule, and what follows."""

    verdict: str  # a key of ``MEANING``
    cured_by: tuple[str, ...] = ()  # reruns in which all was finite
    # largest loss scale in the run's own precision at which all was finite
    largest_good_scale: float | None = None
    repeat_differs: bool | None = None  # whether the same step gave another result

    def row(self, **more: Any) -> dict[str, Any]:
        """A row of the trace; further keywords go into ``extra``."""
        extra = {
            "verdict": self.verdict,
            "cured_by": list(self.cured_by),
            "largest_good_scale": self.largest_good_scale,
            "repeat_differs": self.repeat_differs,
        }
        return {"pass": "rerun", "op": "verdict", "extra": extra | more}


def judge(
    outcomes: Sequence[Outcome],
    *,
    weights_bad: bool = False,
    batch_bad: bool = False,
    kernel_wrong: bool | None = None,
    beyond_float32: bool = False,
) -> Judgement:
    """Decide between precision, loss scale, data, weights, kernel and a transient fault.

    Args:
        outcomes: Reruns; ``recorded`` must be among them.
        weights_bad: The capsule's weights are not finite.
        batch_bad: The capsule's batch is not finite.
        kernel_wrong: See ``Origin.kernel_wrong``.
        beyond_float32: What goes into the first bad operator is so large that its squares leave the range of float32; a
            result that fits proves nothing against the kernel then.
    """
    by_name = {outcome.name: outcome for outcome in outcomes if not outcome.error}
    cured = tuple(
        o.name for o in by_name.values() if o.is_bad is False and o.name not in (RECORDED, REPEATED)
    )
    scales = [o.loss_scale for o in by_name.values() if o.name.startswith(SCALE) and o.is_bad is False]
    differs = _differs(by_name.get(RECORDED), by_name.get(REPEATED))

    def judged(verdict: str) -> Judgement:
        return Judgement(verdict, cured, max(scales, default=None), differs)

    recorded, wide = by_name.get(RECORDED), by_name.get(FLOAT32)
    if weights_bad or batch_bad:
        return judged("weights" if weights_bad else "data")
    if differs:
        return judged("transient")
    if recorded is None:
        return judged("unknown")
    if not recorded.is_bad:  # without a backward pass nothing is known of gradients
        return judged("unknown" if recorded.backward_bad is None else "not_reproduced")
    if beyond_float32 and (wide is None or wide.is_bad):
        return judged("overflow")
    if kernel_wrong or MATH_ATTENTION in cured:
        return judged("kernel")
    if wide is None:
        return judged("unknown")
    if wide.is_bad:
        return judged("not_precision")
    return judged("loss_scale" if scales else "precision")


def _differs(one: Outcome | None, two: Outcome | None) -> bool | None:
    if one is None or two is None:
        return None
    if (one.forward_bad, one.backward_bad) != (two.forward_bad, two.backward_bad):
        return True
    if one.loss is None or two.loss is None or not (math.isfinite(one.loss) and math.isfinite(two.loss)):
        return False
    return abs(one.loss - two.loss) > TOLERANCE * max(abs(one.loss), abs(two.loss), 1e-6)
