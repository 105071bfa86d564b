"""Read the run of a directory or a file: the newest one that can be read, if there are several.

Reading the formats is the work of the ingestors.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from analyzer.errors import AnalyzerError, InputError, UnknownFormatError, UnreadableFileError
from analyzer.guard import OUR_FAULT, THEIR_FAULT, Deadline, OutOfTime, fault
from analyzer.ingest import limits, progress
from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter, TruncatedSourceError
from analyzer.ingest.builder import RunBuilder
from analyzer.ingest.masking import safe_name
from analyzer.ingest.registry import ForeignReader, foreign_readers
from analyzer.ingest.runs.archives import Unpacked, is_archive
from analyzer.ingest.runs.launches import last_launch
from analyzer.ingest.runs.run_groups import (
    CHECKPOINT,
    MAX_CHECKPOINTS,
    RunGroup,
    group_runs,
    newest_first,
    without_copies,
    without_notes,
)
from analyzer.ingest.walk import LIKELY_OURS, MAX_FILES, Discovery, Found, discover
from analyzer.model.refs import Gap
from analyzer.model.run import Run
from analyzer.model.tables import Scalar
from analyzer.model.wording import counted
from analyzer.record import NamedTuple, replace


class Loaded(NamedTuple):
    """A run, which of several it is, and the labels of the others."""

    run: Run  # the run
    subject: str = ""  # its label; empty if it is the only one
    others: tuple[str, ...] = ()  # labels of the others, the newest first
    # newer runs of which nothing could be read: label and reason
    passed_over: tuple[tuple[str, str], ...] = ()
    earlier: tuple[str, ...] = ()  # a sentence for each earlier launch whose rows stand in the same log
    # of a log in which nothing is known: makes what to say if its last words tell nothing either
    unread: Callable[[], InputError] | None = None
    # CPU seconds that judging it may take
    judging_s: float = (1 - limits.INTERRUPTED_SHARE) * limits.BASE_CPU_S


def load_run(path: Path, extra: Sequence[Path] = ()) -> Loaded:
    """Read the run at ``path``; of several, the newest one that can be read.

    Args:
        path: Run directory or file.
        extra: Further files or directories that belong to the run, for example a checkpoint.

    Raises:
        InputError: Nothing there could be read.
        UnknownFormatError: Files are there, but no ingestor knows them.
    """
    budget = limits.begin()
    try:
        with Deadline(lambda: budget.until_s(1.0)):
            archived = path.is_file() and is_archive(path)
            loaded = _load_archive(path, extra) if archived else _load(path, extra, shown=path)
    except OutOfTime:  # not in a reader, which would be a gap: in the walk, the groups or the tables
        raise UnreadableFileError(f"{path}: {budget.reason}, and nothing was read to its end") from None
    return loaded._replace(judging_s=budget.judging_s)


def _load_archive(path: Path, extra: Sequence[Path]) -> Loaded:
    """The run in an archive; what was unpacked lies on disk as long as the run is in use, for quotes and diffs."""
    place = Unpacked(path)
    try:
        loaded = _load(place.path, extra, shown=path)
    except InputError as error:
        place.close()
        raise type(error)(str(error).replace(str(place.path), str(path))) from error
    gaps = tuple(Gap(reason, evidence=True) for reason in place.left_out)
    run = replace(loaded.run, gaps=(*loaded.run.gaps, *gaps))
    weakref.finalize(run, place.close)
    return loaded._replace(run=run)


def _load(path: Path, extra: Sequence[Path], *, shown: Path) -> Loaded:
    discovery = discover(path)
    groups = newest_first(group_runs(discovery))
    more = [discover(place) for place in extra]
    passed_over: list[tuple[str, str]] = []
    first: RunBuilder | None = None
    for group in groups:
        builder = _read(shown, group, discovery, more, alone=len(groups) == 1)
        if builder.tells_a_course() or (len(groups) == 1 and builder.recognised()):
            others = tuple(other.label for other in groups if other is not group)
            run, earlier = last_launch(builder.finish())
            return Loaded(run, group.label, others, tuple(passed_over), earlier)
        first = first or builder
        passed_over.append((group.label, _reason(builder)))
    assert first is not None
    # none tells of its course: what describes the newest is all there is, or how its log ends
    unread = None if first.recognised() else partial(_nothing_read, shown, discovery, first)
    if unread is None or (first.log_ends and any(map(_is_surely_a_log, groups[0].found))):
        others = tuple(group.label for group in groups[1:])
        return Loaded(first.finish(), groups[0].label, others, unread=unread)
    raise unread()


def _is_surely_a_log(found: Found) -> bool:
    """Whether a file reads or is named like a log, so that its last words are a program's although none is known."""
    return found.ingestor.is_log and found.ingestor.sniff(found.candidate) >= Match.LIKELY


