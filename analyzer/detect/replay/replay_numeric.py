"""Facts of the numeric part of a replay trace: the first bad tensor, what went in, how far the limit was."""

from __future__ import annotations

import math
import re

import numpy as np

from analyzer.detect.base import FactWriter, RunView
from analyzer.detect.replay.replay_origin import Course, Origin, origins
from analyzer.model.arrays import Mask
from analyzer.model.float_formats import LARGEST
from analyzer.model.ranked import distinct_of
from analyzer.model.refs import SourceRef
from analyzer.model.replay import TEXT_FORMATS, ReplayTable
from analyzer.model.tables import NULL_INT

NEAR_LIMIT = 0.5
"""Half of the largest number: one doubling overflows."""

FAR_BELOW_LIMIT = 0.01
NARROW_LIMIT = 1e6
"""Formats that end below this (fp16, fp8) overflow in ordinary training; bf16 and fp32 do not."""

BEYOND_FLOAT32 = 1e18
"""A number whose square leaves the range of float32 and bfloat16 (3.4e38), which norms and optimizers take."""

ANCHORED_FROM = 2
"""Ranks recorded from which on it means something that one of them alone is bad."""

STANDING_STEPS = 20
"""Bad steps in a row from which on no search for a loss scale explains them: it halves 16 times at most."""

GOOD_POINTS = 5

_PASSES = {
    "fwd": "forward",
    "bwd": "backward",
    "opt": "optimizer",
    "comm": "communication",
    "param": "parameters",
}
_FAMILIES = (
    ("loss", re.compile(r"(?i)loss|criterion|cross_?entropy|nll|kl_?div")),
    ("attention", re.compile(r"(?i)attn|attention|softmax|sdpa|scaled_dot")),
    ("norm", re.compile(r"(?i)norm|(?:^|\.)ln_?\d?(?:$|\.)|rsqrt")),
    ("embedding", re.compile(r"(?i)embed|(?:^|\.)w[tp]e(?:$|\.)")),
    ("mlp", re.compile(r"(?i)mlp|ffn|feed_?forward|fc\d?|gate_proj|up_proj|down_proj|dense")),
)
_LINEAR = re.compile(r"(?i)linear|conv|dense")
_PRODUCTS = re.compile(r"(?i)(?:^|[.:])(?:\w{0,20}linear\w{0,20}|\w{0,5}mm|matmul|conv\w{0,20})(?:$|[.:])")
_UNSAFE = re.compile(
    r"(?i)(?:^|[.:_])(?:r?sqrt|log\d{0,2}p?|pow|div|reciprocal|norm|acos|asin|atan2|xlogy|std|var)(?:$|[.:_])"
)


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.replay.*`` of the measured rows."""
    table = view.once(measured)
    if not len(table):
        return
    refs = [table.ref(0)]
    out.put("seen", value=True, refs=refs)
    out.put("rows", len(table) + table.dropped, refs)
    out.put("ranks", int(distinct_of(table["rank"]).size), refs)
    out.put("steps", int(distinct_of(table["step"]).size), refs)
    courses = view.once(courses_of)
    first = view.once(first_course)
    _limits(out, table)
    _gradients(out, table)
    bad_known = bool((table["nonfinite"] >= 0).any())
    if first is None or first.origin is None:
        out.put("nonfinite", value=False if bad_known else None, refs=refs)
        return
    origin = first.origin
    refs = [table.ref(origin.row)]
    out.put("nonfinite", value=True, refs=refs)
    out.put("recovered", all(course.recovered for course in courses.values() if course.origin), refs)
    _place(out, table, origin, refs)
    ratio = _size(out, table, origin, refs)
    out.put("origin", _sentence(table, origin, ratio), refs)
    _ranks(out, table, courses, first, refs)
    out.put("harmful", view.once(harmful), refs)


def measured(view: RunView) -> ReplayTable:
    """Rows of recordings; for single statements of a log there are events, for reruns other facts."""
    whole = view.run.replay
    if not len(whole):
        return whole
    rows = whole.take(~(whole.mask("source_format", *TEXT_FORMATS) | whole.mask("pass", "rerun")))
    return rows.take(~_seen_better(rows))


def _seen_better(table: ReplayTable) -> Mask:
    """Rows of hooks about steps that were replayed operator by operator, if the replay shows the fault as well."""
    replayed = table.mask("source_format", "torch_dispatch")
    again = distinct_of(table["step"][replayed & (table["nonfinite"] == 1)])
    seen: Mask = table.mask("source_format", "torch_hooks") & np.isin(table["step"], again)
    return seen


def courses_of(view: RunView) -> dict[int, Course]:
    """What each rank's rows say; ``NULL_INT`` stands for rows without a rank."""
    return origins(view.once(measured))


