"""Kinds of sources that are not files of this machine: how their runs are listed, and fetched by the worker.

A kind is one row of ``KINDS``. Its functions are named, not imported, so that nothing is loaded for a source that
nobody uses; a worker finds the same row by the name that the run carries.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from analyzer.errors import InputError
from analyzer.ingest.runs.boundaries import Skipped
from analyzer.record import dataclass
from analyzer.triage.specs import Options, RunSpec, Selection


@dataclass(frozen=True, slots=True)
class SourceKind:
    """One kind of remote source."""

    name: str  # what ``RunSpec.kind`` says
    # ``module:function`` that says whether a source belongs to it; the first kind that does wins
    recogniser: str
    # ``module:function`` called with (source, offline, selection); gives runs and what was skipped
    lister: str
    # ``module:function`` called in the worker with (run, directory, options); puts the run's files into the directory and
    # gives the paths to read
    fetcher: str


KINDS: tuple[SourceKind, ...] = (
    SourceKind("wandb", "analyzer.triage.wandb_runs:is_address", "analyzer.triage.wandb_runs:list_remote_runs", "analyzer.triage.wandb_runs:fetch"),
    SourceKind("remote", "analyzer.triage.remote:is_url", "analyzer.triage.remote:list_runs", "analyzer.triage.remote:fetch_run"),
)  # fmt: skip


def kind_of_url(source: str) -> SourceKind | None:
    """The kind to which a source belongs, None for a path of this machine.

    Raises:
        InputError: It belongs to a kind, but points at nothing.
    """
    return next((kind for kind in KINDS if _named(kind.recogniser)(source)), None)


def list_remote(source: str, *, offline: bool, selection: Selection) -> tuple[list[RunSpec], list[Skipped]]:
    """Runs under a remote source.

    Raises:
        InputError: The network may not be used, or the source cannot be listed.
    """
    kind = kind_of_url(source)
    if kind is None:
        raise InputError(f"{source}: not a kind of source that is known")
    runs, skipped = _named(kind.lister)(source, offline, selection)
    return list(runs), list(skipped)


@contextmanager
def local_paths(spec: RunSpec, options: Options) -> Iterator[list[Path]]:
    """Paths on this machine at which the files of a run can be read; what was fetched is removed afterwards.

    Raises:
        InputError: The run cannot be fetched.
    """
    fetcher = next((kind.fetcher for kind in KINDS if kind.name == spec.kind), "")
    if not fetcher:
        yield [Path(spec.location), *map(Path, spec.extra)]
        return
    with tempfile.TemporaryDirectory(prefix="analyzer-") as directory:
        yield list(_named(fetcher)(spec, Path(directory), options))


def _named(place: str) -> Callable[..., Any]:
    module, _, name = place.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found
