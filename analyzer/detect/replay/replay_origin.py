"""Where the first bad tensor of a replay trace was born.

Rows of one step are gathered into calls: one pass through one module or operator, with what went in (inputs,
weights, arriving gradients) and what came out. The origin is the first call with a bad result and no bad
argument; of nested modules the innermost. If a bad argument comes first, its tensor was made where nothing was
recorded: between two modules, by the batch, or by the weights.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

import numpy as np

from analyzer.lazy_regex import LazyRegex
from analyzer.model.arrays import Integers, Mask
from analyzer.model.ranked import distinct_of
from analyzer.model.replay import ReplayTable
from analyzer.model.tables import NULL_INT
from analyzer.record import NamedTuple, dataclass, field

MAX_ROWS_PER_STEP = 300_000

# Operators that write -inf (or whatever the memory held) by design: masks, and memory that is filled later.
_BY_DESIGN = LazyRegex(
    r"(?i)(?:^|[.:_])(?:masked_fill|full|triu|tril|where|empty|scalar_tensor|fill|log_sigmoid_mask)"
)
_SOFTMAX = LazyRegex(r"(?i)softmax|attention|attn|sdpa")
_ARGUMENTS = ("input", "weight", "bias", "grad_output", "opt_state")
_RESULTS = ("output", "grad_input", "param_grad")
_WEIGHTS = ("weight", "bias")


@dataclass(slots=True)
class Call:
    """One pass through one module or operator."""

    module: str | None  # qualified name, None if unknown
    op: str | None  # operator, None for a module as a whole
    direction: str  # fwd, bwd, opt, comm or param
    arguments: list[int] = field(default_factory=list)  # rows that went in
    results: list[int] = field(default_factory=list)  # rows that came out
    seq: int = 0  # order of the first bad result, else of the first row


class Origin(NamedTuple):
    """Where a bad tensor was born."""

    # ``call`` (a call made it of finite inputs), ``unknown_inputs`` (a call made it, of what is unknown), ``between``
    # (inside ``module`` but outside its recorded children), ``input`` (it entered with the batch), ``weights`` (a parameter
    # was bad before), ``mask`` (a row with nothing to attend to), ``loss`` (it came back from what was computed of the
    # model's finite output)
    how: str
    module: str | None  # module that holds the place, None if unknown
    row: int  # the first bad row
    arguments: tuple[int, ...]  # rows known to have gone in, all finite
    step: int | None  # step of the trace, None if unknown
    rank: int | None  # global rank, None if unknown

    @property
    def step_or_first(self) -> int:
        """The step, or a number below every step."""
        return NULL_INT if self.step is None else self.step


class Course(NamedTuple):
    """What one rank's rows say: the origin, and whether later steps were clean again."""

    origin: Origin | None
    recovered: bool
    direction: str = ""


def origins(table: ReplayTable) -> dict[int, Course]:
    """Course of every rank; ``NULL_INT`` stands for rows without a rank."""
    return {int(rank): _course(table, table["rank"] == rank) for rank in distinct_of(table["rank"])}


def bad_rows(table: ReplayTable) -> Mask:
    """Rows, bool of shape (n_rows,), whose tensor is not finite and should be.

    Masks are full of -inf by design, and so are scores with a mask added: such arguments are no fault, nor are
    such results of a call that got such an argument.
    """
    bad: Mask = table["nonfinite"] == 1
    minus = {int(row) for row in np.flatnonzero(bad) if _only_minus_infinity(table, int(row))}
    masked_calls = {_call_key(table, row) for row in minus if _role(table, row).startswith(_ARGUMENTS)}
    for index in np.flatnonzero(bad).tolist():
        handed_on = index in minus and _call_key(table, index) in masked_calls
        if handed_on or _is_mask(table, index):
            bad[index] = False
    return bad


def _role(table: ReplayTable, index: int) -> str:
    return table.text("tensor_role", index) or ""


