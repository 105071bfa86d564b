"""Statistics that Ascend's msprobe dumps: ``step5/rank0/dump.json``.

    {"task": "statistics", "level": "mix", "framework": "pytorch", "dump_data_dir": null, "data": {
      "Module.layer1.0.conv1.Conv2d.forward.0": {
        "input_args": [{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [8, 3, 32, 32],
                        "Max": 2.64, "Min": -2.43, "Mean": 0.01, "Norm": 141.2, "requires_grad": false}],
        "input_kwargs": {}, "output": [...], "parameters": {"weight": {...}}},
      "Functional.conv2d.0.forward": {...}, "Module.layer1.0.conv1.Conv2d.backward.0": {"input": [...], ...},
      "Module.layer1.0.conv1.Conv2d.parameters_grad": {"weight": [{...}]}}}

The keys stand in the order in which modules and operators began. Of a backward, ``input`` is the gradient that
arrives and ``output`` the one that leaves. Losses: msprobe counts no NaN and includes NaN and infinities in its
statistics, so of a bad tensor only that it is bad is known (and of a minimum of -inf with a finite maximum, that
no NaN is there); operators carry no module unless ``construct.json`` stands beside the file.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter, TruncatedSourceError
from analyzer.ingest.encodings import bounded_json
from analyzer.ingest.encodings.json_stream import JsonStreamError, members
from analyzer.ingest.formats.dumps.trace_rows import completed, number_of

MAX_DEPTH = 6
MAX_TENSORS = 4_096
MAX_CONSTRUCT_BYTES = 64 << 20

_MODULE = re.compile(
    r"(?:Module|Cell)\.(?:(?P<module>.{1,400})\.)?(?P<type>[A-Za-z_]\w{0,80})\.(?P<pass>forward|backward)(?:\.(?P<call>\d{1,9}))?"
)
_MODULE_GRADS = re.compile(
    r"(?:Module|Cell)\.(?:(?P<module>.{1,400})\.)?(?P<type>[A-Za-z_]\w{0,80})\.parameters_grad"
)
_OPERATOR = re.compile(
    r"(?P<family>[A-Z]\w{1,30})\.(?P<op>.{1,200})\.(?P<call>\d{1,9})\.(?P<pass>forward|backward)"
)
_PASSES = {"forward": "fwd", "backward": "bwd"}
_ROLES = {
    ("fwd", "input_args"): "input", ("fwd", "input_kwargs"): "input", ("fwd", "input"): "input",
    ("fwd", "output"): "output", ("bwd", "input"): "grad_output", ("bwd", "output"): "grad_input",
    ("bwd", "grad_output"): "grad_output", ("bwd", "grad_input"): "grad_input",
}  # fmt: skip
_STEP = re.compile(r"(?:^|/)step(\d{1,15})/")
_RANK = re.compile(r"(?:^|/)rank(\d{1,7})/")


class Msprobe:
    """Ingestor of msprobe's ``dump.json``."""

    def sniff(self, candidate: Candidate) -> Match:
        """SURE if the keys by which msprobe begins are there."""
        start = candidate.head[:4096]
        if (
            start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
            and b'"task"' in start
            and b'"level"' in start
        ):
            return Match.SURE if b'"data"' in start and b'"dump_data_dir"' in start else Match.NO
        return Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Read module by module, in constant memory."""
        place = f"{source.path.as_posix()}"
        step, rank = _STEP.findall(place), _RANK.findall(place)
        reader = _Reader(out, int(step[-1]) if step else None, int(rank[-1]) if rank else None)
        reader.parents = _parents(source)
        try:
            for member in members(source.chunks(), "data"):
                if member.inside:
                    reader.entry(member.key, member.value, member.line)
                else:
                    reader.about(member.key, member.value)
        except (JsonStreamError, TruncatedSourceError) as error:
            out.gap(f"the rest of the dump cannot be read: {error}", line=reader.line)
        reader.finish()


def _parents(source: OpenSource) -> Mapping[str, str]:
    """Entry to the entry that called it, from ``construct.json`` beside the dump; empty if it is not there."""
    path = source.path.with_name("construct.json")
    try:
        if path.is_symlink() or not 0 < path.stat().st_size <= MAX_CONSTRUCT_BYTES:
            return {}
        found = bounded_json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {child: parent for child, parent in found.items() if isinstance(parent, str)}


class _Reader:
    """Turns entries into rows."""

    def __init__(self, out: SourceWriter, step: int | None, rank: int | None) -> None:
        self.out = out
        self.parents: Mapping[str, str] = {}
        self.line = 1
        self._fixed = {"replay_id": "msprobe", "source_format": "msprobe", "step": step, "rank": rank}
        self._seq = 0
        self._unknown = 0
        self._without_numbers = 0

    def about(self, key: str, value: object) -> None:
        """Take what stands before and after the data."""
        if key == "task" and value not in {
            "statistics",
            "tensor",
            "structure",
            "free_benchmark",
            "overflow_check",
        }:
            self.out.gap(
                f"msprobe task {str(value)[:40]!r} is not known; its statistics are read if there are any"
            )
        if key == "data" and value is not None and not isinstance(value, dict):
            self.out.gap("the data of the dump is no object")

    def entry(self, name: str, value: object, line: int) -> None:
        """Take one module or operator, which begins at a line."""
        self.line = line
        context = self._context(name)
        if context is None or not isinstance(value, dict):
            self._unknown += 1
            return
        for role, tensor_name, tensor in _tensors(value, context["pass"], grads=context.pop("grads")):
            self._row({**context, "tensor_role": role, "tensor_name": tensor_name}, tensor)

    def _context(self, name: str) -> dict[str, Any] | None:
        """Columns that the name of an entry tells; None if it is of no known form."""
        grads = _MODULE_GRADS.fullmatch(name)
        if grads:
            return {"pass": "bwd", "module": grads["module"], "module_type": grads["type"], "grads": True}
        module = _MODULE.fullmatch(name)
        if module:
            call = int(module["call"]) if module["call"] else None
            return {
                "pass": _PASSES[module["pass"]], "module": module["module"], "module_type": module["type"],
                "call_index": call, "grads": False,
            }  # fmt: skip
        operator = _OPERATOR.fullmatch(name)
        if operator is None:
            return None
        parent = _MODULE.fullmatch(self.parents.get(name, ""))
        direction = "comm" if operator["family"] == "Distributed" else _PASSES[operator["pass"]]
        return {
            "pass": direction, "op": f"{operator['family']}.{operator['op']}", "call_index": int(operator["call"]),
            "module": parent["module"] if parent else None, "module_type": parent["type"] if parent else None,
            "grads": False,
        }  # fmt: skip

    def _row(self, context: Mapping[str, Any], tensor: Mapping[str, Any]) -> None:
        low, high = number_of(tensor.get("Min")), number_of(tensor.get("Max"))
        mean, norm = number_of(tensor.get("Mean")), number_of(tensor.get("Norm"))
        row = completed(
            {
                **self._fixed, **context, "seq": self._seq, "dtype": tensor.get("dtype"), "shape": tensor.get("shape"),
                "min": low, "max": high, "mean": mean, "l2norm": norm,
            }
        )  # fmt: skip
        known = [value for value in (low, high, mean, norm) if value is not None]
        if not known:
            self._without_numbers += 1
            return
        # the norm alone overflows to infinity where the elements do not
        bounds = [value for value in (low, high) if value is not None]
        row["nonfinite"] = any(not math.isfinite(value) for value in bounds or known)
        extra: dict[str, Any] = {"stats_over": "all"}
        if row["nonfinite"] and bounds and not any(math.isnan(value) for value in bounds):
            row["nan_count"] = 0  # a NaN would have made both bounds NaN
            extra["inf_signs"] = [
                sign for sign, bound in (("-", low), ("+", high)) if bound in {math.inf, -math.inf}
            ]
        row["extra"] = json.dumps(extra)
        self.out.replay(row, line=self.line)
        self._seq += 1

    def finish(self) -> None:
        """State what was lost."""
        if self._unknown:
            self.out.gap(f"{self._unknown} entries of the dump are of no known form", rows_lost=self._unknown)
        if self._without_numbers:
            self.out.gap(
                f"{self._without_numbers} tensors of the dump carry no statistics",
                rows_lost=self._without_numbers,
            )


def _tensors(
    entry: Mapping[str, Any], direction: str, *, grads: bool
) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    """Role, parameter name and description of every tensor of an entry."""
    count = 0
    for key, value in entry.items():
        if grads or key == "parameters":
            named = value if key == "parameters" and isinstance(value, dict) else {key: value}
            pairs = (
                (_parameter_role(name, grads=grads), name, tensor)
                for name, held in named.items()
                for tensor in _flat(held, 0)
            )
        elif (role := _ROLES.get((direction if direction != "comm" else "fwd", key))) is not None:
            pairs = ((f"{role}[{index}]", None, tensor) for index, tensor in enumerate(_flat(value, 0)))
        else:
            continue
        for found in pairs:
            count += 1
            if count > MAX_TENSORS:
                return
            yield found


def _parameter_role(name: str, *, grads: bool) -> str:
    if grads:
        return "param_grad"
    return name if name in {"weight", "bias"} else "weight"


def _flat(value: object, depth: int) -> Iterator[dict[str, Any]]:
    """Descriptions of tensors in nested lists and objects."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, dict):
        if isinstance(value.get("type"), str) and "Max" in value:
            yield value
            return
        for inner in value.values():
            yield from _flat(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _flat(inner, depth + 1)
