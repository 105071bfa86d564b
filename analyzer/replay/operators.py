"""Find the operator at which something stops being finite, forward or backward, and judge it.

Every aten operator of a step passes through ``OperatorWatch``. Not every infinity is a fault:

* masks are full of ``-inf`` or of the smallest number of their format on purpose, and so are scores with a mask
  added: ``-inf`` counts only where no input is such a mask; NaN made of a mask counts (a fully masked row);
* memory that is not initialised holds anything: operators that only reserve it are passed over;
* constants are as their author wrote them.

The operator found is computed once more in float64 on the CPU from the same inputs. If that result fits into the
output's format, the values were sound and the kernel is wrong; if not, the format is too small.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from analyzer.model.float_formats import LARGEST
from analyzer.record import dataclass, field
from analyzer.replay.hooks import plain_name
from analyzer.replay.numbers import describe, dtype_of, full_row, real_numbers, tensors_in

_RESERVE = ("empty", "new_empty", "resize", "set_")
_UNCHANGED = (
    "full",
    "new_full",
    "scalar_tensor",
    "lift_fresh",
    "triu",
    "tril",
    "arange",
    "detach",
    "alias",
    "view",
)
_OVERWRITE = frozenset(
    {"copy_", "fill_", "zero_", "normal_", "uniform_", "random_", "bernoulli_", "exponential_"}
)
MAX_COPY_ELEMENTS = 1 << 24
"""Operands of in-place operators are copied up to here, to be able to judge the operator afterwards."""

FITS = 0.99
"""A reference result is taken to fit the format up to this part of its largest number: beyond it rounding decides."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The operator whose inputs are sound and whose output is not."""

    op: str  # name such as ``aten.mm.default``
    direction: str  # fwd or bwd
    index: int  # 0-based number of the operator in the step
    # qualified name of the innermost module; of a backward operator, the one whose forward made it
    module: str
    site: str  # ``file:line`` of the innermost frame outside torch
    inputs: tuple[dict[str, Any], ...]  # columns of each floating-point input
    outputs: tuple[dict[str, Any], ...]  # columns of each floating-point output
    # largest magnitude of the result in float64; None if it could not be computed
    reference_absmax: float | None = None
    reference_nonfinite: bool | None = None  # whether that result holds NaN or infinities
    kernel_wrong: bool | None = None  # whether that result fits into the output's format
    masked_rows: int | None = None  # of a softmax: rows in which every score is masked

    @property
    def largest_input(self) -> float:
        """Largest finite magnitude that went in; 0 if nothing did."""
        return max((columns.get("absmax") or 0.0 for columns in self.inputs), default=0.0)


@dataclass(slots=True)
class _Flags:
    """What kinds of values occur in some tensors."""

    bad: bool = False
    masked: bool = False
    tensors: list[torch.Tensor] = field(default_factory=list)


class OperatorWatch(TorchDispatchMode):  # type: ignore[misc, unused-ignore]  # torch may be absent when types are checked
    """Watch the operators of one step until the first fault."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.origin: Origin | None = None
        self.count = 0
        self._stack: list[str] = []
        self._entered = False
        self._made_by: dict[int, tuple[str, str]] = {}
        self._handles = []
        for name, module in model.named_modules():
            enter = self._entering(plain_name(name))
            self._handles.append(module.register_forward_pre_hook(enter))
            self._handles.append(module.register_forward_hook(self._leaving, always_call=True))

    def _entering(self, name: str) -> Any:
        def enter(_module: torch.nn.Module, _args: Any) -> None:
            self._entered = True
            self._stack.append(name)

        return enter

    def _leaving(self, _module: torch.nn.Module, _args: Any, _output: Any) -> None:
        if self._stack:
            self._stack.pop()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        for handle in self._handles:
            handle.remove()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run one operator and look at what comes out."""
        del types
        kwargs = kwargs or {}
        name = func._schema.name.rpartition("::")[2]  # noqa: SLF001
        if (
            self.origin is not None
            or name.startswith(_RESERVE)
            or name in _UNCHANGED
            or _is_deliberate(args, kwargs)
        ):
            self.count += 1
            return func(*args, **kwargs)
        where = self._where()
        before = _inputs_before(func, name, args, kwargs)
        output = func(*args, **kwargs)
        self.count += 1
        outputs = list(tensors_in(output))
        if "attention" in name or "attn" in name:
            outputs = outputs[:1]  # the others are sums of a mask's rows and random states
        if any(not bool(torch.isfinite(real_numbers(tensor)).all()) for tensor in outputs):
            self._judge(func, before, outputs, where, kwargs)
        return output

    def _where(self) -> tuple[str, str, str]:
        """Direction, module and site of the operator that runs now."""
        node = torch._C._current_autograd_node()  # noqa: SLF001
        if node is not None:
            module, site = self._made_by.get(node._sequence_nr(), ("", ""))  # noqa: SLF001
            return "bwd", module, site
        outside = "loss" if self._entered else ""  # what is computed of the model's output
        module, site = self._stack[-1] if self._stack else outside, _site()
        # the node that autograd has just made for this operator has the number before the next
        self._made_by[torch._C._autograd._get_sequence_nr() - 1] = (module, site)  # noqa: SLF001
        return "fwd", module, site

    def _judge(
        self,
        func: Any,
        before: Any,
        outputs: list[torch.Tensor],
        where: tuple[str, str, str],
        kwargs: dict[str, Any],
    ) -> None:
        args, sources = before
        given = _flags(sources)
        if given.bad or not any(_is_fault(tensor, masked=given.masked) for tensor in outputs):
            return
        direction, module, site = where
        reference = _reference(func, args, kwargs)
        absmax, nonfinite = _extent(reference)
        limit = LARGEST.get(dtype_of(outputs[0]))
        wrong = None
        if absmax is not None and limit is not None:
            wrong = not nonfinite and absmax < FITS * limit
        self.origin = Origin(
            op=str(func),
            direction=direction,
            index=self.count - 1,
            module=module,
            site=site,
            inputs=tuple(_columns(tensor) for tensor in sources),
            outputs=tuple(_columns(tensor) for tensor in outputs),
            reference_absmax=absmax,
            reference_nonfinite=nonfinite,
            kernel_wrong=wrong,
            masked_rows=_masked_rows(func, sources),
        )