def _read(
    shown: Path, group: RunGroup, discovery: Discovery, more: Sequence[Discovery], *, alone: bool
) -> RunBuilder:
    """Read the files of one run, and say what beside them could not be read."""
    builder = RunBuilder(safe_name(str(shown)))
    found, notes = without_notes(group.found)
    found = without_copies([*found, *(found for extra in more for found in extra.found)])
    progress.begin(len(found), sum(item.candidate.size_bytes for item in found))
    read_all(found, builder)
    progress.end()
    if notes:
        builder.add_gap(f"notes and no log, by their words; give them by themselves: {', '.join(notes[:3])}")
    _note_checkpoints([f for f in discovery.found if f.candidate.name.startswith(group.label)], builder)
    _note_unread(discovery if alone else _within(discovery, group), builder)
    for reader in foreign_readers():
        for reason in reader.faults:
            builder.add_gap(reason)
    for extra in more:
        for name, reason in extra.unreadable:
            builder.add_gap(f"{name}: {reason}", evidence=True)
    return builder


def _within(discovery: Discovery, group: RunGroup) -> Discovery:
    """What was seen at the place of one run of several."""
    inside = f"{group.label}/" if group.label else ""
    return Discovery(
        root=discovery.root,
        unknown=[name for name in discovery.unknown if name.startswith(inside)],
        unreadable=[(name, why) for name, why in discovery.unreadable if name.startswith(inside)],
        empty=[name for name in discovery.empty if name.startswith(inside)],
        truncated_walk=discovery.truncated_walk,
    )


def _reason(builder: RunBuilder) -> str:
    """Why a run counts as not read."""
    return next((gap.reason for gap in builder.gaps), "no known line in any file")


def read_all(found: Sequence[Found], builder: RunBuilder) -> None:
    """Let every ingestor read its file into the builder; what cannot be read becomes a gap."""
    logs: list[tuple[int, Candidate]] = []
    for item in found:
        candidate = item.candidate
        index = builder.add_source(
            candidate.name,
            format_name=item.ingestor.name,
            ingestor=item.ingestor.name,
            size_bytes=candidate.size_bytes,
            sha256_head=item.sha256_head,
            location=str(candidate.path.absolute()),
            age_s=_age_s(candidate.path),
        )
        _read_file(item, OpenSource(candidate, index), SourceWriter(builder, index), builder)
        progress.end_file(candidate.size_bytes)
        if item.ingestor.is_log:
            logs.append((index, candidate))
    for index, candidate in logs:
        if _has_grown(candidate):
            builder.grows(index)


def _read_file(item: Found, source: OpenSource, out: SourceWriter, builder: RunBuilder) -> None:
    """Let the ingestor of a file read it; why it could not, and how little of its time was left, becomes a gap."""
    budget, is_log = limits.CURRENT.budget, item.ingestor.is_log
    if reason := budget.spent():
        out.gap(f"not read: {reason}", evidence=is_log)
        return
    try:
        with Deadline(budget.file_until_s()):
            item.ingestor.read(source, out)
    except OutOfTime:
        builder.interrupted()
        out.gap(f"the rest of the file was not read: {budget.of_a_file}", evidence=True)
    except (TruncatedSourceError, UnreadableFileError) as error:
        out.gap(f"the rest of the file cannot be read: {error}", evidence=is_log)
    except OSError as error:  # it went while it was read, or the disk failed
        out.gap(f"the rest of the file cannot be read: {error.strerror or error}", evidence=is_log)
    except AnalyzerError:
        raise
    except MemoryError:
        out.gap("the rest of the file cannot be read: it needs more memory than there is", evidence=True)
    except Exception as error:
        if os.environ.get("ANALYZER_GUARD") == "off":
            raise
        whose = THEIR_FAULT if isinstance(item.ingestor, ForeignReader) else OUR_FAULT
        failed = fault(f"reader {item.ingestor.name}", error, whose)
        out.gap(f"the rest of the file cannot be read: {failed}", evidence=is_log)