_CALL = ("rank", "step", "micro_step", "pass", "module", "op", "call_index")


def _call_key(table: ReplayTable, index: int) -> tuple[int, ...]:
    return tuple(int(table[name][index]) for name in _CALL)


def _is_mask(table: ReplayTable, index: int) -> bool:
    op = table.text("op", index)
    return (
        op is not None and _BY_DESIGN.search(op) is not None and (table.integer("nan_count", index) or 0) == 0
    )


def _only_minus_infinity(table: ReplayTable, index: int) -> bool:
    """Whether a bad tensor is known to hold -inf and neither NaN nor +inf, as masked scores do."""
    if table.integer("nan_count", index) != 0:
        return False
    extra = table.text("extra", index) or ""
    if '"inf_signs"' in extra:
        try:
            signs = json.loads(extra).get("inf_signs")
        except (ValueError, AttributeError):
            return False
        return bool(signs == ["-"])
    return table.number("max", index) is not None and table.number("min", index) is None


def _course(table: ReplayTable, of_rank: Mask) -> Course:
    bad = bad_rows(table) & of_rank
    if not bad.any():
        return Course(None, recovered=False)
    steps = table["step"]
    recorded, bad_steps = distinct_of(steps[of_rank]), distinct_of(steps[bad])
    clean = recorded[~np.isin(recorded, bad_steps)]
    last_clean = int(clean[-1]) if clean.size else NULL_INT
    after = bad_steps[bad_steps > last_clean] if clean.size else bad_steps
    recovered = after.size == 0
    step = int(bad_steps[0] if recovered else after[0])
    rows = np.flatnonzero(of_rank & (steps == step))
    rows = rows[np.lexsort((rows, table["seq"][rows]))][:MAX_ROWS_PER_STEP]
    origin = _origin(table, rows, bad)
    return Course(origin, recovered, table.text("pass", origin.row) or "")


def _calls(table: ReplayTable, rows: Iterable[int]) -> list[Call]:
    found: dict[tuple[int, ...], Call] = {}
    for index in rows:
        role = _role(table, index)
        key = _call_key(table, index)
        call = found.get(key)
        if call is None:
            names = (table.text("module", index), table.text("op", index), table.text("pass", index) or "")
            call = found[key] = Call(*names, seq=int(table["seq"][index]))
        if role.startswith(_ARGUMENTS):
            call.arguments.append(index)
        elif role.startswith(_RESULTS):
            call.results.append(index)
    return list(found.values())


def _origin(table: ReplayTable, rows: Integers, bad: Mask) -> Origin:
    first = int(rows[bad[rows]][0])
    calls = _calls(table, (int(row) for row in rows))
    masked = [call for call in calls if _makes_nan_of_masked(table, call, bad)]
    sound = [
        call
        for call in calls
        if any(bad[row] for row in call.results) and not any(bad[row] for row in call.arguments)
    ]
    for call in (*sound, *masked):
        call.seq = min(int(table["seq"][row]) for row in call.results if bad[row])
    inner = _innermost(sound)
    chosen = min((*inner, *masked), key=lambda call: call.seq, default=None)
    earlier = rows[table["seq"][rows] < table["seq"][first]]
    role = _role(table, first)
    argument_first = role.startswith(_ARGUMENTS)
    spoiled = _spoiled_weight(table, rows, bad, None if chosen is None else chosen.module)
    if spoiled is not None:
        return _made(table, "weights", table.text("module", spoiled), spoiled, [])
    if chosen is None:
        return _from_outside(table, first, earlier, role)
    before = argument_first and int(table["seq"][first]) < chosen.seq
    if before and not (chosen.op and _encloses(chosen, first, table)):
        return _from_outside(table, first, earlier, role)
    row = next(row for row in chosen.results if bad[row])
    how = "mask" if chosen in masked else "call"
    if how == "call" and not chosen.arguments and not _same_pass(table, earlier, row).size:
        how = "unknown_inputs"
    known = [row for row in chosen.arguments if not bad[row]]
    return _made(table, how, chosen.module, row, known)