def first_course(view: RunView) -> Course | None:
    """Course of the rank on which the first bad tensor arose, None if no tensor is bad."""
    table = view.once(measured)
    found = [course for course in view.once(courses_of).values() if course.origin is not None]
    return min(found, key=lambda course: _order(table, course), default=None)


def harmful(view: RunView) -> bool | None:
    """Whether the bad tensor did harm; None where only the log can tell (a loss scale that is being searched)."""
    table, course = view.once(measured), view.once(first_course)
    if course is None or course.origin is None:
        return None
    origin = course.origin
    good = None if origin.step is None else _went_on_well(view, origin.step)
    if course.recovered or good:
        return False
    if course.direction == "bwd":
        bad_steps = distinct_of(
            table["step"][(table["nonfinite"] == 1) & (table["step"] >= origin.step_or_first)]
        )
        return True if bad_steps.size >= STANDING_STEPS else None
    return None if good is None and origin.step is not None else True


def _went_on_well(view: RunView, step: int) -> bool | None:
    """Whether the log shows good losses and good gradients well beyond a step; None if the gradients are not known."""
    loss, norm = view.curve("loss"), view.curve("grad_norm")
    if loss is None:
        return False
    after = loss.value[loss.step > step]
    if after.size < GOOD_POINTS or not (np.isfinite(after) & (after != 0)).all():
        return False
    norms = np.zeros(0) if norm is None else norm.value[norm.step > step]
    if not np.isfinite(norms).all():
        return False
    return True if norms.size >= GOOD_POINTS else None


def _order(table: ReplayTable, course: Course) -> tuple[bool, int, int, int, int]:
    """Who was first: a lasting fault before one that passed, then step, device time, order of execution, rank."""
    row = course.origin.row if course.origin else 0
    start = int(table["start_ns"][row])
    late = 2**62 if start == NULL_INT else start
    return (course.recovered, int(table["step"][row]), late, int(table["seq"][row]), int(table["rank"][row]))


def _place(out: FactWriter, table: ReplayTable, origin: Origin, refs: list[SourceRef]) -> None:
    row = origin.row
    exact = origin.how in {"call", "mask", "unknown_inputs"}
    op = table.text("op", row) if exact else None
    kind = table.text("module_type", row) if exact else None
    direction = table.text("pass", row) or ""
    out.put("first_module", "loss" if origin.how == "loss" else origin.module, refs)
    out.put("first_op", op, refs)
    out.put("first_pass", _PASSES.get(direction, direction or None), refs)
    out.put("first_dtype", table.text("dtype", row), refs)
    out.put("first_step", origin.step, refs)
    out.put("first_family", _family(origin, op, kind), refs)
    if origin.how != "unknown_inputs":
        out.put("inputs_finite", origin.how in {"call", "between", "loss"}, refs)
    out.put("masked_row", _masked(origin, table), refs)
    out.put("weights_nonfinite", origin.how == "weights", refs)
    if origin.how == "weights":
        out.put("bad_parameter", table.text("tensor_name", row) or origin.module, refs)
    huge = _huge_parameter(table, origin)
    if huge is not None:
        out.put("huge_parameter", table.text("tensor_name", huge), [table.ref(huge)])
    out.put("batch_nonfinite", origin.how == "input" and direction == "fwd", refs)
    out.put("forward_nonfinite", direction == "fwd", refs)
    if op:
        out.put("unsafe_math", _UNSAFE.search(op) is not None, refs)


