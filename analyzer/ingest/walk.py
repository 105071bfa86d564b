"""Walk a run directory and recognise each file by content. Which files make a run: see ``run_groups``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from analyzer.digest import sha256
from analyzer.errors import InputError, UnreadableFileError
from analyzer.ingest import limits, progress
from analyzer.ingest.base import HEAD_BYTES, Candidate, Ingestor, Match, OpenSource, TruncatedSourceError
from analyzer.ingest.limits import MAX_WALKED
from analyzer.ingest.masking import safe_name
from analyzer.ingest.registry import ingestors as all_ingestors
from analyzer.ingest.source_text import is_log_in_page, is_model_card, is_page, looks_like_text
from analyzer.record import NamedTuple, dataclass, field

MAX_DEPTH = 16
"""Levels below the run directory; the deepest real layout (torchelastic inside Lightning inside W&B) has 7, below a
project's user / sweep / trial / launch."""

MAX_FILES = 20_000
"""Files looked at; a directory with more is not one run (use a sub-directory)."""

MAX_PAGES = 20
"""Markdown pages kept until it is known that nothing else tells of a run; each is the head of a file."""

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
     ".onnx", ".zip", ".tar", ".whl", ".arrow", ".h5", ".lock", ".html", ".css", ".js", ".cu", ".cpp"}
)  # fmt: skip
_TAR_MARK_AT = 257
"""Where a tar archive says ``ustar``."""

_LFS_POINTER = b"version https://git-lfs.github.com/spec/"

LIKELY_OURS = (".log", ".out", ".err", ".txt", ".yaml", ".yml", ".jsonl", ".csv")
"""Suffixes of files that a user expects to be read; others (code, data) are ignored silently."""


class Found(NamedTuple):
    """A candidate with the ingestor chosen for it."""

    candidate: Candidate
    ingestor: Ingestor
    sha256_head: str


@dataclass
class Discovery:
    """Everything that a walk saw."""

    root: Path  # the directory
    found: list[Found] = field(default_factory=list)  # files that an ingestor knows
    unknown: list[str] = field(default_factory=list)  # files that none knows
    # names of files and directories that could not be read, with the reason
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)  # files of 0 bytes
    truncated_walk: bool = False  # whether there were more files than are looked at


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
    if head.startswith(_LFS_POINTER):
        raise UnreadableFileError(f"{name}: a Git LFS pointer, not the file itself; fetch it: git lfs pull")
    compression = _compression(head)
    candidate = Candidate(path, name, size, head, compression)
    if not compression:
        return candidate
    try:
        expanded = next(OpenSource(candidate, 0).chunks(HEAD_BYTES), b"")
    except TruncatedSourceError as error:
        raise UnreadableFileError(f"{name}: damaged {compression} archive ({error})") from error
    if expanded[_TAR_MARK_AT : _TAR_MARK_AT + 5] == b"ustar":
        raise UnreadableFileError(f"{name}: an archive of files; unpack it, or give it by itself")
    return Candidate(path, name, size, expanded[:HEAD_BYTES], compression)


def _name(path: Path, root: Path) -> str:
    """Name of a file below a directory, as it may be shown."""
    return safe_name(path.relative_to(root).as_posix())


def _walk(root: Path, discovery: Discovery) -> Iterator[tuple[Path, str]]:
    """Regular files under ``root`` in a stable order; a link that leads out of it is not followed."""
    real_root = root.resolve()

    def refused(error: OSError) -> None:
        if error.filename is not None:
            name = _name(Path(os.fsdecode(error.filename)), root)
            discovery.unreadable.append((f"{name}/", f"cannot be entered ({error.strerror or error})"))

    names: list[tuple[str, str]] = []
    device = _device(root)
    for directory, below, files in os.walk(root, onerror=refused):
        here = Path(directory)
        below[:] = sorted(name for name in below if name not in _SKIPPED_DIRECTORIES)
        if mounted := [name for name in below if _device(here / name) not in {device, None}]:
            discovery.unreadable += [(f"{_name(here / name, root)}/", _MOUNTED) for name in mounted]
            below[:] = [name for name in below if name not in mounted]
        for name in below:
            if (reason := _leads_out(here / name, real_root)) is not None:
                discovery.unreadable.append((f"{_name(here / name, root)}/", reason))
        if below and len(here.relative_to(root).parts) >= MAX_DEPTH:
            deep = f"more than {MAX_DEPTH} levels below the directory; point at it"
            discovery.unreadable += [(f"{_name(here / name, root)}/", deep) for name in below]
            below.clear()
        wanted = (name for name in files if os.path.splitext(name)[1].lower() not in _SKIPPED_SUFFIXES)  # noqa: PTH122
        names += [(directory, name) for name in sorted(wanted)]
        if len(names) > MAX_WALKED:
            discovery.truncated_walk = True
            break
    for directory, name in _most_promising(names, discovery):
        path = Path(directory, name)
        reason = _leads_out(path, real_root)
        if reason is not None:
            discovery.unreadable.append((_name(path, root), reason))
        elif _is_regular(path):
            yield path, _name(path, root)


