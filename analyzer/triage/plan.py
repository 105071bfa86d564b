"""Find the runs under a source: run directories, and job logs that lie side by side in one folder.

Only names are looked at, and of a file whose name says nothing its head. Links to directories are not followed, and
a link that leads out of the source is not read. Reading a run is the worker's task.
"""

# A path object for each of a million files would double the cost of the walk.
# ruff: noqa: PTH100, PTH112, PTH116, PTH118, PTH119, PTH207

from __future__ import annotations

import glob as globbing
import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from analyzer.errors import InputError, UnreadableFileError
from analyzer.ingest.registry import ingestors as all_ingestors
from analyzer.ingest.runs import run_shapes as shapes
from analyzer.ingest.runs.boundaries import Folder, Skipped, visit
from analyzer.ingest.walk import choose_ingestor, make_candidate
from analyzer.record import dataclass
from analyzer.triage.specs import Options, Plan, RunSpec, Selection, key_of

MAX_DEPTH = 16
"""Levels below a source: user / project / sweep / trial / launch / attempt / rank, and as many again."""

MAX_FILES = 20_000
"""Files of one run that enter its fingerprint; the reader looks at no more either."""

_PRUNED = frozenset(
    {".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv", "venv", "site-packages", ".cache", "torch_extensions"}
)  # fmt: skip


def make_plan(
    sources: Sequence[str],
    globs: Sequence[str] = (),
    *,
    offline: bool = False,
    selection: Selection | None = None,
) -> Plan:
    """All runs under the sources, each once, in order of their location.

    Args:
        sources: Directories and files to be searched, and URLs.
        globs: Patterns; each match is one run as it is.
        offline: Whether the network is forbidden.
        selection: Which runs of a W&B project are taken.

    Raises:
        InputError: A source does not exist, or a pattern matches nothing.
    """
    plan = Plan()
    for source in sources:
        if kind_of_url(source) is not None:
            found, skipped = list_remote(source, offline=offline, selection=selection or Selection())
            plan.runs += found
            plan.skipped += skipped
            if selection in {None, Selection()}:  # a selection leaves runs out that are still there
                plan.searched.append(source.rstrip("/"))
        else:
            _search(source, plan)
    for pattern in globs:
        matches = sorted(globbing.glob(pattern, recursive=True))
        if not matches:
            raise InputError(f"{pattern}: no file or directory matches this pattern")
        plan.runs += [_whole(match, "named by the pattern") for match in matches]
    once = {run.key: run for run in reversed(plan.runs) if _is_text(run, plan)}
    plan.runs = sorted(once.values(), key=lambda run: (run.location, run.key))
    plan.skipped = [
        Skipped(*(text.encode("utf-8", "backslashreplace").decode() for text in (item.path, item.reason)))
        for item in plan.skipped
    ]
    plan.skipped.sort(key=lambda skipped: (skipped.path, skipped.reason))
    return plan


def _is_text(run: RunSpec, plan: Plan) -> bool:
    """Whether names can be written down; those of another encoding cannot, and are told."""
    try:
        "".join((run.location, *run.extra)).encode("utf-8")
    except UnicodeEncodeError:
        shown = run.location.encode("utf-8", "backslashreplace").decode()
        plan.skipped.append(Skipped(shown, "its name is not UTF-8; rename it or give a link to it"))
        return False
    return True


