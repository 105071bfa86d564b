"""Evidence in a checkpoint's weights: non-finite elements, and how large the special tokens' rows are.

A safetensors file is a 64-bit length, a JSON header of that length, and raw numbers::

    {"model.embed_tokens.weight": {"dtype": "BF16", "shape": [32000, 4096], "data_offsets": [0, 262144000]}}

Read in blocks without torch. Not for pickled weights, which are never opened.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from typing import IO, Any, TypeGuard

import numpy as np

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.encodings import bounded_json
from analyzer.ingest.formats.checkpoints.special_tokens import SpecialTokens, read_special_tokens
from analyzer.ingest.masking import clean_text
from analyzer.lazy_regex import LazyRegex
from analyzer.model.arrays import Values
from analyzer.model.ranked import median_of
from analyzer.model.refs import SourceRef
from analyzer.model.run import TensorRows
from analyzer.record import NamedTuple

MAX_HEADER_BYTES = 32 << 20
"""The format allows 100 MB; decoded that takes gigabytes, and 100,000 tensors need 12 MB."""

MAX_TENSORS = 100_000
EMBEDDING_BYTES = 256 << 20
"""Bytes read of an embedding; of a larger one, evenly spaced rows. A NaN step poisons all rows, a sample sees it."""

OTHER_BYTES = 64 << 20
"""Bytes read of all other tensors together, each its share from its beginning, for the same reason."""

BLOCK_BYTES = 4 << 20
MAX_ROWS = 1 << 22

_EMBEDDING = LazyRegex(
    r"(?:^|\.)(?:embed_tokens|wte|word_embeddings|tok_embeddings|shared|embed_in)\.weight$"
)


class _Tensor(NamedTuple):
    """One entry of the header; ``start`` is its offset in the file."""

    name: str
    kind: StoredType
    shape: tuple[int, ...]
    start: int
    size_bytes: int


class Safetensors:
    """Reads checkpoint weights."""

    def sniff(self, candidate: Candidate) -> Match:
        """A length that fits, followed by a JSON object; or the file's extension, so that damage is reported."""
        head = candidate.head
        if len(head) > 9 and head[8:9] == b"{":
            length = int.from_bytes(head[:8], "little")
            if length + 8 <= candidate.size_bytes and (b'"dtype"' in head or b'"__metadata__"' in head):
                return Match.SURE
        return Match.LIKELY if candidate.name.endswith(".safetensors") else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Emit one ``TensorRows`` per tensor, with row sizes for embeddings."""
        if source.candidate.compression:
            out.gap("compressed weights are not read")
            return
        root = source.path.parents[source.name.count("/")]
        try:
            with source.open() as stream:
                tensors = _read_header(stream, source.candidate.size_bytes, out)
                _Scan(stream, out).all(tensors, lambda: read_special_tokens(source.path.parent, root))
        except OSError as error:
            out.gap(f"the rest of the weights cannot be read: {error.strerror or error}")


def _read_header(stream: IO[bytes], size_bytes: int, out: SourceWriter) -> list[_Tensor]:
    """Valid tensors in order of their place in the file; what is wrong becomes a gap."""
    prefix = stream.read(8)
    length = struct.unpack("<Q", prefix)[0] if len(prefix) == 8 else 0
    if not 2 <= length <= min(MAX_HEADER_BYTES, size_bytes - 8):
        out.gap(f"not readable as safetensors: a header of {length} bytes in a file of {size_bytes}")
        return []
    try:
        header = bounded_json.loads(stream.read(length))
    except (ValueError, RecursionError) as error:
        out.gap(f"the header is not JSON: {error}")
        return []
    entries = header.items() if isinstance(header, dict) else ()
    parsed = [_tensor(name, entry, 8 + length) for name, entry in entries if name != "__metadata__"]
    valid = sorted((t for t in parsed if t is not None), key=lambda t: t.start)
    inside = [t for t in valid if t.start + t.size_bytes <= size_bytes]
    if len(valid) < len(parsed):
        out.gap("entries of the header that contradict themselves", rows_lost=len(parsed) - len(valid))
    if len(inside) < len(valid):
        out.gap(
            "the file is cut off: tensors that the header lists are missing",
            rows_lost=len(valid) - len(inside),
        )
    if len(inside) > MAX_TENSORS:
        out.gap(f"only the first {MAX_TENSORS} tensors were looked at", rows_lost=len(inside) - MAX_TENSORS)
    return inside[:MAX_TENSORS]


def _tensor(name: str, entry: Any, data_start: int) -> _Tensor | None:
    if not isinstance(entry, dict):
        return None
    kind, shape, offsets = (
        STORED_TYPES.get(str(entry.get("dtype"))),
        entry.get("shape"),
        entry.get("data_offsets"),
    )
    if kind is None or not _is_whole(shape) or not _is_whole(offsets) or len(offsets) != 2 or len(shape) > 32:
        return None
    size_bytes = offsets[1] - offsets[0]
    if size_bytes < 0 or math.prod(shape) * kind.size_bytes != size_bytes:
        return None
    return _Tensor(clean_text(name, 200), kind, tuple(shape), data_start + offsets[0], size_bytes)


def _is_whole(numbers: Any) -> TypeGuard[list[int]]:
    return isinstance(numbers, list) and all(type(n) is int and 0 <= n < 1 << 62 for n in numbers)


class _Scan:
    """Reads the tensors of one file within the byte budgets."""

    def __init__(self, stream: IO[bytes], out: SourceWriter) -> None:
        self._stream = stream
        self._out = out
        self._ref = SourceRef(out.source)
        self._unread_bytes = 0

    def all(self, tensors: list[_Tensor], special_tokens: Callable[[], SpecialTokens]) -> None:
        """Measure every tensor; small ones first, which leaves more of the budget for the large ones."""
        budget_bytes = OTHER_BYTES
        others = [tensor for tensor in tensors if not _is_embedding(tensor)]
        for left, tensor in zip(
            range(len(others), 0, -1), sorted(others, key=lambda t: t.size_bytes), strict=True
        ):
            share_bytes = min(budget_bytes // left, tensor.size_bytes) if tensor.kind.nonfinite else 0
            budget_bytes -= share_bytes
            self._out.tensor(self._plain(tensor, share_bytes))
        embeddings = [tensor for tensor in tensors if _is_embedding(tensor)]
        if embeddings:
            tokens = special_tokens()
            self._note_unknown(tokens)
            for tensor in embeddings:
                self._out.tensor(self._embedding(tensor, tokens))
        if self._unread_bytes >= 1 << 20:
            total_bytes = sum(tensor.size_bytes for tensor in tensors)
            unread = f"{self._unread_bytes >> 20} of {total_bytes >> 20} MiB"
            self._out.gap(f"{unread} of weights were not searched for NaN; a sample of every tensor was")

    def _plain(self, tensor: _Tensor, share_bytes: int) -> TensorRows:
        nonfinite = 0
        if tensor.kind.nonfinite:
            wanted_bytes = share_bytes - share_bytes % tensor.kind.size_bytes
            self._unread_bytes += tensor.size_bytes - wanted_bytes
            for at in range(0, wanted_bytes, BLOCK_BYTES):
                block = self._read(tensor.start + at, min(BLOCK_BYTES, wanted_bytes - at))
                nonfinite += count_nonfinite(
                    block[: len(block) - len(block) % tensor.kind.size_bytes], tensor.kind
                )
        return TensorRows(tensor.name, tensor.kind.name, tensor.shape, nonfinite, self._ref)

    def _read(self, start: int, size_bytes: int) -> bytes:
        self._stream.seek(start)
        return self._stream.read(size_bytes)

    def _embedding(self, tensor: _Tensor, tokens: SpecialTokens) -> TensorRows:
        rows, width = tensor.shape
        row_bytes = width * tensor.kind.size_bytes
        block_rows = max(1, BLOCK_BYTES // row_bytes)
        stride = block_rows * -(-tensor.size_bytes // EMBEDDING_BYTES)
        spans = [(first, min(first + block_rows, rows)) for first in range(0, rows, stride)]
        scanned = np.zeros(rows, dtype=bool)
        for first, last in spans:
            scanned[first:last] = True
        spans += [(row, row + 1) for row in tokens.rows_to_measure() if row < rows and not scanned[row]]
        rms = np.full(rows, np.nan)
        nonfinite = 0
        for first, last in spans:
            block = self._read(tensor.start + first * row_bytes, (last - first) * row_bytes)
            whole = len(block) // row_bytes
            rms[first : first + whole], bad = row_rms(block[: whole * row_bytes], tensor.kind, width)
            nonfinite += bad
        self._unread_bytes += tensor.size_bytes - sum(last - first for first, last in spans) * row_bytes
        special = _special_rows(tokens, rms)
        ordinary = np.isfinite(rms)
        ordinary[[row for row in tokens.text_of if row < rows]] = False
        return TensorRows(
            tensor.name,
            tensor.kind.name,
            tensor.shape,
            nonfinite,
            self._ref,
            row_rms=special,
            median_row_rms=float(median_of(rms[ordinary])) if ordinary.any() else None,
            row_names={row: clean_text(tokens.text_of[row], 100) for row in special},
        )

    def _note_unknown(self, tokens: SpecialTokens) -> None:
        for name, reason in tokens.unread.items():
            self._out.gap(f"{name} beside the weights cannot be read ({reason})")
        unknown = sorted(tokens.listed - set(tokens.text_of.values()))
        if unknown:
            self._out.gap(
                f"rows of {', '.join(unknown[:8])} were not measured: no file beside the weights gives their ids"
            )
        elif not tokens.text_of:
            self._out.gap(
                "no special token's row was measured: no tokenizer file beside the weights names one"
            )


def _is_embedding(tensor: _Tensor) -> bool:
    """A table of token rows; a table of absurd shape is treated like any other tensor."""
    if (
        not _EMBEDDING.search(tensor.name)
        or not tensor.kind.has_rows
        or len(tensor.shape) != 2
        or not tensor.size_bytes
    ):
        return False
    return tensor.shape[0] <= MAX_ROWS and tensor.shape[1] * tensor.kind.size_bytes <= BLOCK_BYTES


def _special_rows(tokens: SpecialTokens, rms: Values) -> Mapping[int, float]:
    """Sizes of the special rows; a pad row that is exactly zero is so by design (``padding_idx``)."""
    pad = tokens.roles.get("pad_token")
    rows = {
        row: float(rms[row]) for row in tokens.rows_to_measure() if row < len(rms) and np.isfinite(rms[row])
    }
    return {row: size for row, size in rows.items() if size > 0 or tokens.text_of[row] != pad}


class StoredType(NamedTuple):
    """A stored number."""

    name: str  # for example ``bfloat16``
    bits: type[np.unsignedinteger[Any]]  # unsigned integer of the same width
    nonfinite: int = 0  # bits that are all set in NaN and infinity and in nothing else; 0 if there are none
    has_rows: bool = False  # whether ``row_rms`` can read it

    @property
    def size_bytes(self) -> int:
        """Bytes of one number."""
        return np.dtype(self.bits).itemsize


_WIDTHS: dict[int, type[np.unsignedinteger[Any]]] = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}

STORED_TYPES = {
    "F64": StoredType("float64", np.uint64, 0x7FF0_0000_0000_0000, has_rows=True),
    "F32": StoredType("float32", np.uint32, 0x7F80_0000, has_rows=True),
    "F16": StoredType("float16", np.uint16, 0x7C00, has_rows=True),
    "BF16": StoredType("bfloat16", np.uint16, 0x7F80, has_rows=True),
    "F8_E5M2": StoredType("float8_e5m2", np.uint8, 0x7C),
    "F8_E4M3": StoredType("float8_e4m3fn", np.uint8, 0x7F),
    "BOOL": StoredType("bool", np.uint8),
    **{f"I{width}": StoredType(f"int{width}", bits) for width, bits in _WIDTHS.items()},
    **{f"U{width}": StoredType(f"uint{width}", bits) for width, bits in _WIDTHS.items()},
}
"""Types by the names of safetensors."""


def count_nonfinite(data: bytes, kind: StoredType) -> int:
    """NaN and infinite numbers among whole numbers of one type."""
    bits = np.frombuffer(data, kind.bits)
    return int(np.count_nonzero((bits & kind.bits(kind.nonfinite)) == kind.nonfinite))


def row_rms(data: bytes, kind: StoredType, width: int) -> tuple[Values, int]:
    """Root mean square of each row over its finite elements, and the number of elements that are not finite.

    Args:
        data: Whole rows.
        kind: A type with ``has_rows``.
        width: Numbers in a row.

    Returns:
        float64, shape (n_rows,), NaN for a row without a finite element; and the count.
    """
    bits = np.frombuffer(data, kind.bits).reshape(-1, width)
    if kind.name == "bfloat16":
        values = (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
    else:
        values = bits.view(kind.name)
    # Squares in double precision: a row of 1e-30 is what one looks for, and its square is 0 in single.
    with np.errstate(invalid="ignore"):  # a signalling NaN, as damaged weights hold, is a NaN
        values = values.astype(np.float64)
    finite = np.isfinite(values)
    bad = values.size - int(np.count_nonzero(finite))
    if bad:
        values[~finite] = 0.0
    squares = np.einsum("ij,ij->i", values, values)
    counts = finite.sum(axis=1) if bad else np.full(len(values), width)
    return np.where(counts > 0, np.sqrt(squares / np.maximum(counts, 1)), np.nan), bad
