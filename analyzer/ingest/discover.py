"""Walk a run directory, recognise each file by content, tell several runs apart, and read one.

Not for reading any format: that is the ingestors' work.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from analyzer.errors import AnalyzerError, InputError, UnknownFormatError, UnreadableFileError
from analyzer.ingest import progress
from analyzer.ingest.base import (
    HEAD_BYTES,
    Candidate,
    Ingestor,
    Match,
    OpenSource,
    SourceWriter,
    TruncatedSourceError,
)
from analyzer.ingest.builder import RunBuilder
from analyzer.ingest.masking import safe_name
from analyzer.ingest.rank_names import place_of
from analyzer.ingest.registry import builtin_ingestors
from analyzer.model.run import Run

MAX_DEPTH = 8
"""Levels below the run directory; the deepest real layout (torchelastic inside Lightning inside W&B) has 7."""

MAX_FILES = 20_000
"""Files looked at; a directory with more is not one run (use a sub-directory)."""

OUR_FAULT = "a fault of analyzer, please report it"
"""Stands in the gap where a reader failed; no test may find it."""

_SKIPPED_DIRECTORIES = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        "__pycache__",
        "node_modules",
        ".venv",
        "venv",
        "site-packages",
        ".cache",
        "torch_extensions",
    }
)
# Files that no ingestor could use and that would only cost a read: code, pictures, weights in pickles.
_SKIPPED_SUFFIXES = frozenset(
    {".py~", ".pyc", ".so", ".png", ".jpg", ".jpeg", ".gif", ".mp4", ".pdf", ".pt", ".pth", ".pkl", ".bin", ".npy", ".npz",
     ".onnx", ".zip", ".tar", ".whl", ".arrow", ".h5", ".lock", ".md", ".html", ".css", ".js", ".ipynb", ".cu", ".cpp"}
)  # fmt: skip
_LIKELY_OURS = (".log", ".out", ".err", ".txt", ".yaml", ".yml", ".jsonl", ".csv")
"""Suffixes of files that a user expects to be read; others (code, data) go without a word."""

_WANDB_RUN = re.compile(r"(?:^|/)((?:offline-)?run-\d{8}_\d{6}-[^/]+)/")
_MLFLOW_RUN = re.compile(r"(?:^|/)([0-9a-f]{32})/(?:(?:metrics|params|tags)/|meta\.yaml$)")
_STAMPED = re.compile(r"(?:^|/)((?:version_\d+|\d{8}_\d{6}|attempt_\d+|run_\d+))/")

_PHASE = re.compile(
    r"(?i)^(?:.{0,200}[_.-])?(?P<phase>train(?:ing)?|val|valid|validation|eval|evaluation|test|dev)$"
)


@dataclass(frozen=True, slots=True)
class Found:
    """A candidate with the ingestor chosen for it."""

    candidate: Candidate
    ingestor: Ingestor
    sha256_head: str


@dataclass
class Discovery:
    """Everything that a walk saw."""

    root: Path
    found: list[Found] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    truncated_walk: bool = False


@dataclass(frozen=True, slots=True)
class RunGroup:
    """Files of one run. ``label`` is empty if the directory holds one run only."""

    label: str
    found: tuple[Found, ...]


def _compression(head: bytes) -> str:
    if head.startswith(b"\x1f\x8b"):
        return "gzip"
    return "zstd" if head.startswith(b"\x28\xb5\x2f\xfd") else ""


def make_candidate(path: Path, name: str) -> Candidate:
    """Read the head of a file, decompressed if need be.

    Raises:
        UnreadableFileError: The file cannot be opened or its archive is damaged from the start.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            head = stream.read(HEAD_BYTES)
    except OSError as error:
        raise UnreadableFileError(f"{name}: cannot be read ({error.strerror or error})") from error
    compression = _compression(head)
    candidate = Candidate(path, name, size, head, compression)
    if not compression:
        return candidate
    try:
        expanded = next(OpenSource(candidate, 0).chunks(HEAD_BYTES), b"")
    except TruncatedSourceError as error:
        raise UnreadableFileError(f"{name}: damaged {compression} archive ({error})") from error
    return Candidate(path, name, size, expanded[:HEAD_BYTES], compression)


