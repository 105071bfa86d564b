"""Facts: the narrow waist between Python, which measures, and rules, which judge."""

from __future__ import annotations

from collections.abc import Mapping

from analyzer.model.refs import SourceRef
from analyzer.model.tables import Scalar
from analyzer.record import NamedTuple


class FactSpec(NamedTuple):
    """Declaration of one fact.

    Attributes:
        name: Dotted name that rules use, for example ``signal.grad_norm.first_nonfinite_step``.
        dtype: bool, int, float or str.
        meaning: One sentence.
        unit: Unit, or empty for counts, steps, shares and names.
        how: How a user can obtain the fact when it is unknown; empty if only the log can give it.
    """

    name: str
    dtype: str
    meaning: str
    unit: str = ""
    how: str = ""


class FactValue(NamedTuple):
    """A known fact with its provenance.

    Attributes:
        value: Never NaN, never infinite: a detector turns those into ``seen``, ``first_step``, ``count``.
        refs: Places that show it, the most telling first.
    """

    value: Scalar
    refs: tuple[SourceRef, ...] = ()


class Signal(NamedTuple):
    """What one detector measured on one subject; no interpretation.

    Attributes:
        kind: Family of the facts, for example ``loss_scale``.
        facts: Fact name to value; only names that the detector declared.
        onset_step: First step concerned, if there is one.
    """

    kind: str
    facts: Mapping[str, FactValue] = {}
    onset_step: int | None = None
