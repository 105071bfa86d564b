"""Facts: the narrow waist between Python, which measures, and rules, which judge."""

from __future__ import annotations

from collections.abc import Mapping

from analyzer.model.refs import SourceRef
from analyzer.model.tables import Scalar
from analyzer.record import NamedTuple


class FactSpec(NamedTuple):
    """Declaration of one fact."""

    name: str  # dotted name that rules use, for example ``signal.grad_norm.first_nonfinite_step``
    dtype: str  # bool, int, float or str
    meaning: str  # one sentence
    unit: str = ""  # unit, or empty for counts, steps, shares and names
    how: str = ""  # how a user can obtain the fact when it is unknown; empty if only the log can give it


class FactValue(NamedTuple):
    """A known fact with its provenance."""

    # never NaN, never infinite: a detector turns those into ``seen``, ``first_step``, ``count``
    value: Scalar
    refs: tuple[SourceRef, ...] = ()  # places that show it, the most telling first


class Signal(NamedTuple):
    """What one detector measured; no interpretation."""

    kind: str  # name of the detector, for example ``loss_scale``
    facts: Mapping[str, FactValue] = {}  # fact name to value; only names that the detector declared
