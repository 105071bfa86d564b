"""The stored trainings as cases to be diagnosed: each run in three forms, with its settings or without. No torch."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from samples.lab.answers import Case

from .forms import CONFIGURATIONS, KINDS, PARTS, Form, files
from .make import STORED
from .settings import ORDINARY


def _draw(text: str, count: int) -> int:
    return hashlib.sha256(text.encode()).digest()[0] % count


def form_of(row: Mapping[str, Any], kind: str) -> Form:
    """The form of a kind that a run is printed in, by its name alone."""
    logged = {curve["name"] for curve in row["epochs"]}
    own = row["task"] not in ORDINARY or not logged.isdisjoint(set(PARTS) - {"step_time"})
    choices = [form for form in KINDS[kind] if not own or form.parts]
    return choices[_draw(f"{row['run_id']}/{kind}", len(choices))]


def cases(every: int = 1) -> Iterator[Case]:
    """Runs in the forms in which their fault can be seen; what did not bite is a sound run."""
    import pyarrow.parquet as pq

    for row in pq.read_table(STORED).to_pylist()[::every]:
        for kind in KINDS:
            form = form_of(row, kind)
            if row["bit"] is None or (row["bit"] and not any(form.prints(name) for name in row["shows"])):
                continue  # not clear, or nothing that this form prints tells it from its twin
            configuration = CONFIGURATIONS[_draw(f"{kind}/{row['run_id']}", len(CONFIGURATIONS))]
            yield Case(
                row["fault"], tuple(row["labels"]), kind, files(row, form, configuration), row["run_id"]
            )