def _walk(root: Path, discovery: Discovery) -> Iterable[tuple[Path, str]]:
    """Regular files under ``root`` in a stable order; a link that leads out of it is not followed."""
    real_root = root.resolve()
    count = 0
    for directory, subdirectories, files in os.walk(
        root, onerror=lambda error: _not_entered(error, discovery)
    ):
        here = Path(directory)
        depth = len(here.relative_to(root).parts)
        subdirectories[:] = sorted(d for d in subdirectories if d not in _SKIPPED_DIRECTORIES)
        if depth >= MAX_DEPTH:
            subdirectories.clear()
        for file in sorted(files):
            path = here / file
            if path.suffix.lower() in _SKIPPED_SUFFIXES:
                continue
            name = safe_name(path.relative_to(root).as_posix())
            try:
                if path.is_symlink() and not path.resolve().is_relative_to(real_root):
                    discovery.unreadable.append((name, "link that leads out of the directory"))
                    continue
                if not path.is_file():
                    continue
            except (OSError, RuntimeError) as error:  # no right to search the directory; a link to itself
                reason = error.strerror if isinstance(error, OSError) else "a link that leads to itself"
                discovery.unreadable.append((name, f"cannot be looked at ({reason})"))
                continue
            count += 1
            if count > MAX_FILES:
                discovery.truncated_walk = True
                return
            yield path, name


def _not_entered(error: OSError, discovery: Discovery) -> None:
    """Note a directory below the root that cannot be listed; what lies in it may be the part that failed."""
    place = Path(str(error.filename))
    name = (
        place.relative_to(discovery.root).as_posix() if place.is_relative_to(discovery.root) else place.name
    )
    discovery.unreadable.append((safe_name(name), f"cannot be entered ({error.strerror or error})"))


def choose_ingestor(candidate: Candidate, ingestors: Sequence[Ingestor]) -> Ingestor | None:
    """The ingestor with the highest match; ties go by name; None if nobody knows the file."""
    best: tuple[Match, Ingestor] | None = None
    for ingestor in sorted(ingestors, key=lambda i: i.name):
        match = ingestor.sniff(candidate)
        if match > Match.NO and (best is None or match > best[0]):
            best = (match, ingestor)
    return None if best is None else best[1]


def discover(root: Path, ingestors: Sequence[Ingestor] | None = None) -> Discovery:
    """Look at every file under a directory, or at one file.

    Raises:
        InputError: The path does not exist, is empty, or cannot be entered.
    """
    if not root.exists():
        raise InputError(
            f"{root}: no such file or directory; give a run directory, a log file, or - for standard input"
        )
    if not (root.is_dir() or root.is_file()):
        raise InputError(f"{root}: neither a directory nor a regular file; pipe a stream in with -")
    ingestors = builtin_ingestors() if ingestors is None else ingestors
    discovery = Discovery(root if root.is_dir() else root.parent)
    files = _walk(root, discovery) if root.is_dir() else [(root, safe_name(root.name))]
    seen: set[tuple[int, str]] = set()
    for path, name in files:
        progress.saw_file()
        try:
            candidate = make_candidate(path, name)
        except UnreadableFileError as error:
            discovery.unreadable.append((name, str(error).partition(": ")[2]))
            continue
        if candidate.size_bytes == 0:
            discovery.empty.append(name)
            continue
        digest = hashlib.sha256(candidate.head).hexdigest()
        if (candidate.size_bytes, digest) in seen and candidate.size_bytes > HEAD_BYTES // 64:
            continue  # a copy or a link inside the run; small equal files (markers, stubs) are kept apart
        seen.add((candidate.size_bytes, digest))
        ingestor = choose_ingestor(candidate, ingestors)
        if ingestor is None:
            discovery.unknown.append(name)
        else:
            discovery.found.append(Found(candidate, ingestor, digest))
    return discovery


_CHECKPOINT = re.compile(r"(?:^|(?<=/))checkpoint-(\d{1,12})/")

MAX_CHECKPOINTS = 1_000
"""Folders stated; a run keeps a handful."""


def without_superseded(found: Sequence[Found]) -> list[Found]:
    """Drop each ``checkpoint-N/trainer_state.json`` whose history a longer one of the same run repeats.

    HF Trainer writes the whole history so far into every checkpoint, so the largest file holds all points.
    """
    largest: dict[str, Found] = {}
    for item in found:
        name = item.candidate.name
        if name.endswith("trainer_state.json"):
            run = _CHECKPOINT.sub("", name)
            old = largest.get(run)
            if old is None or item.candidate.size_bytes > old.candidate.size_bytes:
                largest[run] = item
    kept = {id(item) for item in largest.values()}
    return [
        item for item in found if not item.candidate.name.endswith("trainer_state.json") or id(item) in kept
    ]