def sources_in(path: str) -> list[str]:
    """Sources listed in a file, one per line, ``-`` for standard input; what follows a tab is not looked at.

    Raises:
        InputError: The file cannot be read.
    """
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the list of sources cannot be read ({error})") from error
    lines = (line.partition("\t")[0].strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _search(source: str, plan: Plan) -> None:
    if not os.path.lexists(source):
        raise InputError(f"{source}: no such file or directory; give directories of runs, logs, or W&B URLs")
    if not os.path.isdir(source):
        plan.runs.append(_whole(source, "named as a source"))
        return
    plan.searched.append(os.path.abspath(source))
    folder = _scan(source.rstrip("/") or "/", 0, Path(source).resolve(), plan)
    before = len(plan.runs)
    visit(folder, plan, _spec)
    if len(plan.runs) == before:
        plan.skipped.append(
            Skipped(source, "no run in it: no log, no metrics, no file of a training library")
        )


def _scan(path: str, depth: int, root: Path, plan: Plan) -> Folder:
    """Read a directory and those below it; everything that cannot be read is told."""
    folder = Folder(path, depth)
    try:
        with os.scandir(path) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        plan.skipped.append(Skipped(path, f"cannot be entered ({error.strerror or error})"))
        plan.closed.append(os.path.abspath(path))
        return folder
    for entry in entries:
        try:
            _look_at(entry, folder, root, plan)
        except (OSError, RuntimeError) as error:  # gone, no right to search the directory, a link to itself
            reason = error.strerror if isinstance(error, OSError) else "a link that leads to itself"
            plan.skipped.append(Skipped(entry.path, f"cannot be looked at ({reason})"))
    folder.settle()
    return folder


def _look_at(entry: os.DirEntry[str], folder: Folder, root: Path, plan: Plan) -> None:
    if entry.is_symlink():
        reason = _link(entry, root)
        if reason:
            plan.skipped.append(Skipped(entry.path, reason))
            return
    if entry.is_dir():
        if entry.name in _PRUNED:
            return
        if entry.stat(follow_symlinks=False).st_dev != os.stat(folder.path).st_dev:
            plan.skipped.append(Skipped(entry.path, "on another file system; give it as a source"))
            plan.closed.append(os.path.abspath(entry.path))
            return
        if folder.depth >= MAX_DEPTH:
            plan.skipped.append(Skipped(entry.path, f"more than {MAX_DEPTH} levels below the source"))
            return
        folder.below.append(_scan(entry.path, folder.depth + 1, root, plan))
    elif entry.is_file():
        _sort_in(folder, entry)


def _link(entry: os.DirEntry[str], root: Path) -> str:
    """Why a link is not followed; empty if it is a file within the source."""
    target = Path(entry.path).resolve()
    if not target.is_relative_to(root):
        return "link that leads out of the source"
    if not target.exists():
        return "link to nothing"
    return "link to a directory of the same source" if target.is_dir() else ""


def _sort_in(folder: Folder, entry: os.DirEntry[str]) -> None:
    name = entry.name
    if shapes.is_marker(name):
        folder.markers.append(name)
    elif shapes.is_config(name):
        folder.configs.append(name)
    elif entry.stat().st_size == 0:
        folder.empty.append(name)
    elif shapes.is_log(name):
        folder.logs.append(name)
    elif shapes.is_ambiguous(name) and not name.startswith("."):
        kind = _sniffed(entry.path)
        {"log": folder.sniffed, "part": folder.markers}.get(kind, folder.others).append(name)
    else:
        folder.others.append(name)


def _sniffed(path: str) -> str:
    """``log`` or ``part`` if the content of a file is that of a run, else empty.

    A flight recorder's dump is a part: there is one per rank, and only together do they tell what happened.
    """
    try:
        candidate = make_candidate(Path(path), os.path.basename(path))
    except UnreadableFileError:
        return ""
    ingestor = choose_ingestor(candidate, all_ingestors())
    if ingestor is None:
        return ""
    if ingestor.name == "flight-recorder":
        return "part"
    return "log" if ingestor.is_log else ""


def _whole(path: str, why: str) -> RunSpec:
    kind = "directory" if os.path.isdir(path) else "files"
    return _spec(path.rstrip("/") or "/", kind, why, [])


def _spec(path: str, kind: str, why: str, extra: list[str]) -> RunSpec:
    whole = os.path.abspath(path)
    return RunSpec(
        location=path,
        kind=kind,
        why=why,
        key=key_of(whole),
        extra=tuple(extra),
        digest=input_digest([path, *extra]),
        user=_owner(path, whole),
        job=shapes.job_of(os.path.basename(path)),
    )


def input_digest(paths: Iterable[str]) -> str:
    """Fingerprint of files and directories: names, sizes and times of the last write."""
    digest = hashlib.sha256()
    for path in paths:
        for name, state in _states(path):
            digest.update(f"{name}\0{state.st_size}\0{state.st_mtime_ns}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]


def input_bytes(paths: Iterable[str]) -> int:
    """Bytes of files and directories; 0 for what is not there, such as a run behind an address."""
    return sum(state.st_size for path in paths for _, state in _states(path))


def _states(path: str) -> Iterator[tuple[str, os.stat_result]]:
    if not os.path.isdir(path):
        try:
            yield os.path.basename(path), os.stat(path)
        except OSError:
            yield f"{os.path.basename(path)} (gone)", os.stat_result((0,) * 10)
        return
    count = 0
    for directory, below, names in os.walk(path):
        below[:] = sorted(name for name in below if name not in _PRUNED)
        for name in sorted(names):
            count += 1
            if count > MAX_FILES:
                return
            whole = os.path.join(directory, name)
            try:
                yield os.path.relpath(whole, path), os.lstat(whole)
            except OSError:
                continue


_HOME = re.compile(r"/(?:home|users)/(?P<user>[A-Za-z][\w.-]{0,31})/")


def _owner(path: str, whole: str) -> str:
    """Who the run belongs to: the home directory in which it lies, else the owner of the file unless that is root."""
    match = _HOME.search(whole)
    if match:
        return match["user"]
    try:
        return _name_of_user(os.stat(path).st_uid)
    except OSError:
        return ""


@lru_cache(maxsize=256)
def _name_of_user(number: int) -> str:
    if number == 0:
        return ""
    import pwd  # noqa: PLC0415  (not on every platform)

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


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
    SourceKind("remote", "analyzer.triage.places:is_url", "analyzer.triage.places:list_runs", "analyzer.triage.places:fetch_run"),
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
