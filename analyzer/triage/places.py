"""Where results go and where runs lie: a directory of this machine, or a URL that fsspec knows.

Each file that is written appears whole or not at all.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from analyzer.errors import FetchError, InputError
from analyzer.ingest.masking import clean_text
from analyzer.ingest.runs import run_shapes as shapes
from analyzer.ingest.runs.boundaries import Folder, Skipped, visit
from analyzer.triage.specs import Options, Plan, RunSpec, Selection, key_of


class Place(ABC):
    """A directory for results; names of files use ``/``."""

    shown: str

    @abstractmethod
    def write(self, name: str, data: bytes) -> None:
        """Write a file; a reader sees the old one or the new one, never a half."""

    @abstractmethod
    def read(self, name: str) -> bytes | None:
        """The content of a file, None if there is none."""

    @abstractmethod
    def names(self, directory: str) -> list[str]:
        """Names of the files in a directory, sorted, with the directory in front."""

    @abstractmethod
    def folders(self, directory: str) -> list[str]:
        """Names of the directories in a directory, sorted, with the directory in front."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a file that may be gone already."""

    @abstractmethod
    def inner(self, directory: str) -> Place:
        """A directory below as a place of its own."""

    @abstractmethod
    def alone(self) -> AbstractContextManager[None]:
        """Keep other triages out of the directory for as long as the context lasts.

        Raises:
            PlaceInUseError: Another process works there.
        """


class PlaceInUseError(InputError):
    """Another triage writes into the same directory."""


class LocalPlace(Place):
    """A directory of this machine."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.shown = str(path)

    def write(self, name: str, data: bytes) -> None:
        """See ``Place``."""
        target = self.path / name
        half = target.with_name(f".{target.name}.{os.getpid()}.half")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            half.write_bytes(data)
            half.replace(target)
        except OSError as error:
            with suppress(OSError):  # a full disk keeps half a file
                half.unlink(missing_ok=True)
            raise InputError(f"{target}: cannot be written ({error.strerror or error})") from error

    def read(self, name: str) -> bytes | None:
        """See ``Place``."""
        try:
            if not stat.S_ISREG((self.path / name).stat().st_mode):  # a pipe would never end
                raise InputError(f"{self.path / name}: not a regular file")
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"{self.path / name}: cannot be read ({error.strerror or error})") from error

    def names(self, directory: str) -> list[str]:
        """See ``Place``."""
        return self._entries(directory, directories=False)

    def folders(self, directory: str) -> list[str]:
        """See ``Place``."""
        return self._entries(directory, directories=True)

    def _entries(self, directory: str, *, directories: bool) -> list[str]:
        folder = self.path / directory
        try:
            if not folder.is_dir():
                return []
            found = (
                entry
                for entry in folder.iterdir()
                if entry.is_dir() == directories and not entry.name.startswith(".")
            )
            return sorted(f"{directory}/{entry.name}" for entry in found)
        except OSError as error:
            raise InputError(f"{folder}: cannot be read ({error.strerror or error})") from error

    def remove(self, name: str) -> None:
        """See ``Place``."""
        folder = (self.path / name).parent
        try:
            (self.path / name).unlink(missing_ok=True)
            if folder != self.path and not any(folder.iterdir()):
                folder.rmdir()
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(f"{self.path / name}: cannot be removed ({error.strerror or error})") from error

    def inner(self, directory: str) -> Place:
        """See ``Place``."""
        return LocalPlace(self.path / directory)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """See ``Place``. The system gives the lock back when the process dies, however it dies."""
        path = self.path / ".lock"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            descriptor = _locked(path)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written ({error.strerror or error})") from error
        if descriptor is None:
            raise PlaceInUseError(
                f"{self.path}: another triage is writing there ({_owner_of(path)}); wait for it or give another --out"
            )
        try:
            self._sweep()
            yield
        finally:
            with suppress(OSError):
                path.unlink(missing_ok=True)
            os.close(descriptor)

    def _sweep(self) -> None:
        """Remove the halves of files that a process left which was killed while it wrote: no other is at work here."""
        for pattern in (".*.half", "*/.*.half"):
            for half in self.path.glob(pattern):
                with suppress(OSError):
                    half.unlink()


def _locked(path: Path) -> int | None:
    """A descriptor that holds the lock of a file, None if another process has it."""
    import fcntl  # noqa: PLC0415  (not on every platform)

    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError:  # a file system without locks: better without than not at all
            return descriptor
        with suppress(FileNotFoundError):
            if os.stat(path).st_ino == os.fstat(descriptor).st_ino:  # noqa: PTH116  (beside fstat)
                os.ftruncate(descriptor, 0)
                os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode())
                return descriptor
        os.close(descriptor)  # its owner removed it between the two calls


def _owner_of(path: Path) -> str:
    try:
        return clean_text(path.read_text(encoding="utf-8", errors="replace"), 200) or "a process"
    except OSError:
        return "a process"


class RemotePlace(Place):
    """A directory behind a URL. An object store writes an object whole, which is all that is needed."""

    def __init__(self, url: str) -> None:
        self.shown = url.rstrip("/")
        self._system, path = file_system(url)
        self._root = path.rstrip("/")

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def write(self, name: str, data: bytes) -> None:
        """See ``Place``."""
        try:
            self._system.makedirs(self._path(name).rpartition("/")[0], exist_ok=True)
            self._system.pipe_file(self._path(name), data)
        except (OSError, ValueError) as error:
            raise InputError(
                f"{self.shown}/{name}: cannot be written ({clean_text(str(error), 300)})"
            ) from error

    def read(self, name: str) -> bytes | None:
        """See ``Place``."""
        try:
            return bytes(self._system.cat_file(self._path(name)))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise InputError(
                f"{self.shown}/{name}: cannot be read ({clean_text(str(error), 300)})"
            ) from error

    def names(self, directory: str) -> list[str]:
        """See ``Place``."""
        return self._entries(directory, "file")

    def folders(self, directory: str) -> list[str]:
        """See ``Place``."""
        return self._entries(directory, "directory")

    def _entries(self, directory: str, kind: str) -> list[str]:
        self._system.invalidate_cache()
        try:
            found: list[dict[str, Any]] = self._system.ls(self._path(directory), detail=True)
        except FileNotFoundError:
            return []
        names = (entry["name"].rstrip("/").rpartition("/")[2] for entry in found if entry.get("type") == kind)
        return sorted(f"{directory}/{name}" for name in names)

    def remove(self, name: str) -> None:
        """See ``Place``."""
        try:
            self._system.rm_file(self._path(name))
        except FileNotFoundError:
            return

    def inner(self, directory: str) -> Place:
        """See ``Place``."""
        return RemotePlace(f"{self.shown}/{directory}")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """See ``Place``. An object store has no locks."""
        yield


def open_place(out: str) -> Place:
    """The place that ``--out`` names.

    Raises:
        InputError: The URL's protocol is not known here.
    """
    return RemotePlace(out) if "://" in out else LocalPlace(Path(out))


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
