"""Where one run ends and the next begins: in a tree of directories, wherever that tree is stored.

Only names decide. A directory is one run unless directories below it are runs of their own, or it holds the logs of
several jobs side by side.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from analyzer.ingest.runs import run_shapes as shapes
from analyzer.record import NamedTuple, dataclass, field

R = TypeVar("R")

Make = Callable[[str, str, str, list[str]], R]
"""Makes a run of its path, its kind (``directory`` or ``files``), the reason, and further files."""


class Skipped(NamedTuple):
    """Something under a source that is no run."""

    path: str  # what was skipped
    reason: str  # why


class Findings(Protocol[R]):
    """Where runs and what is no run are noted."""

    runs: list[R]
    skipped: list[Skipped]


@dataclass
class Folder:
    """One directory of the walk: its files by what they are, and the directories below."""

    path: str
    depth: int
    logs: list[str] = field(default_factory=list)
    markers: list[str] = field(default_factory=list)
    configs: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    sniffed: list[str] = field(default_factory=list)
    below: list[Folder] = field(default_factory=list)

    def settle(self) -> None:
        """Take what only its content shows to be a log for one if nothing is named like a log."""
        (self.others if self.logs else self.logs).extend(self.sniffed)
        self.sniffed.clear()

    @property
    def name(self) -> str:
        """Last part of the path."""
        return self.path.rstrip("/").rpartition("/")[2]

    @property
    def holds_run_files(self) -> bool:
        """Whether a log or a file of a training library lies here or anywhere below."""
        return bool(self.logs or self.markers) or any(child.holds_run_files for child in self.below)


def visit(folder: Folder, plan: Findings[R], make: Make[R]) -> None:
    """Decide whether a directory is a run, holds job logs that are runs, or only holds further directories."""
    if not folder.holds_run_files:
        _skip(folder, plan)
        return
    names = [*folder.logs, *folder.markers, *folder.configs, *folder.others, *(c.name for c in folder.below)]
    library = shapes.library_run(folder.name, names)
    inner = [child for child in folder.below if child.holds_run_files]
    own = list(_own_runs(inner, jobs_too=not (folder.logs or folder.markers)))
    if len(own) == 1 and (folder.logs or folder.markers) and not set(own[0].logs) & set(folder.logs):
        own = []  # one directory of a strange name is a part of it, if no log has the name of the run's own
    if library and not own:
        plan.runs.append(_directory(make, folder, library))
        return
    if own:
        _visit_several(folder, plan, make)
        return
    jobs = _jobs(folder)
    if len(jobs) > 1 and not folder.markers and (not folder.configs or _has_job_ids(folder)):
        plan.runs += [_files(make, folder, files, why) for files, why in jobs]
        for child in folder.below:
            visit(child, plan, make)
        return
    plan.runs.append(_directory(make, folder, _why(folder, inner)))


def _own_runs(inner: Sequence[Folder], *, jobs_too: bool) -> Iterator[Folder]:
    """Directories below that are runs of their own: not named like a part, or several made by one library."""
    libraries: list[Folder] = []
    numbered = _numbered_runs(inner)
    for child in inner:
        names = [*child.logs, *child.markers, *child.configs, *child.others, *(c.name for c in child.below)]
        if child.path.endswith("/plots/metrics"):
            continue  # DVCLive gives each metric a file, and each word of its name a directory
        if shapes.library_run(child.name, names):
            libraries.append(child)
        elif child.name in numbered or not shapes.is_part(child.name):
            yield child
        else:
            below = [grandchild for grandchild in child.below if grandchild.holds_run_files]
            deeper = list(_own_runs(below, jobs_too=jobs_too))
            if jobs_too and not deeper and not child.markers and len(_jobs(child)) > 1:
                yield child  # "logs/" with the output of several jobs
            yield from deeper
    if len(libraries) > 1:
        yield from libraries


def _numbered_runs(inner: Sequence[Folder]) -> frozenset[str]:
    """Names of directories that number runs; those of torchrun number ranks from 0, unpadded, and hold what each printed."""
    numbers = [child for child in inner if child.name.isdecimal() and (child.logs or child.markers)]
    names = {child.name for child in numbers}
    padded = any(name.startswith("0") and len(name) > 1 for name in names)
    logs = [log for child in numbers for log in child.logs]
    if len(names) < 2 or (logs and all(shapes.is_stream(log) for log in logs)):
        return frozenset()
    return frozenset(names) if padded or "0" not in names else frozenset()


def _visit_several(folder: Folder, plan: Findings[R], make: Make[R]) -> None:
    """A directory above several runs; logs that lie in it beside them are runs of their own."""
    for child in folder.below:
        visit(child, plan, make)
    loose = [*folder.others, *folder.configs]
    if loose:
        plan.skipped.append(Skipped(folder.path, f"files beside the runs ({_some(loose)})"))
    if folder.empty:
        plan.skipped.append(Skipped(folder.path, f"empty files ({_some(folder.empty)})"))
    for files, why in _jobs(folder):
        plan.runs.append(_files(make, folder, files, why))
    if folder.markers and not folder.logs:
        plan.runs.append(_files(make, folder, folder.markers, "metrics beside directories of other runs"))


def _jobs(folder: Folder) -> list[tuple[list[str], str]]:
    """The logs of a directory, grouped by run, with the reason for each group."""
    by_job: dict[str, list[str]] = {}
    rest: list[str] = []
    for name in folder.logs:
        job = shapes.job_of(name)
        if job:
            by_job.setdefault(job, []).append(name)
        else:
            rest.append(name)
    if len(by_job) == 1:  # a job's id beside logs without one says nothing
        rest = sorted([*rest, *next(iter(by_job.values()))])
        by_job = {}
    groups = [(files, _said(f"job {job}", files)) for job, files in sorted(by_job.items())]
    streams: dict[str, list[str]] = {}
    for name in rest:
        streams.setdefault(shapes.curve_of(name), []).append(name)
    if len(streams) > 1 and not all(shapes.is_role(name) for name in rest):
        return groups + [
            (files, _said("a log of its own name", files)) for _, files in sorted(streams.items())
        ]
    dated = [name for name in rest if re.search(r"\d{4}", name)]
    if len(streams) > 1 and len(dated) == len(rest) and shapes.same_but_for_numbers(rest):
        return groups + [
            (files, _said("a log of its own date", files)) for _, files in sorted(streams.items())
        ]
    return groups + ([(rest, _said("logs of one run", rest))] if rest else [])


def _has_job_ids(folder: Folder) -> bool:
    """Whether logs of several jobs lie here; else a configuration beside logs makes them those of one run."""
    return len({shapes.job_of(name) for name in folder.logs} - {""}) > 1


def _said(what: str, files: Sequence[str]) -> str:
    return what if len(files) == 1 else f"{what}, {len(files)} files"


def _why(folder: Folder, inner: Sequence[Folder]) -> str:
    seen = [*folder.logs[:1], *folder.markers[:1]] or [f"{child.name}/" for child in inner[:2]]
    return f"run directory: holds {' and '.join(seen)}"


def _skip(folder: Folder, plan: Findings[R]) -> None:
    """Say once, for the whole tree below, why there is no run in it."""
    names, empty = _everything(folder)
    if empty and not names:
        plan.skipped.append(Skipped(folder.path, f"only empty files ({_some(empty)})"))
    elif names:
        plan.skipped.append(
            Skipped(folder.path, f"no log, no metrics, no file of a training library ({_some(names)})")
        )


def _everything(folder: Folder) -> tuple[list[str], list[str]]:
    names, empty = [*folder.configs, *folder.others], list(folder.empty)
    for child in folder.below:
        more, more_empty = _everything(child)
        names += more
        empty += more_empty
    return names, empty


def _some(names: Sequence[str]) -> str:
    return ", ".join(sorted(names)[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


def _directory(make: Make[R], folder: Folder, why: str) -> R:
    return make(folder.path, "directory", why, [])


def _files(make: Make[R], folder: Folder, files: Sequence[str], why: str) -> R:
    paths = [f"{folder.path.rstrip('/')}/{name}" for name in files]
    return make(paths[0], "files", why, paths[1:])
