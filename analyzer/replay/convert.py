"""Convert traces of other tools to ``analyzer-replay/1``, in constant memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analyzer.errors import InputError
from analyzer.ingest.builder import RunBuilder
from analyzer.ingest.discover import read_all
from analyzer.ingest.formats.dumps.trace_rows import TraceRows
from analyzer.ingest.runs.run_groups import without_copies
from analyzer.ingest.walk import Discovery, discover
from analyzer.model.refs import Gap
from analyzer.model.replay import CommTable, ReplayTable, Row, TraceTable
from analyzer.record import dataclass
from analyzer.replay.files import ReplayWriter


@dataclass(frozen=True, slots=True)
class Converted:
    """What a conversion did."""

    rows: int  # tensor events written
    collectives: int  # collectives written, into a file of their own
    files: tuple[Path, ...]  # files written
    gaps: tuple[Gap, ...]  # what could not be read
    sources: tuple[str, ...]  # path of each file read, by the index that gaps refer to


class _ToFile(TraceRows[Any]):
    """Passes rows on to a file, which is made when the first row comes."""

    def __init__(self, table: type[TraceTable], path: Path, name: str, builder: RunBuilder) -> None:
        super().__init__(table)
        self._path, self._name, self._builder = path, name, builder
        self.writer: ReplayWriter | None = None

    def __len__(self) -> int:
        return 0 if self.writer is None else self.writer.rows

    def add(self, source: int, line: int, row: Row) -> None:
        """Write one row, with the file that it comes from."""
        del line
        if self.writer is None:
            self.writer = ReplayWriter(self._path, self._name)
        self.writer.write({"source_file": self._builder.sources[source].path, **row})

    def close(self) -> None:
        """Finish the file, if there is one."""
        if self.writer is not None:
            self.writer.close()


def convert(source: str | Path, target: str | Path) -> Converted:
    """Read every trace in a file or directory and write one in the open format.

    Collectives, which have a table of their own, go to ``NAME.comm.SUFFIX`` beside the target.

    Args:
        source: File or directory of msprobe, TransformerEngine, a log with hook reports, or this format.
        target: ``.parquet``, ``.jsonl`` or ``.jsonl.gz``.

    Raises:
        InputError: There is nothing to read, nothing in it is a trace, or the target cannot be written.
    """
    source, target = Path(source), Path(target)
    check_target(target)
    discovery = discover(source)
    if any(item.candidate.path.resolve() == target.resolve() for item in discovery.found):
        raise InputError(f"{target}: is itself part of what is to be converted; choose another name")
    builder = RunBuilder(str(source))
    comm_path = target.with_name(_comm_name(target.name))
    tensors = _ToFile(ReplayTable, target, "replay", builder)
    collectives = _ToFile(CommTable, comm_path, "comm", builder)
    builder.replay, builder.collectives = tensors, collectives
    try:
        read_all(without_copies(discovery.found), builder)
    except OSError as error:
        raise InputError(f"{target}: cannot be written ({error.strerror or error})") from error
    finally:
        tensors.close()
        collectives.close()
    if not len(tensors) and not len(collectives):
        raise InputError(f"{source}: holds no replay trace that can be read{_why(discovery, builder)}")
    written = tuple(path for path, rows in ((target, tensors), (comm_path, collectives)) if len(rows))
    return Converted(
        len(tensors),
        len(collectives),
        written,
        builder.gaps,
        tuple(source.path for source in builder.sources),
    )


def check_target(path: Path) -> None:
    """Refuse a suffix that names no form.

    Raises:
        InputError: The suffix is none of ``.parquet``, ``.jsonl`` and ``.jsonl.gz``.
    """
    if not path.name.endswith((".parquet", ".jsonl", ".jsonl.gz")):
        raise InputError(f"{path}: the suffix says the form to write; use .parquet, .jsonl or .jsonl.gz")


def _comm_name(name: str) -> str:
    stem, dot, suffix = name.partition(".")
    return f"{stem}.comm{dot}{suffix}"


def _why(discovery: Discovery, builder: RunBuilder) -> str:
    reasons = [gap.reason for gap in builder.gaps] or [reason for _, reason in discovery.unreadable]
    return f" ({'; '.join(reasons[:3])})" if reasons else ""
