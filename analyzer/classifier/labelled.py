"""Labelled runs: a directory with a ``manifest.csv``, or the Parquet excerpt of one.

A manifest needs the columns ``path`` (of a run, relative to the manifest) and ``label`` (a cause id or ``healthy``).
``writer``, ``architecture`` and ``twin`` are used to hold out whole groups; ``part`` = ``held-out`` keeps a run out of training; ``observable`` = ``false`` marks runs whose
fault left no trace in what was logged, which no classifier is asked about; ``onset_step`` is given for faults that
began in the middle of a run, ``course`` says what the training loss did (rises, flat or slower).
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from analyzer.classifier.excerpt import read_excerpt, write_excerpt
from analyzer.detect.base import RunView
from analyzer.detect.shapes.classes import shape_of
from analyzer.detect.shapes.features import features
from analyzer.errors import InputError
from analyzer.ingest.discover import load_run
from analyzer.model.arrays import Integers, Texts, Values
from analyzer.model.run import Run
from analyzer.record import dataclass
from analyzer.rules.causes import catalogue

MANIFEST = "manifest.csv"
TWIN, SECOND_SEED = "-twin", "-seed"
"""Ends of the names of the two healthy runs of a configuration of the fault lab."""

GROUPS = ("writer", "architecture", "twin", "part")
HELD_OUT = "held-out"
HELD_OUT_OF = 4
"""Every fourth configuration is held out."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """Features and labels of a corpus."""

    run_ids: tuple[str, ...]  # one per run
    values: Values  # float64, shape (n_runs, n_features), NaN where unknown
    causes: tuple[str, ...]  # cause id or ``healthy`` of each run
    shapes: Texts  # class of each run
    # column of the manifest -> its value for each run; ``twin`` holds the configuration
    groups: dict[str, Texts]
    left_out: dict[str, int]  # reason -> number of runs that are not in here

    def __len__(self) -> int:
        return len(self.run_ids)

    def take(self, rows: Integers) -> Labelled:
        """The chosen runs, in that order."""
        return Labelled(
            tuple(self.run_ids[row] for row in rows),
            self.values[rows],
            tuple(self.causes[row] for row in rows),
            self.shapes[rows],
            {name: column[rows] for name, column in self.groups.items()},
            dict(self.left_out),
        )


def load_labelled(place: Path, *, part: str = "") -> Labelled:
    """Read a corpus.

    Args:
        place: Directory with a manifest, or a Parquet excerpt.
        part: Only runs of this part; all if empty.

    Raises:
        InputError: There is no manifest, a column is missing, or no run can be used.
    """
    rows: list[dict[str, str]] = []
    vectors: list[Values] = []
    left_out: dict[str, int] = {}
    source = read_excerpt(place) if place.is_file() else runs_of(place)
    known = set(catalogue())
    for row, run in source:
        reason = _unusable(row, run, known, part)
        if reason:
            left_out[reason] = left_out.get(reason, 0) + 1
            continue
        assert isinstance(run, Run)
        rows.append(row)
        vectors.append(features(RunView(run)))
    if not rows:
        told = ", ".join(f"{count} {reason}" for reason, count in left_out.items())
        raise InputError(f"{place}: no labelled run can be used ({told or 'the manifest is empty'})")
    return Labelled(
        run_ids=tuple(row.get("run_id") or row["path"] for row in rows),
        values=np.vstack(vectors),
        causes=tuple(row["label"] for row in rows),
        shapes=np.array([_shape(row) for row in rows]),
        groups={name: np.array([_group(row, name) for row in rows]) for name in GROUPS},
        left_out=left_out,
    )


def configuration_of(row: dict[str, str]) -> str:
    """Name of the healthy twin of a run's configuration; a twin belongs to its own."""
    return row.get("twin") or (row.get("run_id") or row["path"]).replace(SECOND_SEED, TWIN)


def _group(row: dict[str, str], name: str) -> str:
    if name == "twin":
        return configuration_of(row)
    return row.get(name) or ("train" if name == "part" else "unknown")


def _shape(row: dict[str, str]) -> str | None:
    return shape_of(row["label"], late=bool(row.get("onset_step")), course=row.get("course") or "")


def _unusable(row: dict[str, str], run: Run | str, known: set[str], part: str) -> str:
    """Why a row is left out; empty if it is used."""
    if part and _group(row, "part") != part:
        return f"not marked as {part} (column part)"
    if row.get("kind") == "process":
        return "process faults"
    if not row["label"]:
        return "without a label"
    if row["label"] != "healthy" and row["label"] not in known:
        return f"with the unknown label {row['label']!r}"
    if _shape(row) is None:
        return f"whose cause no shape stands for ({row['label']})"
    if row.get("observable") == "false":
        return "whose fault was not logged"
    return run if isinstance(run, str) else ""


def runs_of(directory: Path) -> Iterator[tuple[dict[str, str], Run | str]]:
    """Rows of a manifest, each with its run or the reason why it could not be read.

    Raises:
        InputError: There is no manifest, or a column is missing.
    """
    path = directory / MANIFEST
    try:
        with path.open(newline="", encoding="utf-8") as file:
            table: list[dict[str, Any]] = list(csv.DictReader(file))
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror or error}); it lists path and label"
        ) from error
    for number, row in enumerate(table, start=2):
        if not row.get("path") or row.get("label") is None:
            raise InputError(f"{path}:{number}: a row needs the columns path and label")
        yield row, _load(directory, row["path"])


def _load(directory: Path, path: str) -> Run | str:
    place = directory / path
    if not place.resolve().is_relative_to(directory.resolve()):
        return "outside the corpus"
    try:
        return load_run(place).run
    except InputError:
        return "unreadable"


def make_excerpt(corpora: Sequence[Path], path: Path) -> int:
    """Put corpora into one file; number of runs in it.

    Runs without a label and process faults are left out; ``part`` says which runs are held out from training.

    Args:
        corpora: Directories with manifests of the same columns; the names of their runs differ.
        path: File to write.

    Raises:
        InputError: A corpus has no manifest, or none has a run to keep.
    """
    chosen: list[tuple[dict[str, str], Run]] = []
    numbers: dict[str, int] = {}
    for corpus in corpora:
        for row, run in runs_of(corpus):
            if isinstance(run, str) or not row["label"] or row.get("kind") == "process":
                continue
            number = numbers.setdefault(configuration_of(row), len(numbers))
            chosen.append(({**row, "part": HELD_OUT if number % HELD_OUT_OF == 0 else "train"}, run))
    if not chosen:
        raise InputError(f"{', '.join(map(str, corpora))}: no labelled run can be read")
    write_excerpt(chosen, path)
    return len(chosen)
