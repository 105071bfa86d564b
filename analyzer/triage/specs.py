"""What is to be diagnosed: one run of the plan, the options that all runs share, and the task of a worker."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from analyzer.ingest.runs.boundaries import Skipped
from analyzer.record import dataclass, field


@dataclass(frozen=True, slots=True)
class RunSpec:
    """One run that the plan found."""

    # path as the user gave it and as the walk went on, or a URL; shown, and the order of all output
    location: str
    kind: str  # ``directory``, ``files``, or the name of a remote kind (``sources.FETCHERS``)
    why: str  # what it was taken for, in words
    key: str  # stable id, 16 hexadecimal digits: hash of the absolute location
    # further files of the run, for example the error stream beside the output of a job
    extra: tuple[str, ...] = ()
    # fingerprint of the inputs (names, sizes, times of the last write); empty if it cannot be known
    digest: str = ""
    user: str = ""  # who owns the run, empty if unknown
    job: str = ""  # job id of the scheduler, empty if unknown
    project: str = ""  # W&B project or the like, empty if unknown

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> RunSpec:
        """The inverse of ``asdict``, after a journey through JSON."""
        return RunSpec(**{**data, "extra": tuple(data["extra"])})


def key_of(location: str) -> str:
    """Stable id of an absolute path or URL.

    >>> key_of("/runs/7b-17")
    '1c141883854df2b0'
    """
    return hashlib.sha256(location.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def worker_count(given: int | None) -> int:
    """Number of processes: as given, else one for each core that this process may use.

    A job of a scheduler sees all cores of its node but owns a few.
    """
    if given is not None:
        return given
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass
class Plan:
    """Runs in order of their location, and what was skipped."""

    runs: list[RunSpec] = field(default_factory=list)  # the runs
    skipped: list[Skipped] = field(default_factory=list)  # what is no run, or could not be looked at
    # directories (absolute) and URLs that were searched whole: of them all runs are known
    searched: list[str] = field(default_factory=list)
    # directories (absolute) below them that could not be entered
    closed: list[str] = field(default_factory=list)

    def asked_about(self, location: str, key: str) -> bool:
        """Whether the plan would hold the run that a location names, if it were still there.

        A location that was relative to another directory than today's (its key says so) is not known here.
        """
        whole = location if "://" in location else os.path.abspath(location)  # noqa: PTH100  (links stay, as in the plan)
        if key_of(whole) != key:
            return False
        return _within(whole, self.searched) and not _within(whole, self.closed)


def _within(path: str, places: list[str]) -> bool:
    return any(path == place or path.startswith(place.rstrip("/") + "/") for place in places)


@dataclass(frozen=True, slots=True)
class Options:
    """What all runs share."""

    rules: tuple[str, ...] = ()  # further rule packs
    timeout_s: float = 120.0  # seconds that one run may take
    memory_bytes: int = 2 * 1024**3  # memory that one run may take
    offline: bool = False  # whether fetchers may use the network
    reports: str = ""  # directory or URL for a page with curves of each faulty run; empty for none
    report_all: bool = False  # whether runs without a fault get such a page too

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a worker."""
        return asdict(self)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Options:
        """The inverse of ``to_dict``, after a journey through JSON."""
        return Options(**{**data, "rules": tuple(data["rules"])})


@dataclass(frozen=True, slots=True)
class Selection:
    """Which runs of a W&B project, sweep or group are taken."""

    states: tuple[str, ...] = ()  # only these, for example ``crashed``; empty for all
    since: str = ""  # only runs created after this: an ISO time, or an age such as ``7d``; empty for all
    limit: int | None = None  # at most so many of one source, the newest; None for all
    filter_json: str = ""  # W&B's own filter as JSON; empty for none


@dataclass(frozen=True, slots=True)
class Task:
    """One run for a worker, perhaps beside a run that worked."""

    spec: RunSpec  # the run
    baseline: RunSpec | None = None  # a healthy run of like configuration, None in the first pass
    status_alone: str = ""  # status without the baseline; empty in the first pass

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a worker."""
        return asdict(self)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Task:
        """The inverse of ``to_dict``."""
        baseline = None if data["baseline"] is None else RunSpec.from_dict(data["baseline"])
        return Task(RunSpec.from_dict(data["spec"]), baseline, str(data["status_alone"]))