def _has_grown(candidate: Candidate) -> bool:
    """Whether a file became longer since it was found: only a run that goes on does that."""
    try:
        return candidate.path.stat().st_size > candidate.size_bytes
    except OSError:
        return False


def _age_s(path: Path) -> float | None:
    try:
        return max(0.0, time.time() - path.stat().st_mtime)
    except OSError:
        return None


def _note_checkpoints(found: Sequence[Found], builder: RunBuilder) -> None:
    """State each ``checkpoint-N`` folder of HF Trainer as a saved checkpoint, at the state that was read."""
    states = [source for source in builder.sources if source.path.endswith("trainer_state.json")]
    if not states:
        return
    names = {
        match.group(): int(match[1]) for item in found if (match := CHECKPOINT.search(item.candidate.name))
    }
    out = SourceWriter(builder, states[0].index)
    for name, step in sorted(names.items(), key=lambda pair: pair[1])[:MAX_CHECKPOINTS]:
        folder = name.rstrip("/")
        fields: dict[str, Scalar] = {"step": step, "path": folder}
        out.event("checkpoint_saved", f"{folder}/trainer_state.json", role="info", step=step, fields=fields)


def _note_unread(discovery: Discovery, builder: RunBuilder) -> None:
    for name, reason in discovery.unreadable:
        builder.add_gap(f"{name}: {reason}", evidence=not name.lower().endswith(_DESCRIBES))
    if discovery.empty:
        others = len(discovery.empty) - 1
        shown = discovery.empty[0] + (f" and {counted(others, 'further file')}" if others else "")
        builder.add_gap(f"{shown}: empty (0 bytes), created and never written to")
    ours = [name for name in discovery.unknown if name.lower().endswith(LIKELY_OURS)]
    if ours:
        names = ", ".join(ours[:3]) + (f" and {len(ours) - 3} more" if len(ours) > 3 else "")
        builder.add_gap(f"not recognised as a log, metrics or configuration, or too large for one: {names}")
    if discovery.truncated_walk:
        builder.add_gap(
            f"only the first {MAX_FILES} files were looked at; point at a sub-directory", evidence=True
        )


_DESCRIBES = (".yaml", ".yml", ".json", ".toml", ".py", ".safetensors", ".cfg", ".ini")
"""Files that say how a run was set up, hardly how it went."""


def _nothing_read(path: Path, discovery: Discovery, builder: RunBuilder) -> InputError:
    if discovery.found:
        reasons = "; ".join(gap.reason for gap in builder.finish().gaps[:3])
        from analyzer.ingest.runs.unread import WANTED, last_errors  # noqa: PLC0415  (most runs are read)

        quoted = last_errors([item.candidate for item in discovery.found])
        lines = f"; the last lines that look like errors: {' | '.join(quoted)}" if quoted else ""
        why = reasons or "no known line in any file"
        return UnreadableFileError(f"{path}: nothing could be parsed ({why}){lines}; {WANTED}")
    if discovery.unreadable:
        name, reason = discovery.unreadable[0]
        return UnreadableFileError(f"{path}: nothing could be read; {name}: {reason}")
    if discovery.unknown:
        names = ", ".join(discovery.unknown[:3])
        looked = "TensorBoard, W&B, trainer_state.json, DeepSpeed and console logs"
        return UnknownFormatError(
            f"{path}: no file of a known format (found {names}; looked for {looked}){_of_archives(discovery.unknown, alone=path.is_file())}"
        )
    others = (
        []
        if discovery.empty or not path.is_dir()
        else sorted(item.name for item in path.iterdir() if item.is_file())
    )
    what = "only empty files" if discovery.empty else "no files"
    if others:
        found = ", ".join(map(safe_name, others[:3]))
        what = f"no file that could tell of a run (found {found}){_of_archives(others, alone=False)}"
    return InputError(f"{path}: {what}; give the directory or log file of a run")


_PACKED = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")


def _of_archives(names: Sequence[str], *, alone: bool) -> str:
    """What to do with archives, which are looked into where one is given itself."""
    packed = next((name for name in names if name.lower().endswith(_PACKED)), None)
    if packed is None:
        return ""
    return "; the archive is damaged" if alone else f"; {safe_name(packed)} is read if it is given itself"
