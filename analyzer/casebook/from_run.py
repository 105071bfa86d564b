"""A record of a casebook from a run: what the detectors measure of it, without any of its text."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from analyzer.casebook.labelled_words import LabelledWords, labelled_words
from analyzer.casebook.record import CaseRecord, parse_record, typed_facts
from analyzer.detect import run_detectors
from analyzer.detect.likeness.answer import EMITS
from analyzer.errors import InputError
from analyzer.facts.build import build_facts
from analyzer.ingest.discover import load_run
from analyzer.model.labels import HEALTHY, OUTSIDE
from analyzer.rules.causes import catalogue


def record_of(
    run: Path,
    label: str,
    *,
    acceptable: tuple[str, ...] = (),
    second: tuple[str, ...] = (),
    source: str = "own",
    framework: str = "",
    confirmed: str = "user",
    group: str = "",
    split: str = "fit",
    fix: str = "",
    worked: bool | None = None,
    day: str = "",
) -> CaseRecord:
    """Read a run and make its record.

    Args:
        run: A run directory or a log.
        label: Its cause, ``healthy`` or ``outside``.
        acceptable: See ``CaseRecord``, as all that follow.
        second: What another judge said.
        source: Where it came from.
        framework: Who wrote the log; what the readers recognise if empty.
        confirmed: How the label is known.
        group: Runs that belong together.
        split: ``fit``, ``judge`` or ``tuned``.
        fix: Fix that was tried.
        worked: Whether it cured.
        day: Date as YYYY-MM-DD.

    Raises:
        InputError: The run cannot be read, or the label is no cause.
    """
    loaded = load_run(run).run
    found = build_facts(run_detectors(loaded)).plain
    # What other records say of this run is no fact of its own.
    facts = typed_facts({name: value for name, value in found.items() if not name.startswith(EMITS)})
    text = repr((source, label, day, sorted(facts.items())))
    record = CaseRecord(
        id=hashlib.sha256(text.encode()).hexdigest()[:16],
        label=label,
        acceptable=acceptable,
        second=second,
        source=source,
        group=group,
        framework=framework or ",".join(sorted(loaded.frameworks)),
        confirmed=confirmed,
        split=split,
        facts=facts,
        fix=fix,
        worked=worked,
        day=day,
    )
    return parse_record(
        record.to_json(), "this record"
    )  # the checks of a record that is read hold for one that is made


def records_of(labels: Path, runs: Path) -> tuple[list[CaseRecord], list[str]]:
    """Records of runs that lie side by side under their ids, and a line for each that could not be read.

    A label that the catalogue does not know counts as ``outside``. See ``labelled_runs`` for the arguments and errors.
    """
    found: list[CaseRecord] = []
    unread: list[str] = []
    for place, row in labelled_runs(labels, runs):
        second = [_known(word) for word in (row.get("second") or "").split("|") if word]
        try:
            record = record_of(
                place,
                _known(row["root_cause"]),
                acceptable=_acceptable(row),
                second=tuple(dict.fromkeys(second)),
                source=row.get("url") or "own",
                group=row.get("group") or row.get("url") or "",
                framework=row.get("framework") or "",
                confirmed=row.get("confirmed") or "",
                split=row.get("split") or "fit",
            )
        except InputError as error:
            unread.append(f"{row['id']}: {error}")
            continue
        found.append(record)
    return found, unread


def words_of_runs(labels: Path, runs: Path) -> list[LabelledWords]:
    """What the same runs ended in, as hashes; those that cannot be read or tell nothing are left out."""
    found: list[LabelledWords] = []
    for place, row in labelled_runs(labels, runs):
        with suppress(InputError):
            source = row.get("url") or row["id"]
            words = labelled_words(place, source, _known(row["root_cause"]), _acceptable(row))
            found += [] if words is None else [words]
    return found


def labelled_runs(labels: Path, runs: Path) -> Iterator[tuple[Path, Mapping[str, str]]]:
    """The runs that are there, each with its row of the table.

    Args:
        labels: CSV with the columns ``id`` and ``root_cause``; used if there: ``url``, ``acceptable`` (by ``|``),
            ``second`` (the same, another judge's), ``framework``, ``confirmed``, ``group``, ``split``.
        runs: Folder with one folder for each id.

    Raises:
        InputError: The table cannot be read or lacks a column.
    """
    try:
        with labels.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
    except (OSError, csv.Error) as error:
        raise InputError(f"{labels}: {error}") from error
    if not rows or not {"id", "root_cause"} <= set(rows[0]):
        raise InputError(f"{labels}: needs the columns id and root_cause")
    yield from ((runs / row["id"], row) for row in rows if (runs / row["id"]).exists())


def _acceptable(row: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(word for word in (row.get("acceptable") or "").split("|") if word in catalogue())


def _known(label: str) -> str:
    return label if label in {*catalogue(), HEALTHY} else OUTSIDE
