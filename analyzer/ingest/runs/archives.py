"""A run that comes as a zip or tar archive: unpacked into a directory of its own, within bounds, and read from there.

Only regular files are unpacked, under names that stay in the directory; links, devices and what lies beyond the bounds
is left out and told.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from analyzer.errors import UnreadableFileError
from analyzer.ingest.walk import MAX_FILES

MAX_UNPACKED_BYTES = 4 << 30
"""Of one archive; logs of a run of some thousand GPUs have less."""

MAX_RATIO = 200
"""Unpacked bytes for each byte of the archive; logs reach 20 to 50, a bomb 1,000."""

SMALL_BYTES = 64 << 20
"""Up to that size the ratio does not matter."""

_ZIP = b"PK\x03\x04"
_GZIP = b"\x1f\x8b"
_MARK_AT = 257
"""Where a tar archive says ``ustar``."""


def is_archive(path: Path) -> bool:
    """Whether a file is a zip or a tar archive, the latter compressed by gzip or not."""
    try:
        with path.open("rb") as stream:
            head = stream.read(512)
    except (OSError, ValueError):
        return False
    if head.startswith((_ZIP, _GZIP)):
        return _is_packed(path, head)
    return head[_MARK_AT : _MARK_AT + 5] == b"ustar"


def _is_packed(path: Path, head: bytes) -> bool:
    import tarfile  # noqa: PLC0415  (most runs are no archives)
    import zipfile  # noqa: PLC0415

    try:
        if head.startswith(_ZIP):
            return zipfile.is_zipfile(path)
        with tarfile.open(path, "r:gz") as archive:
            return archive.next() is not None
    except (OSError, EOFError, tarfile.TarError, ValueError):
        return False


class Unpacked:
    """A directory with the files of an archive; it goes when ``close`` is called.

    Attributes:
        path: The directory.
        left_out: What was not unpacked, in words.
    """

    def __init__(self, archive: Path) -> None:
        import tarfile  # noqa: PLC0415
        import tempfile  # noqa: PLC0415
        import zipfile  # noqa: PLC0415

        self._place = tempfile.TemporaryDirectory(prefix="analyzer-")
        self.path = Path(self._place.name)
        self.left_out: list[str] = []
        try:
            self._unpack(archive)
        except (
            OSError,
            EOFError,
            RuntimeError,
            tarfile.TarError,
            zipfile.BadZipFile,
            ValueError,
            NotImplementedError,
        ) as error:
            self.left_out.append(f"the rest of the archive cannot be read: {error}")
            if not any(self.path.iterdir()):
                self.close()
                raise UnreadableFileError(f"{archive}: the archive cannot be read ({error})") from error

    def close(self) -> None:
        """Remove the directory."""
        self._place.cleanup()

    def _unpack(self, archive: Path) -> None:
        room = min(MAX_UNPACKED_BYTES, max(SMALL_BYTES, MAX_RATIO * archive.stat().st_size))
        skipped = 0
        for count, (name, stream) in enumerate(_members(archive)):
            target = None if count >= MAX_FILES else self._target(name)
            if target is None or stream is None:
                skipped += 1
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with stream, target.open("xb") as out:
                room -= _copy(stream, out, room)
            if room <= 0:
                self.left_out.append(
                    "the archive holds more than is unpacked; unpack it yourself and give the directory"
                )
                return
        if skipped:
            self.left_out.append(
                f"{skipped} entries of the archive are links, devices, or lie outside of it: left out"
            )

    def _target(self, name: str) -> Path | None:
        """Where an entry goes; None if its name leads out of the directory."""
        pure = PurePosixPath(name.replace("\\", "/"))
        if pure.is_absolute() or ".." in pure.parts or "\0" in name or not pure.parts or ":" in pure.parts[0]:
            return None
        target = self.path.joinpath(*pure.parts)
        return None if target.exists() else target


def _members(archive: Path) -> Iterator[tuple[str, IO[bytes] | None]]:
    """Name and content of each entry that is no directory; None in place of the content of what is no file."""
    import tarfile  # noqa: PLC0415
    import zipfile  # noqa: PLC0415

    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            for info in opened.infolist():
                if not info.is_dir():
                    is_link = (info.external_attr >> 16) & 0o170000 == 0o120000
                    yield info.filename, None if is_link else opened.open(info)
        return
    with tarfile.open(archive, "r:*") as tar:
        for member in tar:
            if not member.isdir():
                yield (member.name, tar.extractfile(member) if member.isreg() else None)


def _copy(stream: IO[bytes], out: IO[bytes], room: int) -> int:
    """Copy at most ``room`` bytes; how many were copied."""
    copied = 0
    while copied < room and (block := stream.read(min(1 << 20, room - copied))):
        out.write(block)
        copied += len(block)
    return copied