def _label_of(name: str, split_top: frozenset[str]) -> str:
    match = _WANDB_RUN.search(name)
    if match:
        return name[: match.end(1)]
    match = _MLFLOW_RUN.search(name) or _STAMPED.search(name)
    if match:
        return name[: match.end(1)]
    top = name.partition("/")[0]
    if name.endswith("/meta.yaml"):  # of an experiment, not of a run
        return ""
    return top if top in split_top else ""


def _is_part(directory: str) -> bool:
    """Whether a directory is named after a rank, a task or a node, and so holds a part of a run."""
    place = place_of(f"{directory}/log")
    return bool(place.host) or any(
        number is not None for number in (place.rank, place.local_rank, place.node, place.task)
    )


def _run_like_directories(found: Sequence[Found]) -> frozenset[str]:
    """Top-level sub-directories that each hold a run of their own: two or more with a log, none at the root."""
    from_top: dict[str, bool] = {}
    for item in found:
        top, _, rest = item.candidate.name.partition("/")
        is_log = item.ingestor.is_log
        if rest and _is_part(top):
            continue  # logs of one rank or node of the same run
        if not rest:
            if is_log:
                return frozenset()
            continue
        from_top[top] = from_top.get(top, False) or is_log
    own = frozenset(top for top, has_log in from_top.items() if has_log)
    phases = [match["phase"].lower().startswith("train") for top in own if (match := _PHASE.match(top))]
    if len(phases) == len(own) and any(phases) and not all(phases):
        return frozenset()  # what Keras and torch's add_scalars write of one run
    return own if len(own) > 1 else frozenset()


def split_runs(found: Sequence[Found]) -> list[RunGroup]:
    """Tell the runs in one directory apart; files that belong to none (configuration) go to each.

    Several runs are: several W&B run directories, several time-stamped or numbered work directories
    (mmengine, Lightning, NeMo), or several sub-directories with a log each and none at the root.
    Event files side by side in one directory are attempts of one run, not runs.
    """
    split_top = _run_like_directories(found)
    groups: dict[str, list[Found]] = {}
    for item in found:
        groups.setdefault(_label_of(item.candidate.name, split_top), []).append(item)
    shared = groups.pop("", [])
    kinds: dict[str, list[str]] = {}
    for label in groups:
        kinds.setdefault(_kind_of_label(label), []).append(label)
    several = [label for labels in kinds.values() if len(labels) > 1 for label in labels]
    if not several:
        return [RunGroup("", tuple(found))]
    single = [item for label, items in groups.items() if label not in several for item in items]
    return [RunGroup(label, (*shared, *single, *groups[label])) for label in sorted(several)]


def _kind_of_label(label: str) -> str:
    if _WANDB_RUN.search(label + "/"):
        return "wandb"
    if _MLFLOW_RUN.search(label + "/meta.yaml"):
        return "mlflow"
    match = _STAMPED.search(label + "/")
    return re.sub(r"\d+", "N", match.group(1)) if match else "directory"


_STAMP = re.compile(r"\d{8}_\d{6}")


def _latest(groups: Sequence[RunGroup]) -> RunGroup:
    """The run that started last, by the stamp in its name, else by its newest file.

    A copy or a checkout gives every file the same age, so a stamp is the better witness.
    """

    def key(group: RunGroup) -> tuple[str, float, str]:
        stamp = _STAMP.search(group.label)
        newest = max(
            _written_s(f.candidate.path) for f in group.found if f.candidate.name.startswith(group.label)
        )
        return (stamp.group() if stamp else _stated_start(group), newest, group.label)

    return max(groups, key=key)


_MLFLOW_START = re.compile(rb"(?m)^start_time: (\d{13})\b")


