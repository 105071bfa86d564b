"""Which files make a run, and which of several runs is the newest.

Where one run ends and the next begins is decided by names (``boundaries``), for one directory as for a fleet. Within
what they call one run, W&B runs, MLflow runs and time-stamped work directories side by side are told apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from analyzer.ingest.rank_names import names_part
from analyzer.ingest.runs import run_shapes as shapes
from analyzer.ingest.runs.boundaries import Folder, Skipped, visit
from analyzer.ingest.text.prefixes import peel
from analyzer.ingest.walk import Discovery, Found
from analyzer.lazy_regex import LazyRegex
from analyzer.record import NamedTuple, dataclass, field

_WANDB_RUN = LazyRegex(r"(?:^|/)((?:offline-)?run-\d{8}_\d{6}-[^/]+)/")
_MLFLOW_RUN = LazyRegex(r"(?:^|/)([0-9a-f]{32})/(?:(?:metrics|params|tags)/|meta\.yaml$)")
_STAMPED = LazyRegex(r"(?:^|/)((?:version_\d+|\d{8}_\d{6}|attempt_\d+|run_\d+))/")

_PHASE = LazyRegex(
    r"(?i)^(?:.{0,200}[_.-])?(?P<phase>train(?:ing)?|val|valid|validation|eval|evaluation|test|dev)$"
)


class RunGroup(NamedTuple):
    """Files of one run. ``label`` is empty if the directory holds one run only.

    ``nested`` is whether they lie below the directory and not in it.
    """

    label: str
    found: tuple[Found, ...]
    nested: bool = True


CHECKPOINT = LazyRegex(r"(?:^|(?<=/))checkpoint-(\d{1,12})/")

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
            run = CHECKPOINT.sub("", name)
            old = largest.get(run)
            if old is None or item.candidate.size_bytes > old.candidate.size_bytes:
                largest[run] = item
    kept = {id(item) for item in largest.values()}
    return [
        item for item in found if not item.candidate.name.endswith("trainer_state.json") or id(item) in kept
    ]


SMALL_BYTES = 1024
"""Equal files of that size are markers and stubs, not copies of one log."""


def without_copies(found: Sequence[Found]) -> list[Found]:
    """Drop each file of a run that is equal to another one of it in all of its bytes."""
    kept: list[Found] = []
    alike: dict[tuple[int, str], list[Found]] = {}
    for item in found:
        size = item.candidate.size_bytes
        others = alike.setdefault((size, item.sha256_head), [])
        if size > SMALL_BYTES and any(_equal(item, other) for other in others):
            continue
        others.append(item)
        kept.append(item)
    return kept


def _equal(one: Found, other: Found) -> bool:
    try:
        with one.candidate.path.open("rb") as first, other.candidate.path.open("rb") as second:
            while block := first.read(1 << 20):
                if block != second.read(1 << 20):
                    return False
    except OSError:
        return False
    return True


_SENTENCE = LazyRegex(
    r"^[A-Z\"'][^{}=|<>]{20,400}[.!?:,]$|^(?:[A-Za-z',;()-]{1,30} ){6,60}[A-Za-z',;()-]{1,30}[.!?:,]?$"
)
"""A line of prose: words and the marks of sentences, none of those of programs."""

PROSE_LINES = 2
"""Lines of prose from which a text may be notes about a run."""


def without_notes(found: Sequence[Found]) -> tuple[list[Found], list[str]]:
    """Drop texts that are mostly prose from beside a log: notes quote lines of other runs. Also the names of those."""
    if sum(item.ingestor.is_log for item in found) < 2:
        return list(found), []
    notes = [item for item in found if item.ingestor.name == "text-log" and _is_prose(item)]
    kept = [item for item in found if item not in notes]
    if not any(item.ingestor.is_log for item in kept):
        return list(found), []
    return kept, [item.candidate.name for item in notes]


def _is_prose(item: Found) -> bool:
    """Whether at least half of the lines of a text that is not named like a log are sentences."""
    if shapes.is_log(item.candidate.path.name):
        return False
    text = item.candidate.head.decode("utf-8", "replace")
    lines = [
        line.strip()
        for line in text.splitlines()[:200]
        if line.strip() and not line.startswith((" ", "\t", ">"))
    ]
    prose = sum(_SENTENCE.match(line[:500]) is not None for line in lines)
    return prose >= PROSE_LINES and prose * 2 >= len(lines)


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


def _run_like_directories(found: Sequence[Found]) -> frozenset[str]:
    """Top-level sub-directories that each hold a run of their own: two or more with a log, none at the root."""
    from_top: dict[str, bool] = {}
    for item in found:
        top, _, rest = item.candidate.name.partition("/")
        is_log = item.ingestor.is_log
        if rest and names_part(top):
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


@dataclass
class _Places:
    """What lies between the boundaries: path, kind and files of each run, below the root."""

    runs: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


def group_runs(discovery: Discovery) -> list[RunGroup]:
    """The runs of a directory, told apart as in a fleet; what belongs to none (configuration above them) goes to each.

    A directory that is one run there may still hold several W&B runs or work directories: see ``split_runs``.
    """
    found = without_superseded(discovery.found)
    places = _Places()
    visit(_tree(discovery), places, _place)
    if len(places.runs) < 2:
        return split_runs(found)
    return [group for place in places.runs for group in _groups_at(place, found)] or split_runs(found)


def _place(path: str, kind: str, why: str, extra: list[str]) -> tuple[str, tuple[str, ...]]:
    del why
    return path, (() if kind == "directory" else (path, *extra))


def _groups_at(place: tuple[str, tuple[str, ...]], found: Sequence[Found]) -> list[RunGroup]:
    """The run, or the W&B runs and the like, that lie at a place."""
    path, files = place
    inside = f"{path}/"
    own = [item for item in found if (_rooted(item) in files if files else _rooted(item).startswith(inside))]
    if not own:
        return []
    others = [item for item in found if not item.ingestor.is_log]
    above = [item for item in others if inside.startswith(_rooted(item).rpartition("/")[0] + "/")]
    shared = [item for item in above if item not in own]
    label = path.removeprefix(_TOP).lstrip("/")
    groups = split_runs(own)
    if len(groups) > 1:
        return [RunGroup(group.label, (*shared, *group.found)) for group in groups]
    return [RunGroup(label, (*shared, *own), nested="/" in label or not files)]


_TOP = "run"
"""Stands for the directory itself, whose real name must not decide what is in it."""


def _rooted(item: Found) -> str:
    return f"{_TOP}/{item.candidate.name}"


def _tree(discovery: Discovery) -> Folder:
    """The directories of the walk, their files sorted by what names and readers say."""
    top = Folder(_TOP, 0)
    folders = {_TOP: top}
    for item in discovery.found:
        folder, name = _folder_of(item.candidate.name, folders)
        if shapes.is_marker(name):
            folder.markers.append(name)
        elif shapes.is_config(name) and not item.ingestor.is_log:
            folder.configs.append(name)
        elif shapes.is_log(name):
            folder.logs.append(name)
        elif item.ingestor.name == "flight-recorder":
            folder.markers.append(name)
        elif item.ingestor.is_log:
            folder.sniffed.append(name)
        else:
            folder.others.append(name)
    for name in discovery.empty:
        folder, last = _folder_of(name, folders)
        folder.empty.append(last)
    for folder in folders.values():
        folder.settle()
    return top


def _folder_of(name: str, folders: dict[str, Folder]) -> tuple[Folder, str]:
    """The folder of a file, made if need be, and the file's own name."""
    *parts, last = name.split("/")
    path = _TOP
    for depth, part in enumerate(parts, start=1):
        above, path = folders[path], f"{path}/{part}"
        if path not in folders:
            folders[path] = Folder(path, depth)
            above.below.append(folders[path])
    return folders[path], last


