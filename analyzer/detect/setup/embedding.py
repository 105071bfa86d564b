"""What the weights of a checkpoint show: tiny special-token rows, non-finite elements, stored dtype."""

from __future__ import annotations

from collections import Counter

from analyzer.detect.base import FactWriter, RunView
from analyzer.model.run import TensorRows

TINY_SHARE = 0.01
"""A hundredth of the ordinary rows. Untrained rows of public checkpoints lie at 1e-8 to 1e-4 against rows of
0.02 to 1; freshly initialised ones (0.02) beside trained ones stay above a hundredth."""

NORM_LIMIT_RMS = 65504.0 ** (-1.0 / 3.0)
"""0.0248: the derivative of 1/sqrt(mean square) holds 1/rms**3, which passes fp16's largest number below it."""

_INPUT_NAMES = ("embed_tokens", "wte", "word_embeddings", "tok_embeddings", "embed_in", "shared")


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.embedding.*`` and ``signal.checkpoint.*``."""
    tensors = sorted(
        view.run.tensors, key=lambda tensor: (tensor.name, view.run.sources[tensor.ref.source].path)
    )
    if not tensors:
        return
    bad = [tensor for tensor in tensors if tensor.nonfinite]
    out.put(
        "checkpoint.nonfinite_elements",
        sum(t.nonfinite for t in tensors),
        [t.ref for t in bad or tensors[:1]],
    )
    dtype, _ = min(Counter(t.dtype for t in tensors).items(), key=lambda item: (-item[1], item[0]))
    out.put("checkpoint.dtype", dtype, [tensors[0].ref])
    table = _input_embedding(tensors)
    if table is not None:
        _rows(out, table)


def _input_embedding(tensors: list[TensorRows]) -> TensorRows | None:
    """The input embedding; an output head has rows per token too."""
    tables = [tensor for tensor in tensors if tensor.median_row_rms is not None]
    named = [table for table in tables if any(name in table.name for name in _INPUT_NAMES)]
    return next(iter(named or tables), None)


def _rows(out: FactWriter, table: TensorRows) -> None:
    refs, median = [table.ref], table.median_row_rms
    out.put("embedding.seen", value=True, refs=refs)
    out.put("embedding.median_row_rms", median, refs)
    if median is not None:
        out.put("embedding.ordinary_rows_tiny", median < NORM_LIMIT_RMS, refs)
    special = {
        row: rms
        for row, rms in table.row_rms.items()
        if row in table.row_names and not _unused_pad(table, row, rms)
    }
    if not special or median is None:
        return
    smallest = min(special, key=lambda row: (special[row], row))
    out.put("embedding.special_row_rms_min", special[smallest], refs)
    out.put("embedding.tiny_token", table.row_names[smallest], refs)
    tiny = special[smallest] < TINY_SHARE * median
    out.put("embedding.special_rows_tiny", tiny, refs)


def _unused_pad(table: TensorRows, row: int, rms: float) -> bool:
    """Whether a row is the zero row that an embedding with a padding index holds by design."""
    return rms == 0.0 and "pad" in table.row_names[row].lower()
