"""Where results go: a directory of this machine, or a URL that fsspec knows. Each file appears whole or not at all."""

from __future__ import annotations

import os
import socket
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from analyzer.errors import InputError
from analyzer.ingest.masking import clean_text
from analyzer.triage.remote import file_system


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
