"""Numbers as checkpoints store them, looked at bit by bit: NumPy has no bfloat16 and no 8-bit floats."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from analyzer.model.arrays import Values


class StoredType(NamedTuple):
    """A stored number.

    Attributes:
        name: For example ``bfloat16``.
        bits: Unsigned integer of the same width.
        nonfinite: Bits that are all set in NaN and infinity and in nothing else; 0 if there are none.
        has_rows: Whether ``row_rms`` can read it.
    """

    name: str
    bits: type[np.unsignedinteger[Any]]
    nonfinite: int = 0
    has_rows: bool = False

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