def _huge_parameter(table: ReplayTable, origin: Origin) -> int | None:
    """The row of a finite parameter whose squares leave the range of float32, in the step of the origin."""
    rows = np.flatnonzero(
        table.mask("pass", "param") & (table["nonfinite"] == 0) & (table["absmax"] > BEYOND_FLOAT32)
    )
    at_step = [int(row) for row in rows if table.integer("step", int(row)) == origin.step]
    return next(
        (row for row in at_step if table.text("module", row) == origin.module),
        at_step[0] if at_step else None,
    )


def _family(origin: Origin, op: str | None, kind: str | None) -> str:
    """What sort of place it is, by its innermost name first; a projection of attention is no attention."""
    if origin.how == "loss":
        return "loss"
    path = origin.module.split(".") if origin.module else []
    inner = [op, kind, *path[-1:]]
    outer = [] if op is None and kind is not None and _LINEAR.search(kind) else list(reversed(path[:-1]))
    for name in [*inner, *outer]:
        for family, pattern in _FAMILIES:
            if name and pattern.search(name):
                return family
    return "other"


def _masked(origin: Origin, table: ReplayTable) -> bool | None:
    """Whether a softmax had nothing to attend to; unknown where hooks see only that NaN arose inside attention."""
    if origin.how == "mask":
        return True
    counted = table.noted(origin.row).get("fully_masked_rows")
    if isinstance(counted, int):
        return counted > 0
    inside = _family(origin, table.text("op", origin.row), None) == "attention"
    overflow = table.integer("nan_count", origin.row) == 0
    return None if inside and not overflow else False


def _sentence(table: ReplayTable, origin: Origin, ratio: float | None) -> str:
    row = origin.row
    op = table.text("op", row)
    where = origin.module or op or "the first recorded tensor"
    if origin.how == "loss":
        return "the gradient that comes from the loss is not finite, while the model's output is: the loss makes it"
    if origin.how == "weights" and table.text("tensor_name", row):
        return f"parameter {table.text('tensor_name', row)} ({table.text('dtype', row)}) {_verb(table, row)} before the step began"
    what = table.text("tensor_role", row) or "tensor"
    dtype = table.text("dtype", row)
    inside = f" in {op}" if op and origin.module else ""
    if origin.how == "between":
        what, inside = "result", " outside its recorded sub-modules"
    text = f"{where}{inside}: {what}{f' ({dtype})' if dtype else ''} {_verb(table, row)}"
    inputs = [
        r
        for r in origin.arguments
        if (table.text("tensor_role", r) or "").startswith(("input", "output", "grad"))
    ]
    largest = _absmax(table, inputs)
    if largest is None:
        return text
    close = ratio is not None and ratio > NEAR_LIMIT
    return f"{text}, input absmax {largest:.5g}{f', {ratio:.2g}x the limit of {dtype}' if close else ''}"


def _verb(table: ReplayTable, row: int) -> str:
    nans, infs = table.integer("nan_count", row), table.integer("inf_count", row)
    if nans == 0:
        unsafe = _UNSAFE.search(
            table.text("op", row) or ""
        )  # log(0) and 1/0 are infinite without being too large
        return "became infinite" if unsafe else "overflowed to infinity"
    return "became NaN" if nans and not infs else "is not finite"


def _magnitude(table: ReplayTable, row: int) -> float | None:
    """Largest magnitude of a tensor; a mask that holds exactly the lowest number of its format has none."""
    value = table.number("absmax", row)
    return None if value == LARGEST.get(table.text("dtype", row) or "") else value