def _stated_start(group: RunGroup) -> str:
    """When a run of MLflow began, as its own file says; empty for others."""
    for item in group.found:
        if item.ingestor.name == "mlflow-files" and item.candidate.name == f"{group.label}/meta.yaml":
            match = _MLFLOW_START.search(item.candidate.head)
            return match[1].decode() if match else ""
    return ""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A run, which of several it is, and the labels of the others."""

    run: Run
    subject: str = ""
    others: tuple[str, ...] = ()


def load_run(path: Path, extra: Sequence[Path] = ()) -> Loaded:
    """Read the run at ``path``; of several, the one that wrote last.

    Args:
        path: Run directory or file.
        extra: Further files or directories that belong to the run, for example a checkpoint.

    Raises:
        InputError: Nothing there could be read.
        UnknownFormatError: Files are there, but no ingestor knows them.
    """
    discovery = discover(path)
    groups = split_runs(without_superseded(discovery.found))
    chosen = _latest(groups) if len(groups) > 1 else groups[0]
    found = list(chosen.found)
    for place in extra:
        more = discover(place)
        found.extend(more.found)
        discovery.unreadable.extend(more.unreadable)
    builder = RunBuilder(str(path))
    progress.begin(len(found), sum(item.candidate.size_bytes for item in found))
    read_all(found, builder)
    progress.end()
    _note_checkpoints(discovery.found, builder)
    _note_unread(discovery, builder)
    if not builder.recognised():
        raise _nothing_read(path, discovery, builder)
    others = tuple(group.label for group in groups if group is not chosen)
    return Loaded(builder.finish(), chosen.label, others)


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
        out = SourceWriter(builder, index)
        try:
            item.ingestor.read(OpenSource(candidate, index), out)
        except (TruncatedSourceError, UnreadableFileError) as error:
            out.gap(f"the rest of the file cannot be read: {error}")
        except OSError as error:  # it went while it was read, or the disk failed
            out.gap(f"the rest of the file cannot be read: {error.strerror or error}")
        except AnalyzerError:
            raise
        except Exception as error:  # noqa: BLE001  (a bug of one reader costs its file, not the answer)
            out.gap(f"the rest of the file cannot be read: {OUR_FAULT} ({type(error).__name__}: {error})")
        progress.end_file(candidate.size_bytes)
        if item.ingestor.is_log:
            logs.append((index, candidate))
    for index, candidate in logs:
        if _has_grown(candidate):
            builder.grows(index)


def _has_grown(candidate: Candidate) -> bool:
    """Whether a file became longer since it was found: only a run that goes on does that."""
    try:
        return candidate.path.stat().st_size > candidate.size_bytes
    except OSError:
        return False


def _written_s(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # gone since the walk
        return 0.0


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
        match.group(): int(match[1]) for item in found if (match := _CHECKPOINT.search(item.candidate.name))
    }
    for name, step in sorted(names.items(), key=lambda pair: pair[1])[:MAX_CHECKPOINTS]:
        folder = name.rstrip("/")
        builder.add_event(
            states[0].index, "checkpoint_saved", f"{folder}/trainer_state.json", role="info", line=None, step=step,
            time_s=None, rank=None, fields={"step": step, "path": folder},
        )  # fmt: skip


def _note_unread(discovery: Discovery, builder: RunBuilder) -> None:
    for name, reason in discovery.unreadable:
        builder.add_gap(f"{name}: {reason}")
    if discovery.empty:
        shown = ", ".join(discovery.empty[:3])
        more = f" and {len(discovery.empty) - 3} more" if len(discovery.empty) > 3 else ""
        what = "empty files" if len(discovery.empty) > 1 else "empty file"
        builder.add_gap(f"{shown}{more}: {what} (0 bytes): created and never written to")
    ours = [name for name in discovery.unknown if name.lower().endswith(_LIKELY_OURS)]
    if ours:
        names = ", ".join(ours[:3]) + (f" and {len(ours) - 3} more" if len(ours) > 3 else "")
        builder.add_gap(f"not recognised as a log, metrics or configuration, or too large for one: {names}")
    if discovery.truncated_walk:
        builder.add_gap(f"only the first {MAX_FILES} files were looked at; point at a sub-directory")


def _nothing_read(path: Path, discovery: Discovery, builder: RunBuilder) -> InputError:
    if discovery.found:
        reasons = "; ".join(gap.reason for gap in builder.finish().gaps[:3])
        return UnreadableFileError(
            f"{path}: nothing could be parsed ({reasons or 'no known line in any file'})"
        )
    if discovery.unreadable:
        name, reason = discovery.unreadable[0]
        return UnreadableFileError(f"{path}: nothing could be read; {name}: {reason}")
    if discovery.unknown:
        names = ", ".join(discovery.unknown[:3])
        looked = "TensorBoard, W&B, trainer_state.json, DeepSpeed and console logs"
        return UnknownFormatError(f"{path}: no file of a known format (found {names}; looked for {looked})")
    what = "only empty files" if discovery.empty else "no files"
    return InputError(f"{path}: {what}; give the directory or log file of a run")
