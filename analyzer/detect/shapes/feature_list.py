"""The catalogue of features, ``features.yaml``, in the order of the vector."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analyzer.detect.shapes.feature import ASINH, BLOCKS, LOG2, LOG10, PLAIN, SHOWN, Feature
from analyzer.vocabulary import cache
from analyzer.vocabulary.marked import MarkedFile
from analyzer.vocabulary.sections import check_section, one_of

__all__ = ["FEATURES", "FEATURE_VERSION", "Feature"]

FEATURE_VERSION = 1
"""Rises with every change of a formula, a range or the order; a model states the version that it was made for."""

FIELDS: Mapping[str, Mapping[str, tuple[str, bool]]] = {
    "file": {"features": ("list", True)},
    "feature": {
        "name": ("str", True),
        "block": ("str", True),
        "unit": ("str", True),
        "formula": ("str", True),
        "source": ("str", True),
        "words": ("str", True),
        "range": ("list", True),
        "needs": ("list", True),
        "stored": ("str", False),
        "shows": ("str", False),
    },
}
_FILE = Path(__file__).parent / "features.yaml"


def read_features(file: MarkedFile) -> list[dict[str, Any]]:
    """Check a loaded catalogue.

    Raises:
        RuleSyntaxError: A feature is not as declared; with line and column.
    """
    found = []
    for index, item in enumerate(check_section(file, FIELDS, "file", file.data, ())["features"]):
        keys = ("features", index)
        row = dict(check_section(file, FIELDS, "feature", item, keys))
        for key, options in (("block", BLOCKS), ("stored", (PLAIN, ASINH, LOG2, LOG10)), ("shows", SHOWN)):
            if key in row:
                one_of(file, row[key], options, *keys, key)
        low, high = row.pop("range")
        found.append({**row, "low": low, "high": high})
    return found


def _catalogue() -> tuple[Feature, ...]:
    rows = cache.checked_file("features", _FILE, read_features, str(FIELDS))
    return tuple(Feature(**{**row, "needs": tuple(row["needs"])}) for row in rows)


FEATURES = _catalogue()