def _spoiled_weight(table: ReplayTable, rows: Integers, bad: Mask, module: str | None) -> int | None:
    """The row of a parameter that was not finite in a step, that of the given module first; None if all were."""
    found = [int(row) for row in rows if bad[row] and table.text("pass", int(row)) == "param"]
    return next((row for row in found if table.text("module", row) == module), found[0] if found else None)


def _makes_nan_of_masked(table: ReplayTable, call: Call, bad: Mask) -> bool:
    """A softmax whose scores hold -inf by design and whose result holds NaN: a row with nothing to attend to."""
    if not _SOFTMAX.search(f"{call.op or ''} {call.module or ''}"):
        return False
    if any(bad[row] for row in call.arguments):
        return False
    held = [
        row for row in call.arguments if table.truth("nonfinite", row) and _only_minus_infinity(table, row)
    ]
    spoiled = [row for row in call.results if bad[row] and table.integer("nan_count", row) != 0]
    return bool(held and spoiled)


def _innermost(calls: list[Call]) -> list[Call]:
    """Calls that enclose no other of the same pass: a module's own entry may stand before those of its children."""
    modules = {(call.direction, call.module) for call in calls if call.module}
    with_operator = {(call.direction, call.module) for call in calls if call.op}
    outer = {
        (direction, module[:cut])
        for direction, module in modules
        for cut in [position for position, letter in enumerate(module) if letter == "."]
    }
    return [
        call
        for call in calls
        if (call.direction, call.module) not in outer
        and (call.module or not any(direction == call.direction for direction, _ in modules) or call.op)
        and (call.op or (call.direction, call.module) not in with_operator)
    ]


def _encloses(call: Call, row: int, table: ReplayTable) -> bool:
    """Whether a call's module holds the module of a row, so that the row is a detail of the call."""
    module = table.text("module", row)
    return bool(
        call.module
        and module
        and module.startswith(f"{call.module}.")
        and table.text("pass", row) == call.direction
    )


def _same_pass(table: ReplayTable, earlier: Integers, row: int) -> Integers:
    same: Mask = table["pass"][earlier] == table["pass"][row]
    return earlier[same]


def _from_outside(table: ReplayTable, first: int, earlier: Integers, role: str) -> Origin:
    module = table.text("module", first)
    if role.startswith(_WEIGHTS) or table.text("pass", first) == "param":
        return _made(table, "weights", module, first, [])
    before = _same_pass(table, earlier, first)
    outputs = [int(row) for row in before if _role(table, int(row)).startswith(_RESULTS)]
    if not outputs:
        return _made(table, "loss" if _came_from_loss(table, earlier, first) else "input", module, first, [])
    parent = module.rpartition(".")[0] if module else None
    inside = [row for row in outputs if parent and (table.text("module", row) or "").startswith(f"{parent}.")]
    return _made(table, "between", parent or module, first, inside or outputs[-4:])


_WIDE = frozenset({"float32", "float64", "bfloat16"})


def _came_from_loss(table: ReplayTable, earlier: Integers, first: int) -> bool:
    """Whether a bad gradient arrives from outside although the forward pass before it was finite.

    In fp16 the scaled gradient of a sound loss may leave the range on its way in, so only a wide format proves it.
    """
    if table.text("pass", first) != "bwd" or table.text("dtype", first) not in _WIDE:
        return False
    forward = [int(row) for row in earlier if table.text("pass", int(row)) == "fwd"]
    return bool(forward) and not any(table.truth("nonfinite", row) for row in forward)


def _made(table: ReplayTable, how: str, module: str | None, row: int, arguments: list[int]) -> Origin:
    return Origin(how, module, row, tuple(arguments), table.integer("step", row), table.integer("rank", row))