_MOUNTED = "on another file system, which is not entered; give it as the run"


def _most_promising(names: list[tuple[str, str]], discovery: Discovery) -> list[tuple[str, str]]:
    """All names, or of too many those that look most like the files of a run; in the order of the walk."""
    if len(names) <= MAX_FILES:
        return names
    discovery.truncated_walk = True
    ranked = sorted(range(len(names)), key=lambda place: (_promise(names[place][1]), place))
    return [names[place] for place in sorted(ranked[:MAX_FILES])]


def _promise(name: str) -> int:
    """0 for the name of a log or of a library's own file, 1 for a possible one, 2 for the rest."""
    lowered = name.lower().removesuffix(".gz").removesuffix(".zst")
    if (
        lowered.endswith((".log", ".out", ".err", ".wandb"))
        or ".tfevents." in lowered
        or lowered in _OWN_NAMES
    ):
        return 0
    return 1 if lowered.endswith(LIKELY_OURS) or "." not in lowered else 2


_OWN_NAMES = frozenset(
    {"trainer_state.json", "metrics.csv", "train_config.yaml", "ds_config.json", "config.yaml", "mlflow.db"}
)


def _device(path: Path) -> int | None:
    """Number of the file system on which a directory lies; None if it cannot be known."""
    try:
        return path.lstat().st_dev
    except OSError:
        return None


def _is_of_the_kernel(path: Path) -> bool:
    """Whether a path lies in ``/proc``, ``/sys`` or ``/dev``, whose files answer, wait or never end."""
    try:
        real = path.resolve()
    except (OSError, RuntimeError):
        return False
    return any(real.is_relative_to(place) for place in _KERNEL) and not real.is_relative_to(_MEMORY)


_KERNEL, _MEMORY = ("/proc", "/sys", "/dev"), "/dev/shm"  # noqa: S108  (nothing is written there)


def _leads_out(path: Path, real_root: Path) -> str | None:
    """Why a link is not followed; None for what is no link and for a link within the directory."""
    try:
        if not path.is_symlink() or path.resolve().is_relative_to(real_root):
            return None
    except (OSError, RuntimeError):  # Python 3.11 raises RuntimeError for a circle of links
        return "a link that cannot be followed"
    return "link that leads out of the directory"


def _is_regular(path: Path) -> bool:
    """Whether a path is a file that can be opened as one; what cannot even be looked at is told when it is opened."""
    try:
        return path.is_file()
    except OSError:
        return True


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def choose_ingestor(candidate: Candidate, ingestors: Sequence[Ingestor]) -> Ingestor | None:
    """The ingestor with the highest match; ties go by name; None if nobody knows the file."""
    best: tuple[Match, Ingestor] | None = None
    for ingestor in sorted(ingestors, key=lambda i: i.name):
        match = ingestor.sniff(candidate)
        if match > Match.NO and (best is None or match > best[0]):
            best = (match, ingestor)
        if match == Match.SURE:
            break
    return None if best is None else best[1]


