"""One record of a casebook: where a run came from, what its cause was, who says so, and its facts as numbers.

A record holds no text of anybody: numbers, booleans, and words of our own vocabularies or short identifiers. It can
therefore be shared where the log cannot. A casebook is a file of JSON lines, or a folder of such files.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from analyzer.errors import InputError
from analyzer.facts.catalog import spec_of
from analyzer.lazy_regex import LazyRegex
from analyzer.model.labels import HEALTHY, OUTSIDE
from analyzer.model.tables import Scalar
from analyzer.record import NamedTuple
from analyzer.rules.causes import catalogue

SCHEMA_ID = "analyzer.case/1"

MAX_LINE_BYTES = 256 * 1024
"""A record has at most a few hundred facts of a few dozen bytes; what is longer is none."""

MAX_RECORDS = 100_000
"""Of one casebook; a fleet that confirms a hundred failures a day fills it in three years."""

_IDENTIFIER = LazyRegex(r"[A-Za-z_][\w.:+-]{0,63}")
"""A word that may stand in a record: the name of a class, a dtype, a framework; never a sentence or a path."""


class CaseRecord(NamedTuple):
    """One labelled run."""

    id: str  # unique in its casebook
    label: str  # id of a cause, ``healthy`` or ``outside``
    acceptable: tuple[str, ...] = ()  # further causes that are right as well, or that a fair judge accepts
    # what another judge said who did not see the label: theirs, then what they accept too; empty if nobody did
    second: tuple[str, ...] = ()
    source: str = ""  # where the run came from: an address, ``sample/NAME``, ``lab/FAULT/SEED``, or ``own``
    # runs of one group never stand on both sides of a cross-validation: a thread, a repository, a family
    group: str = ""
    framework: str = ""  # who wrote the log, empty if unknown
    confirmed: str = ""  # how the label is known: thread, outcome, expert, reviewer, user
    # ``fit`` (no rule was written with it in view, so numbers may be fitted on it), ``judge`` (only counted), or
    # ``tuned`` (rules were written with it in view: it counts how often a line holds, and calibrates nothing)
    split: str = "fit"
    facts: Mapping[str, Scalar] = {}  # known facts: numbers, booleans, identifiers
    fix: str = ""  # fix that was tried, empty if none; of records that users confirm
    worked: bool | None = None  # whether that fix cured it; None if unknown
    day: str = ""  # date of the record as YYYY-MM-DD, empty if it does not matter

    @property
    def right(self) -> frozenset[str]:
        """Causes that count as right for this run; empty for a healthy one or one outside of the catalogue."""
        return frozenset({self.label, *self.acceptable} & set(catalogue()))

    def to_json(self) -> str:
        """The record as one line of JSON without its end."""
        data = {name: getattr(self, name) for name in self._fields}
        data = {name: value for name, value in data.items() if value not in ("", (), None)}
        return json.dumps({"schema": SCHEMA_ID, **data}, sort_keys=False, separators=(",", ":"))


_LISTS = ("acceptable", "second")


def typed_facts(facts: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """The facts that a record may hold: finite numbers, booleans and identifiers.

    >>> typed_facts({"run.last_step": 5, "event.python_traceback.message": "my secret sentence"})
    {'run.last_step': 5}
    """
    return {name: value for name, value in sorted(facts.items()) if _may_stand(value)}


def _may_stand(value: Scalar) -> bool:
    if isinstance(value, str):
        return _IDENTIFIER.fullmatch(value) is not None
    return isinstance(value, bool | int) or math.isfinite(value)


def parse_record(line: str, where: str) -> CaseRecord:
    """Check one line of a casebook.

    Raises:
        InputError: It is no record, with the place and what is wrong.
    """
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError(f"{where}: no JSON object") from None
    if not isinstance(data, dict) or data.pop("schema", None) != SCHEMA_ID:
        raise InputError(f"{where}: no record of {SCHEMA_ID}")
    unknown = sorted(set(data) - set(CaseRecord._fields))
    if unknown:
        raise InputError(f"{where}: unknown key {unknown[0]!r}")
    _check_types(data, where)
    facts = {
        name: value
        for name, value in data.get("facts", {}).items()
        # a fact that a later version renamed or dropped is left out, not an error
        if isinstance(value, bool | int | float | str) and spec_of(name) is not None
    }
    lists = {name: tuple(data.get(name, ())) for name in _LISTS}
    return CaseRecord(**{**data, **lists, "facts": facts})


def _check_types(data: Mapping[str, Any], where: str) -> None:
    for name in ("id", "label"):
        if not isinstance(data.get(name), str) or not data[name]:
            raise InputError(f"{where}: {name!r} is missing or no text")
    texts = ("source", "group", "framework", "confirmed", "split", "fix", "day")
    if not all(isinstance(data.get(name, ""), str) for name in texts):
        raise InputError(f"{where}: one of {', '.join(texts)} is no text")
    if not isinstance(data.get("facts", {}), dict):
        raise InputError(f"{where}: 'facts' must be an object")
    for name in _LISTS:
        if not isinstance(data.get(name, []), list):
            raise InputError(f"{where}: {name!r} must be a list")
    if data.get("worked") not in (None, True, False):
        raise InputError(f"{where}: 'worked' must be true or false")
    for word in (data["label"], *(word for name in _LISTS for word in data.get(name, []))):
        if word not in catalogue() and word not in {HEALTHY, OUTSIDE}:
            raise InputError(f"{where}: no cause is called {word!r}; see: analyzer rules list")


def casebook_files(place: Path) -> list[Path]:
    """The files of a casebook: the file itself, or every ``*.jsonl`` of a folder, links left out."""
    if place.is_dir():
        return sorted(path for path in place.glob("*.jsonl") if path.is_file() and not path.is_symlink())
    return [place]


def read_casebook(places: Iterable[Path]) -> Iterator[tuple[str, CaseRecord | InputError]]:
    """Every record of some casebooks with its place; a bad one comes as the error, and the rest goes on.

    Raises:
        InputError: A place cannot be read.
    """
    count = 0
    for place in places:
        for path in casebook_files(place):
            try:
                with path.open(encoding="utf-8", errors="replace") as stream:
                    for number, line in enumerate(iter(lambda: stream.readline(MAX_LINE_BYTES), ""), start=1):
                        if not line.strip():
                            continue
                        if (count := count + 1) > MAX_RECORDS:
                            return
                        where = f"{path}:{number}"
                        try:
                            yield where, parse_record(line, where)
                        except InputError as error:
                            yield where, error
            except OSError as error:
                raise InputError(f"{path}: {error.strerror}") from error


def good_records(places: Iterable[Path]) -> list[CaseRecord]:
    """The records that are sound; bad ones are left out."""
    return [record for _, record in read_casebook(places) if isinstance(record, CaseRecord)]
