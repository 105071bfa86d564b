"""Typed records as plain data, in the order of their fields."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def plain_data(value: Any) -> Any:
    """Records, mappings and tuples as objects and lists; NaN and infinities become strings."""
    if is_dataclass(value):
        return {item.name: plain_data(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: plain_data(item) for name, item in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(key): plain_data(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain_data(item) for item in value]
    if isinstance(value, float):
        if math.isfinite(value):
            return float(f"{value:.6g}")  # six digits: more would only show the noise of the platform
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    return value