_STAMP = LazyRegex(r"(\d{4})-?(\d\d)-?(\d\d)[_/T -](\d\d)[-:]?(\d\d)[-:]?(\d\d)(?!\d)")

COPIED_S = 60.0
"""Files that were all written within that time were copied or checked out: their age says nothing about the runs."""

FIRST_LINES = 50
"""Lines at the beginning of a log that are searched for its first time."""


def newest_first(groups: Sequence[RunGroup]) -> list[RunGroup]:
    """Runs in order of their start, the last one first; before them those that lie in the directory itself.

    A stamp in the name is the best evidence, then the first time in the log, then the age of the newest file: a copy or
    a checkout gives every file the same age.
    """
    stamps = [_stamp_of(group) for group in groups]
    ages = [_newest_file_s(group) for group in groups]
    times = [0.0] * len(groups)
    if not all(stamps):
        stamps = [""] * len(groups)
        if max(ages) - min(ages) <= COPIED_S:
            times = [_first_time_s(group) for group in groups]
    keys = {id(group): key for group, *key in zip(groups, stamps, times, ages, strict=True)}
    return sorted(groups, key=lambda group: (not group.nested, *keys[id(group)], group.label), reverse=True)


def _stamp_of(group: RunGroup) -> str:
    match = _STAMP.search(group.label)
    return "".join(match.groups()) if match else _stated_start(group)


def _newest_file_s(group: RunGroup) -> float:
    times: list[float] = []
    for item in group.found:
        if item.candidate.name.startswith(group.label):
            with suppress(OSError):  # it may have gone
                times.append(item.candidate.path.stat().st_mtime)
    return max(times, default=0.0)


def _first_time_s(group: RunGroup) -> float:
    """The earliest first time of its logs; 0 if none shows one."""
    found = []
    for item in group.found:
        if item.ingestor.name == "text-log":
            lines = item.candidate.head.decode("utf-8", "replace").splitlines()[:FIRST_LINES]
            found.append(next((at for line in lines if (at := peel(line[:200]).time_s) is not None), 0.0))
    return min(filter(None, found), default=0.0)


_MLFLOW_START = re.compile(rb"(?m)^start_time: (\d{13})\b")


def _stated_start(group: RunGroup) -> str:
    """When a run of MLflow began, as its own file says; empty for others."""
    for item in group.found:
        if item.ingestor.name == "mlflow-files" and item.candidate.name == f"{group.label}/meta.yaml":
            match = _MLFLOW_START.search(item.candidate.head)
            return match[1].decode() if match else ""
    return ""
