"""Where a fact came from: source files, places in them, and what could not be read."""

from __future__ import annotations

from analyzer.record import NamedTuple, dataclass

_TRACKERS = ("clearml", "mlflow", "swanlab", "tensorboard", "trackio", "wandb")
"""How the readers of trackers' files are called; one may have several."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file that belongs to a run."""

    index: int  # position in ``Run.sources``; what ``SourceRef.source`` points to
    path: str  # path relative to the run's root, with ``/``; the file's name if the root is a file
    format: str  # name of the format as the ingestor calls it, for example ``tensorboard``
    ingestor: str  # name of the ingestor that read the file; empty if none did
    size_bytes: int  # size on disk
    sha256_head: str  # hex SHA-256 of the first 64 KiB; equal heads and sizes are read once only
    location: str = ""  # absolute path, to read the file again for a quote or a diff; never shown
    age_s: float | None = None  # seconds between the last write to the file and its reading; None if unknown
    grows: bool = False  # whether somebody wrote to the file while it was read

    @property
    def by_tracker(self) -> bool:
        """Whether a tracker wrote the file: its values have exact times, but no lines that a reader could look up."""
        return self.ingestor.startswith(_TRACKERS)

    @property
    def is_console(self) -> bool:
        """Whether the file is what a program printed."""
        return self.ingestor == "text-log"


class SourceRef(NamedTuple):
    """A place in a source."""

    source: int  # index into ``Run.sources``
    line: int | None = None  # 1-based line, or record number for binary files; None for the whole file


class Gap(NamedTuple):
    """Something that could not be read. A gap is always reported to the user."""

    reason: str  # what was lost and why, in one sentence
    ref: SourceRef | None = None  # where, or None if the whole run is concerned
    rows_lost: int | None = None  # rows or records known to be lost; None if unknown
    evidence: bool = False  # whether it may have told how the run went: such a run is not called healthy
