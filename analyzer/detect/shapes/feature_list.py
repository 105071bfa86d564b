"""The catalogue of features, ``features.yaml``, in the order of the vector: how each is computed, where the idea comes from, its words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analyzer.record import NamedTuple
from analyzer.vocabulary import cache
from analyzer.vocabulary.marked import MarkedFile
from analyzer.vocabulary.sections import check_section, one_of

PLAIN, ASINH, LOG2, LOG10 = "plain", "asinh", "log2", "log10"
"""How a value is stored: as it is, compressed by asinh (ratios to noise have heavy tails), or as a logarithm."""

BLOCKS = ("loss", "gradient", "rate", "evaluation", "time", "chance")
SHOWN = ("first", "last", "best", "peak", "shift", "bad")


class Feature(NamedTuple):
    """One entry of the catalogue; the catalogue is the documentation of the features."""

    name: str  # unique name
    block: str  # loss, gradient, rate, evaluation, time, chance: what is described
    unit: str  # unit of the value that ``words`` shows
    formula: str  # how it is computed. ``s`` is the robust standard deviation of the point-to-point scatter.
    source: str  # literature, tool or derivation behind it
    # a sentence with ``{value}``; two sentences parted by ``|`` are for values above and below zero, and the second shows
    # the absolute value
    words: str
    low: float  # least stored value
    high: float  # greatest stored value
    stored: str = PLAIN  # plain, asinh, log2 or log10
    needs: tuple[str, ...] = ()  # metrics without which it is unknown (NaN)
    # which point of the block's curve illustrates it: first, last, best, peak, shift or bad
    shows: str = "last"

    def natural(self, value: float) -> float:
        """The value in its unit, from the stored one.

        >>> Feature("a", "loss", "", "", "", "", -9, 9, LOG2).natural(3.0)
        8.0
        """
        if self.stored == ASINH:
            return math.sinh(value)
        if self.stored == LOG2:
            return float(2.0**value)
        return float(10.0**value) if self.stored == LOG10 else value

    def sentence(self, value: float) -> str:
        """What a stored value says, in words; a value that is unknown says that.

        >>> Feature("a", "loss", "", "", "", "it rose by {value:.1f}|it fell by {value:.1f}", -9, 9).sentence(-2)
        'it fell by 2.0'
        """
        if math.isnan(value):
            return f"{self.name} is unknown"
        natural = self.natural(value)
        above, _, below = self.words.partition("|")
        if below and value < 0:
            return below.format(value=1.0 / natural if self.stored in {LOG2, LOG10} else -natural)
        return above.format(value=natural)


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
