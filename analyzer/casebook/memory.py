"""What a cluster has seen before: its confirmed cases shift the base rates, visibly and within bounds.

``ANALYZER_CASEBOOK`` names a folder that may be shared: each confirmation is a file of its own, so that many writers
never meet and a bad record can be taken out by deleting its file. Nothing of it leaves the machine.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.errors import InputError
from analyzer.model.labels import HEALTHY, OUTSIDE
from analyzer.model.tables import Scalar
from analyzer.record import NamedTuple

if TYPE_CHECKING:
    from analyzer.casebook.record import CaseRecord

VARIABLE = "ANALYZER_CASEBOOK"

HALF_LIFE_DAYS = 180.0
"""After half a year a confirmed case counts half: drivers, images and people of a cluster have changed by then."""

PRIOR_RUNS = 10.0
"""The rules' own priors weigh as much as ten confirmed cases, as hand-set odds do everywhere here."""

MOST_BITS = 2.0
"""What a casebook can add to a cause at most, 4:1; a hundred wrong records never outweigh one plain log line."""

LEAST_BITS = -1.0
"""What it can take from a cause that was never confirmed here: not seen yet is a hint, no refutation."""

ALIKE_FROM = 0.6
"""Part of common signs from which an earlier case is called alike."""

SIGNS_NEEDED = 2
"""One common sign (a traceback, say) makes no two failures alike."""


class Remembered(NamedTuple):
    """What the casebook says of one cause."""

    bits: float  # shift of its base rate
    seen: int  # how often it was confirmed
    alike: int  # how many of those look like the run in question
    since: str  # day of the first of them, empty if none is dated
    cured: str = ""  # fix that worked most often, empty if none was recorded
    cured_count: int = 0  # how often it did

    def sentence(self) -> str:
        """``confirmed 14 times here since 2026-03-02, 9 of them alike; 12 were cured by lower-lr``."""
        since = f" since {self.since}" if self.since else ""
        text = f"confirmed {self.seen} times here{since}" if self.seen > 1 else f"confirmed once here{since}"
        if self.alike:
            text += f", {self.alike} of them alike"
        return text + (f"; {self.cured_count} cured by {self.cured}" if self.cured else "")


def signs(facts: Mapping[str, Scalar]) -> frozenset[str]:
    """What two failures are compared by: kinds of log lines seen, the first failure, the type of the exception."""
    found = {
        name
        for name, value in facts.items()
        if name.startswith("event.") and name.endswith(".seen") and value
    }
    for name in ("failure.first.kind", "exception.type"):
        if isinstance(value := facts.get(name), str):
            found.add(f"{name}={value}")
    return frozenset(found)


def alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two sets of signs have most in common (Jaccard index)."""
    common = len(one & other)
    return common >= SIGNS_NEEDED and common >= ALIKE_FROM * len(one | other)


def remember(
    records: Sequence[CaseRecord], facts: Mapping[str, Scalar], causes: Sequence[str], today: date
) -> dict[str, Remembered]:
    """What confirmed cases say of the causes that compete in a run.

    Returns:
        Per cause; empty if none of them was ever confirmed.
    """
    mine = [record for record in records if record.label in causes]
    if not mine:
        return {}
    weights = dict.fromkeys(causes, 0.0)
    for record in mine:
        weights[record.label] += 0.5 ** (_age_days(record, today) / HALF_LIFE_DAYS)
    total = sum(weights.values())
    run_signs = signs(facts)
    return {
        cause: _of_cause([record for record in mine if record.label == cause], run_signs, bits)
        for cause, weight in weights.items()
        if (bits := _shift(weight, total, len(causes))) or weight
    }


def _shift(weight: float, total: float, causes: int) -> float:
    """Bits by which a base rate moves: smoothed rate against the even one, capped."""
    rate = (weight + PRIOR_RUNS / causes) / (total + PRIOR_RUNS)
    return round(max(LEAST_BITS, min(MOST_BITS, math.log2(rate * causes))), 2)


def _of_cause(records: Sequence[CaseRecord], run_signs: frozenset[str], bits: float) -> Remembered:
    fixes = [record.fix for record in records if record.worked and record.fix]
    best = max(sorted(set(fixes)), key=fixes.count, default="")
    return Remembered(
        bits=bits,
        seen=len(records),
        alike=sum(alike(run_signs, signs(record.facts)) for record in records),
        since=min((record.day for record in records if record.day), default=""),
        cured=best,
        cured_count=fixes.count(best) if best else 0,
    )


def _age_days(record: CaseRecord, today: date) -> float:
    try:
        return max(0.0, float((today - date.fromisoformat(record.day)).days))
    except ValueError:
        return HALF_LIFE_DAYS  # an undated record counts half


@lru_cache(maxsize=4)
def _records_at(place: Path) -> tuple[CaseRecord, ...]:
    from analyzer.casebook.record import good_records  # noqa: PLC0415  (few users keep a casebook)

    return tuple(record for record in good_records([place]) if record.label not in {HEALTHY, OUTSIDE})


def own_records() -> tuple[CaseRecord, ...]:
    """Confirmed cases of the user's casebook; none where ``ANALYZER_CASEBOOK`` is not set or is no folder."""
    place = os.environ.get(VARIABLE, "")
    if not place or not Path(place).is_dir():
        return ()
    return _records_at(Path(place))


def keep(record: CaseRecord) -> Path:
    """Write a confirmed case into the user's casebook as a file of its own.

    Raises:
        InputError: No casebook is named, or it cannot be written.
    """
    place = os.environ.get(VARIABLE, "")
    if not place:
        raise InputError(
            f"set {VARIABLE} to a folder that keeps confirmed cases, for example ~/.analyzer-casebook"
        )
    import secrets  # noqa: PLC0415  (with all that it imports it costs a diagnosis 2 %)

    path = Path(place).expanduser() / f"{record.day}-{record.id}-{secrets.token_hex(4)}.jsonl"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open(
            "x", encoding="utf-8"
        ) as stream:  # a name of its own: writers on other hosts never meet
            stream.write(record.to_json() + "\n")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    return path