def discover(root: Path, ingestors: Sequence[Ingestor] | None = None) -> Discovery:
    """Look at every file under a directory, or at one file, which is read as a log if it is text that no reader should know.

    Raises:
        InputError: The path does not exist, is empty, or cannot be entered.
    """
    if not root.exists():
        raise InputError(
            f"{root}: no such file or directory; give a run directory, a log file, or - for standard input"
        )
    if _is_of_the_kernel(root) or not (root.is_dir() or root.is_file()):
        raise InputError(f"{root}: neither a directory nor a regular file; pipe a stream in with -")
    ingestors = all_ingestors() if ingestors is None else ingestors
    discovery = Discovery(root if root.is_dir() else root.parent)
    files = _walk(root, discovery) if root.is_dir() else [(root, safe_name(root.name))]
    seen: dict[tuple[int, str], list[Path]] = {}
    pages: list[tuple[Candidate, str]] = []
    for path, name in files:
        progress.saw_file()
        if reason := limits.CURRENT.budget.spent():
            discovery.unreadable.append((name, f"this and what follows was not looked at: {reason}"))
            break
        try:
            candidate = make_candidate(path, name)
        except UnreadableFileError as error:
            discovery.unreadable.append((name, str(error).partition(": ")[2]))
            continue
        if candidate.size_bytes == 0:
            discovery.empty.append(name)
            continue
        digest = sha256(candidate.head).hexdigest()
        alike = seen.setdefault((candidate.size_bytes, digest), [])
        if any(_is_same(path, other) for other in alike):  # a link inside the directory
            continue
        alike.append(path)
        ingestor = choose_ingestor(candidate, ingestors)
        if ingestor is None and path == root:
            ingestor = _of_asked(candidate, ingestors)
        if ingestor is None:
            discovery.unknown.append(name)
            if is_page(name) and len(pages) < MAX_PAGES:
                pages.append((candidate, digest))
        else:
            discovery.found.append(Found(candidate, ingestor, digest))
    if not discovery.found:
        _take_pages(discovery, pages, ingestors)
    _set_notebooks_aside(discovery)
    _set_cards_aside(discovery)
    return discovery


def _of_asked(candidate: Candidate, ingestors: Sequence[Ingestor]) -> Ingestor | None:
    """The reader of a file that none knows and that is itself what was asked for.

    Text is a log, unless its suffix gives it to another reader, which refused it. Rows of numbers, or of what can be
    rows of JSON, are taken as if the file were named for a course: whoever asks for it says as much.
    """
    suffix = candidate.path.suffix.lower()
    if suffix not in _OF_OTHER_READERS:
        return _of_logs(ingestors) if looks_like_text(candidate.head) else None
    of_rows = candidate.head.lstrip()[:1] in _STARTS_ROWS.get(suffix, ())
    return choose_ingestor(candidate._replace(name=f"metrics{suffix}"), ingestors) if of_rows else None


_DIGITS = frozenset(b"%d" % digit for digit in range(10))
_STARTS_ROWS = {".csv": _DIGITS, ".tsv": _DIGITS, ".json": {b"{", b"["}, ".jsonl": {b"{"}}


_OF_OTHER_READERS = frozenset({".csv", ".tsv", ".json", ".jsonl", ".yaml", ".yml", ".toml", ".ini", ".xml"})


def _of_logs(ingestors: Sequence[Ingestor]) -> Ingestor | None:
    """The reader of plain text, if it is asked."""
    return next((each for each in ingestors if each.name == "text-log"), None)


def _take_pages(
    discovery: Discovery, pages: list[tuple[Candidate, str]], ingestors: Sequence[Ingestor]
) -> None:
    """Read a page into which a run's output was copied as its log, where no other file tells of a run."""
    log = _of_logs(ingestors)
    for candidate, digest in pages:
        if log is not None and is_log_in_page(candidate):
            discovery.found.append(Found(candidate, log, digest))
            discovery.unknown.remove(candidate.name)


def _set_cards_aside(discovery: Discovery) -> None:
    """Leave out model cards beside what tells the course of the run: their tables repeat it."""
    cards = [found for found in discovery.found if is_model_card(found.candidate)]
    if any(found.ingestor.is_log for found in discovery.found if found not in cards):
        discovery.found[:] = [found for found in discovery.found if found not in cards]


def _set_notebooks_aside(discovery: Discovery) -> None:
    """Leave out notebooks beside a log: most look at runs. Of notebooks alone the one written last is the run."""
    notebooks = [found for found in discovery.found if found.ingestor.name == "notebook"]
    if not notebooks:
        return
    last = max(notebooks, key=lambda found: found.candidate.path.stat().st_mtime_ns)
    alone = not any(found.ingestor.is_log for found in discovery.found if found not in notebooks)
    aside = [found for found in notebooks if not alone or found is not last]
    discovery.found[:] = [found for found in discovery.found if found not in aside]
    if alone and aside:
        names = ", ".join(found.candidate.name for found in aside[:3])
        discovery.unreadable.append(
            (names, f"other notebooks beside {last.candidate.name}; give one by itself")
        )