def _absmax(table: ReplayTable, rows: tuple[int, ...] | list[int]) -> float | None:
    known = [value for row in rows if (value := _magnitude(table, row)) is not None]
    return max(known, default=None)


def _size(out: FactWriter, table: ReplayTable, origin: Origin, refs: list[SourceRef]) -> float | None:
    """How large the inputs, or their product, were against the limit of the result's format; that ratio."""
    row, arguments = origin.row, origin.arguments
    weights = [r for r in arguments if (table.text("tensor_role", r) or "").startswith(("weight", "bias"))]
    inputs = [r for r in arguments if r not in weights]
    largest, weight = _absmax(table, inputs), _absmax(table, weights)
    limit = LARGEST.get(table.text("dtype", row) or "", math.nan)
    narrow = limit < NARROW_LIMIT
    out.put("narrow_format", narrow if math.isfinite(limit) else None, refs)
    share = None if largest is None else largest / limit
    factors = sorted((v for r in arguments if (v := _magnitude(table, r)) is not None), reverse=True)[:2]
    is_product = _is_product(table, origin)
    scores = _family(origin, table.text("op", row), table.text("module_type", row)) == "attention"
    if (is_product or scores) and len(factors) > 1:
        share = math.prod(factors) / limit
    bound = _bound(table, origin) if is_product else None
    noted = table.noted(row)
    reference, wrong = noted.get("reference_absmax"), noted.get("kernel_wrong")
    if isinstance(reference, int | float):  # the operator was computed again in float64
        share = float(reference) / limit
    out.put("limit_ratio", share, refs)
    beyond = not narrow and max(largest or 0.0, weight or 0.0) > BEYOND_FLOAT32
    out.put("beyond_float32", beyond if math.isfinite(limit) else None, refs)
    if beyond:  # its squares overflow inside the operator, so that a result that fits accuses no kernel
        out.put("result_impossible", value=False, refs=refs)
        out.put("overflowed", value=True, refs=refs)
        return share if share is not None and math.isfinite(share) else None
    if isinstance(wrong, bool):
        out.put("result_impossible", wrong, refs)
    elif bound is not None and math.isfinite(limit):
        out.put("result_impossible", bound < limit, refs)
    out.put(
        "overflowed", _overflowed(table, row, share, narrow=narrow) if math.isfinite(limit) else None, refs
    )
    return share if share is not None and math.isfinite(share) else None


def _is_product(table: ReplayTable, origin: Origin) -> bool:
    names = (table.text("op", origin.row), table.text("module_type", origin.row))
    return origin.how == "call" and any(name and _PRODUCTS.search(name) for name in names)


def _overflowed(table: ReplayTable, row: int, share: float | None, *, narrow: bool) -> bool | None:
    """Whether the result left the range of its format, as against NaN made of ordinary numbers; None if unknown."""
    nans = table.integer("nan_count", row)
    if share is not None and share > NEAR_LIMIT:
        return True
    if not narrow:
        return False if share is not None else None
    if nans == 0 or (table.integer("inf_count", row) or 0) > 0:
        return True
    return False if share is not None and share < FAR_BELOW_LIMIT and nans else None


def _bound(table: ReplayTable, origin: Origin) -> float | None:
    """Upper bound of a matrix product of what went in: terms x largest input x largest weight; None if unknown."""
    if (
        table.text("pass", origin.row) != "fwd"
        or "conv" in (table.text("module_type", origin.row) or "").lower()
    ):
        return None
    by_role = {table.text("tensor_role", r) or "": r for r in origin.arguments}
    left = by_role.get("input[0]")
    right = by_role.get("weight", by_role.get("input[1]"))
    op = table.text("op", origin.row) or ""
    if left is None or right is None or "addmm" in op or "baddbmm" in op:
        return None
    sizes, values = table.sizes("shape", left), (table.number("absmax", left), table.number("absmax", right))
    if not sizes or values[0] is None or values[1] is None:
        return None
    bias = by_role.get("bias")
    offset = table.number("absmax", bias) if bias is not None else 0.0
    return None if offset is None else sizes[-1] * values[0] * values[1] + offset


