"""Fill in what a row of a replay trace implies, whichever tool wrote it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from analyzer.model.float_formats import format_name
from analyzer.model.replay import REPLAY_COLUMNS, SCHEMA_VERSION

NONFINITE_WORDS = {
    "nan": math.nan, "inf": math.inf, "+inf": math.inf, "-inf": -math.inf,
    "infinity": math.inf, "+infinity": math.inf, "-infinity": -math.inf,
}  # fmt: skip
STATISTICS = tuple(column.name for column in REPLAY_COLUMNS if column.kind == "float")
_COUNTS = ("nan_count", "inf_count")


def number_of(value: object) -> float | None:
    """A number, also one written as text ("nan", "-inf", "3.5"); None for anything else.

    >>> number_of("-Infinity"), number_of("3.5"), number_of(None), number_of(True)
    (-inf, 3.5, None, None)
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        word = value.strip().lower()[:64]
        if word in NONFINITE_WORDS:
            return NONFINITE_WORDS[word]
        value = word
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None


def completed(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with numbers typed, non-finite statistics made flags, and what follows from others filled in.

    A tool that includes NaN and infinities in its statistics gives them as minimum, maximum or mean: then
    ``nonfinite`` is true and the statistic itself is unknown. A maximum of infinity tells the sign as well:
    ``extra`` of such a row is left to the caller.

    >>> row = completed({"dtype": "torch.float16", "shape": [2, 3], "min": "-inf", "max": 4.0})
    >>> row["nonfinite"], row["numel"], "min" in row, row["max"], row["dtype"]
    (True, 6, False, 4.0, 'float16')
    """
    found = {name: value for name, value in row.items() if value is not None}
    found.setdefault("schema_version", SCHEMA_VERSION)
    seen_bad = False
    for name in STATISTICS:
        if name not in found:
            continue
        number = number_of(found[name])
        if number is None or not math.isfinite(number):
            del found[name]
            seen_bad = seen_bad or number is not None
        else:
            found[name] = number
    if isinstance(found.get("dtype"), str):
        found["dtype"] = format_name(found["dtype"])
    if seen_bad or any(isinstance(found.get(name), int | float) and found[name] > 0 for name in _COUNTS):
        found["nonfinite"] = True
    elif "nonfinite" not in found and all(found.get(name) == 0 for name in _COUNTS):
        found["nonfinite"] = False
    if "absmax" not in found and "min" in found and "max" in found:
        found["absmax"] = max(abs(found["min"]), abs(found["max"]))
    shape = found.get("shape")
    if "numel" not in found and isinstance(shape, list | tuple) and all(_is_size(size) for size in shape):
        found["numel"] = math.prod(shape)
    return found


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40
