"""Runs in an object store or behind any other file system that fsspec knows: list them, fetch one.

    s3://bucket/experiments/        gs://bucket/runs/7b-17/        http://host/job-4711.out

fsspec and the package for the protocol (s3fs, gcsfs, …) are imported when such a source is named.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analyzer.errors import FetchError, InputError
from analyzer.ingest.masking import clean_text
from analyzer.ingest.runs import run_shapes as shapes
from analyzer.ingest.runs.boundaries import Folder, Skipped, visit
from analyzer.triage.specs import Options, Plan, RunSpec, Selection, key_of

MAX_FETCHED_BYTES = 8 * 1024**3
"""Of one run; more would fill the disk of a node. What is left out is told by the reader as a file it did not see."""

_UNREAD = re.compile(
    r"(?i)\.(?:pt|pth|bin|safetensors|ckpt|pkl|npy|npz|onnx|zip|tar|whl|parquet|arrow|h5|so|pyc|png|jpe?g|gif|mp4|pdf)$"
)
"""Files that tell nothing about a failure, or nothing that is worth gigabytes of transfer."""

_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")
_LOGLIKE = re.compile(r"(?i)(?:log|train|out|err|console|record).*\.(?:txt|jsonl)$")


def file_system(url: str) -> tuple[Any, str]:
    """The fsspec file system of a URL, and the path in it.

    Raises:
        InputError: fsspec or the package for the protocol is not installed.
    """
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415  (only where a URL is used)

        system, path = url_to_fs(url)
    except ImportError as error:
        raise InputError(
            f"{url}: {error}; install fsspec and the package for this protocol, for example s3fs or gcsfs"
        ) from error
    except ValueError as error:
        raise InputError(f"{url}: {error}") from error
    return system, str(path)


def is_url(source: str) -> bool:
    """Whether a source is a URL."""
    return bool(_URL.match(source))


def list_runs(url: str, offline: bool, selection: Selection) -> tuple[list[RunSpec], list[Skipped]]:
    """Runs under a URL.

    Raises:
        InputError: The URL cannot be listed.
    """
    del selection  # a file system knows no states
    if offline:
        raise FetchError(f"{url}: not on this machine, and --offline forbids the network", kind="offline")
    system, path = file_system(url)
    try:
        files: Mapping[str, Mapping[str, Any]] = system.find(path, detail=True)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{url}: cannot be listed ({clean_text(str(error), 300) or type(error).__name__})"
        ) from error
    if not files:
        raise InputError(f"{url}: no such file or directory, or an empty one")

    def make(place: str, kind: str, why: str, extra: list[str]) -> RunSpec:
        del kind
        places = [place, *extra]
        location, *more = (system.unstrip_protocol(item) for item in places)
        return RunSpec(
            location=location,
            kind="remote",
            why=why,
            key=key_of(location),
            extra=tuple(more),
            digest=_digest(files, places),
            job=shapes.job_of(place.rpartition("/")[2]),
        )

    if list(files) == [path]:
        return [make(path, "files", "named as a source", [])], []
    plan = Plan()
    visit(_tree(path.rstrip("/"), files), plan, make)
    if not plan.runs:
        plan.skipped.append(Skipped(url, "no run in it: no log, no metrics, no file of a training library"))
    return plan.runs, plan.skipped


def _digest(files: Mapping[str, Mapping[str, Any]], places: list[str]) -> str:
    """Fingerprint of what the store says about the files: size, and whichever mark of a change it keeps."""
    digest = hashlib.sha256()
    for name in sorted(files):
        if any(name == place or name.startswith(f"{place}/") for place in places):
            about = files[name]
            marks = [
                str(about.get(mark, "")) for mark in ("size", "mtime", "ETag", "etag", "md5Hash", "created")
            ]
            digest.update("\0".join([name, *marks]).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]


def _tree(root: str, files: Mapping[str, Mapping[str, Any]]) -> Folder:
    """The directories of a flat listing; a store has none of its own."""
    top = Folder(root, 0)
    folders: dict[str, Folder] = {root: top}
    for name in sorted(files):
        directory, _, file = name.rpartition("/")
        folder = _folder(directory, folders, root)
        if shapes.is_marker(file):
            folder.markers.append(file)
        elif shapes.is_config(file):
            folder.configs.append(file)
        elif files[name].get("size") == 0:
            folder.empty.append(file)
        elif shapes.is_log(file) or _LOGLIKE.search(file):
            folder.logs.append(file)
        else:
            folder.others.append(file)
    return top


def _folder(path: str, folders: dict[str, Folder], root: str) -> Folder:
    found = folders.get(path)
    if found is not None:
        return found
    parent, _, _ = path.rpartition("/")
    above = _folder(parent, folders, root) if len(parent) >= len(root) else folders[root]
    folders[path] = Folder(path, above.depth + 1)
    above.below.append(folders[path])
    return folders[path]


def fetch_run(spec: RunSpec, directory: Path, options: Options) -> list[Path]:
    """Copy the files of a run into a directory.

    Raises:
        FetchError: The network may not be used, or nothing could be copied.
    """
    if options.offline:
        raise FetchError(
            f"{spec.location}: not on this machine, and --offline forbids the network", kind="offline"
        )
    paths: list[Path] = []
    left = MAX_FETCHED_BYTES
    for number, url in enumerate((spec.location, *spec.extra)):
        system, place = file_system(url)
        try:
            files: Mapping[str, Mapping[str, Any]] = system.find(place, detail=True)
            for name, about in sorted(files.items()):
                size = int(about.get("size") or 0)
                if _UNREAD.search(name) or size > left:
                    continue
                left -= size
                inner = name[len(place) :].strip("/")
                target = (directory / str(number) / (inner or name.rpartition("/")[2])).resolve()
                if not target.is_relative_to(directory.resolve()):
                    continue  # a key such as "run/../../x" is a legal name in an object store
                target.parent.mkdir(parents=True, exist_ok=True)
                system.get_file(name, str(target))
        except (OSError, ValueError) as error:
            raise FetchError(
                f"{url}: cannot be fetched ({clean_text(str(error), 300)})", kind="unreachable"
            ) from error
        if not files:
            raise FetchError(f"{url}: no such file or directory, or an empty one", kind="not_found")
        single = list(files) == [place]
        paths.append(
            directory / str(number) / place.rpartition("/")[2] if single else directory / str(number)
        )
    return paths