def _ranks(
    out: FactWriter, table: ReplayTable, courses: dict[int, Course], first: Course, refs: list[SourceRef]
) -> None:
    origin = first.origin
    if origin is None or origin.rank is None:
        return
    out.put("first_rank", origin.rank, refs)
    known = [rank for rank in courses if rank != NULL_INT]
    if len(known) < ANCHORED_FROM:
        return
    step = table["step"]
    at_step = {int(rank) for rank in distinct_of(table["rank"][step == step[origin.row]])}
    if len(at_step) < ANCHORED_FROM:
        return
    made_here = [
        rank
        for rank, course in courses.items()
        if course.origin is not None and course.direction != "comm" and course.origin.how != "input"
        and step[course.origin.row] == step[origin.row]
    ]  # fmt: skip
    out.put("one_rank_only", len(made_here) == 1, refs)


def _limits(out: FactWriter, table: ReplayTable) -> None:
    """How close finite tensors came to the limit of a narrow format."""
    limits = np.array([LARGEST.get(text, np.nan) for text in table.texts])[table["dtype"]]
    # exactly the limit: a mask of the format's lowest number, or a cast that saturates
    forward = table.mask("pass", "fwd") & (limits < NARROW_LIMIT) & (table["absmax"] != limits)
    share = np.where(forward, table["absmax"] / limits, np.nan)
    # an infinite tensor has passed the limit, whatever its finite elements are
    infinite = forward & (table["nonfinite"] == 1) & ((table["inf_count"] > 0) | (table["nan_count"] == 0))
    share = np.where(infinite, 1.0, share)
    if np.isfinite(share).any():
        row = int(np.nanargmax(share))
        out.put("limit_share", float(share[row]), [table.ref(row)])
    overflow = table["overflow_frac"]
    if np.isfinite(overflow).any():
        row = int(np.nanargmax(overflow))
        out.put("overflow_share", float(overflow[row]), [table.ref(row)])


def _gradients(out: FactWriter, table: ReplayTable) -> None:
    """Gradients lost to underflow, and those that flow into single rows of an embedding."""
    share = table["underflow_frac"]
    known = table.mask("pass", "bwd") & np.isfinite(share)
    if known.any():
        rows = np.flatnonzero(known)
        sizes = np.where(table["numel"][rows] > 0, table["numel"][rows], 1).astype(np.float64)
        out.put(
            "gradient_underflow_share",
            float(np.average(share[rows], weights=sizes)),
            [table.ref(int(rows[0]))],
        )
    _special_rows(out, table)


_ROW_ROLE = re.compile(r"param_grad_row\[(\d{1,12})\]")


def _special_rows(out: FactWriter, table: ReplayTable) -> None:
    """Of each embedding's gradient, the share of squares in the rows that the recorder watched."""
    watched = {code for code, text in enumerate(table.texts) if _ROW_ROLE.fullmatch(text)}
    if not watched:
        return
    rows = np.flatnonzero(np.isin(table["tensor_role"], list(watched)))
    whole = {
        (int(table["step"][r]), int(table["module"][r]), int(table["rank"][r])): table.number(
            "l2norm", int(r)
        )
        for r in np.flatnonzero(table.mask("tensor_role", "param_grad"))
    }
    best: tuple[float, int] | None = None
    for row in rows.tolist():
        total = whole.get((int(table["step"][row]), int(table["module"][row]), int(table["rank"][row])))
        part = table.number("l2norm", row)
        if total and part is not None and (best is None or part / total > best[0]):
            best = (part / total, row)
    if best is None:
        return
    ratio, row = best
    refs = [table.ref(row)]
    out.put("special_row_gradient_share", min(ratio * ratio, 1.0), refs)
    out.put("special_row", table.text("tensor_name", row) or table.text("tensor_role", row), refs)
