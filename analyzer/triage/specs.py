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
    """One run that the plan found.

    Attributes:
        location: Path as the user gave it and as the walk went on, or a URL; shown, and the order of all output.
        kind: ``directory``, ``files``, or the name of a remote kind (``sources.FETCHERS``).
        why: What it was taken for, in words.
        key: Stable id, 16 hexadecimal digits: hash of the absolute location.
        extra: Further files of the run, for example the error stream beside the output of a job.
        digest: Fingerprint of the inputs (names, sizes, times of the last write); empty if it cannot be known.
        user: Who owns the run, empty if unknown.
        job: Job id of the scheduler, empty if unknown.
        project: W&B project or the like, empty if unknown.
    """

    location: str
    kind: str
    why: str
    key: str
    extra: tuple[str, ...] = ()
    digest: str = ""
    user: str = ""
    job: str = ""
    project: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a worker."""
        return asdict(self)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> RunSpec:
        """The inverse of ``to_dict``, after a journey through JSON."""
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
    """Runs in order of their location, and what was skipped.

    Attributes:
        runs: The runs.
        skipped: What is no run, or could not be looked at.
        searched: Directories (absolute) and URLs that were searched whole: of them all runs are known.
        closed: Directories (absolute) below them that could not be entered.
    """

    runs: list[RunSpec] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    searched: list[str] = field(default_factory=list)
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
    """What all runs share.

    Attributes:
        rules: Further rule packs.
        timeout_s: Seconds that one run may take.
        memory_bytes: Memory that one run may take.
        cache: Directory in which fetched runs are kept; empty for a temporary one.
        offline: Whether fetchers may use the network.
        reports: Directory or URL for a page with curves of each faulty run; empty for none.
        report_all: Whether runs without a fault get such a page too.
    """

    rules: tuple[str, ...] = ()
    timeout_s: float = 120.0
    memory_bytes: int = 2 * 1024**3
    cache: str = ""
    offline: bool = False
    reports: str = ""
    report_all: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a worker."""
        return asdict(self)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Options:
        """The inverse of ``to_dict``, after a journey through JSON."""
        return Options(**{**data, "rules": tuple(data["rules"])})


@dataclass(frozen=True, slots=True)
class Selection:
    """Which runs of a W&B project, sweep or group are taken.

    Attributes:
        states: Only these, for example ``crashed``; empty for all.
        since: Only runs created after this: an ISO time, or an age such as ``7d``; empty for all.
        limit: At most so many of one source, the newest; None for all.
        filter_json: W&B's own filter as JSON; empty for none.
    """

    states: tuple[str, ...] = ()
    since: str = ""
    limit: int | None = None
    filter_json: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """One run for a worker, perhaps beside a run that worked.

    Attributes:
        spec: The run.
        baseline: A healthy run of like configuration, None in the first pass.
        status_alone: Status without the baseline; empty in the first pass.
    """

    spec: RunSpec
    baseline: RunSpec | None = None
    status_alone: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a worker."""
        baseline = None if self.baseline is None else self.baseline.to_dict()
        return {"spec": self.spec.to_dict(), "baseline": baseline, "status_alone": self.status_alone}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Task:
        """The inverse of ``to_dict``."""
        baseline = None if data["baseline"] is None else RunSpec.from_dict(data["baseline"])
        return Task(RunSpec.from_dict(data["spec"]), baseline, str(data["status_alone"]))