def _columns(tensor: torch.Tensor) -> dict[str, Any]:
    """Columns of one operand; ``inf_signs`` tells masks (only "-") from overflow."""
    values = real_numbers(tensor)
    signs = [
        sign
        for sign, seen in (("+", torch.isposinf(values)), ("-", torch.isneginf(values)))
        if bool(seen.any())
    ]
    return describe(tensor) | full_row(tensor) | {"inf_signs": signs}


def _is_deliberate(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a constant among the arguments is not finite: what comes out is what the author asked for."""
    constants = [value for value in (*args, *kwargs.values()) if isinstance(value, float)]
    return any(value != value or abs(value) == float("inf") for value in constants)  # noqa: PLR0124


def _is_fault(tensor: torch.Tensor, *, masked: bool) -> bool:
    values = real_numbers(tensor)
    if bool(torch.isnan(values).any()) or bool(torch.isposinf(values).any()):
        return True
    return bool(torch.isneginf(values).any()) and not masked


def _flags(sources: list[torch.Tensor]) -> _Flags:
    found = _Flags(tensors=sources)
    for tensor in sources:
        values = real_numbers(tensor)
        found.bad = found.bad or bool((torch.isnan(values) | torch.isposinf(values)).any())
        found.masked = found.masked or bool((values <= torch.finfo(values.dtype).min).any())
    return found


def _inputs_before(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Positional arguments and their tensors, copied where the operator changes them."""
    if func._schema.is_mutable:  # noqa: SLF001
        args = tuple(_copied(value) for value in args)
    sources = list(_operands(args[1:] if name in _OVERWRITE else args))
    return args, [*sources, *_operands({k: v for k, v in kwargs.items() if k != "out"}.values())]


def _copied(value: Any) -> Any:
    is_small = isinstance(value, torch.Tensor) and value.numel() <= MAX_COPY_ELEMENTS
    return value.clone() if is_small else value


def _operands(values: Any) -> Iterator[torch.Tensor]:
    for value in values:
        yield from tensors_in(value)


def _reference(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The operator's result in float64 on the CPU; None if it has no such form."""
    try:
        with torch.no_grad():
            return func(*(_widened(value) for value in args), **{k: _widened(v) for k, v in kwargs.items()})
    except (RuntimeError, TypeError, ValueError, NotImplementedError):
        return None


def _widened(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        return value.double() if value.is_floating_point() else value
    if isinstance(value, torch.dtype) and value.is_floating_point:
        return torch.float64
    if isinstance(value, torch.device):
        return torch.device("cpu")
    if isinstance(value, list):
        return [_widened(item) for item in value]
    return value


def _extent(reference: Any) -> tuple[float | None, bool | None]:
    """Largest finite magnitude, and whether anything is not finite."""
    first = next(tensors_in(reference), None)
    if first is None:
        return None, None
    values = first.detach().double()
    finite = torch.isfinite(values)
    return float(torch.where(finite, values.abs(), 0).amax()), not bool(finite.all())


def _masked_rows(func: Any, sources: list[torch.Tensor]) -> int | None:
    """Rows of a softmax's input in which every score is -inf or the smallest number of the format."""
    if "softmax" not in str(func) or "backward" in str(func) or not sources or sources[0].dim() < 1:
        return None
    scores = real_numbers(sources[0])
    return int((scores <= torch.finfo(scores.dtype).min).all(dim=-1).sum())


def _site() -> str:
    """``file:line`` of the innermost frame that belongs neither to torch nor to the recorder."""
    frame = sys._getframe(2)  # noqa: SLF001
    for _ in range(80):
        if frame is None:
            return ""
        path = frame.f_code.co_filename.replace("\\", "/")
        if "/torch/" not in path and "analyzer/replay/" not in path and not path.startswith("<"):
            return f"{path.rpartition('/')[2]}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return ""
