"""The same answer under damage: one run, many ways in which logs are cut, mixed, prefixed and renamed.

    python tests/robustness/damage.py [--limit N] [--seed S] [--way WAY…] [--cells FILE] [RUN…]

Without RUN: all samples and 60 console logs of the public run files. One line a bad cell, then the sums of each way;
FILE gets every cell as a line of JSON.

Cells: ``same`` (first cause as before), ``unsure`` (it leads with less than a half, or the class of symptoms leads of
which it is one: what told it from its siblings is gone, or it stands among the findings),
``silent`` (insufficient or interrupted), ``healthy`` (a failed run called healthy), ``accused`` (a healthy run with a
fault at 0.5 or more), ``wrong`` (another cause at 0.6 or more).
"""

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

from public_files import PUBLIC, manifest  # noqa: E402  (beside all tests)

from analyzer import api  # noqa: E402
from analyzer.errors import AnalyzerError  # noqa: E402
from analyzer.rules.causes import catalogue  # noqa: E402

SAMPLES = Path(__file__).parents[2] / "samples"
LOGS = (".log", ".out", ".err", ".txt")
PUBLIC_RUNS = 60
SURE, WRONG_FROM = 0.5, 0.6


def _lines(text):
    return text.splitlines(keepends=True)


def _each(prefix):
    return lambda text, _: "".join(prefix(number) + line for number, line in enumerate(_lines(text)))


def _lost(share):
    return lambda text, dice: "".join(line for line in _lines(text) if dice.random() >= share)


def _shuffled(text, dice):
    """Neighbours swapped, as two streams within a few milliseconds are."""
    lines = _lines(text)
    for at in range(0, len(lines) - 1, 2):
        if dice.random() < 0.1:
            lines[at], lines[at + 1] = lines[at + 1], lines[at]
    return "".join(lines)


def _interleaved(text, _):
    return "".join(f"[rank{rank}]: {line}" for line in _lines(text) for rank in (0, 1))


def _ansi(text, _):
    return "".join(f"\x1b[32m{line.rstrip()}\x1b[0m\n" for line in _lines(text))


def _tqdm(text, _):
    return "".join(f"\r 10%|█         | 1/10 [00:01<00:09,  1.00s/it]\r{line}" for line in _lines(text))


def _interval(text, _):
    """Every second row of metrics is not logged."""
    kept, seen = [], 0
    for line in _lines(text):
        if re.search(r"loss['\"]?\s*[:=]", line):
            seen += 1
            if seen % 2:
                continue
        kept.append(line)
    return "".join(kept)


WAYS = {
    "cut anywhere": lambda text, dice: text[: dice.randrange(len(text) + 1)],
    "cut at nine tenths": lambda text, _: text[: len(text) * 9 // 10],
    "cut at a half": lambda text, _: text[: len(text) // 2],
    "first half cut": lambda text, _: text[len(text) // 2 :],
    "1 % of lines lost": _lost(0.01),
    "10 % of lines lost": _lost(0.10),
    "neighbours shuffled": _shuffled,
    "ranks interleaved": _interleaved,
    # ten lines a second: a clock that is slower would invent waits
    "prefix: time": _each(lambda n: f"2026-05-19T13:{n // 600 % 60:02d}:{n // 10 % 60:02d}.{n % 10}00Z "),
    "prefix: time in brackets": _each(lambda n: f"[2026-05-19 13:{n // 600 % 60:02d}:{n // 10 % 60:02d}] "),
    "prefix: rank": _each(lambda _: "[rank0]: "),
    "prefix: docker compose": _each(lambda _: "trainer-1  | "),
    "prefix: kubernetes": _each(lambda _: "worker-3: "),
    "prefix: slurm": _each(lambda _: "0: "),
    "CRLF": lambda text, _: text.replace("\r\n", "\n").replace("\n", "\r\n"),
    "ANSI colours": _ansi,
    "progress bar": _tqdm,
    "UTF-16": lambda text, _: text,
    "doubled": lambda text, _: text + text,
    "metrics renamed": lambda text, _: re.sub(r"\bloss\b", "train_loss", text),
    "gradient norm dropped": lambda text, _: re.sub(
        r",? ?['\"]?grad_norm['\"]?: ?['\"]?[-+.\w]+['\"]?", "", text
    ),
    "half of the rows": _interval,
}
CUTS = (
    "cut anywhere",
    "cut at nine tenths",
    "cut at a half",
    "first half cut",
    "10 % of lines lost",
    "half of the rows",
)
"""Ways that take evidence away: the part that failed may be gone."""


def damaged(run, way, folder, dice):
    """A copy of a run, a folder or one file, of which every console log is damaged; None if it has none."""
    copy = folder / run.name
    if copy.is_dir():
        shutil.rmtree(copy)
    if run.is_dir():
        shutil.copytree(run, copy)
    else:
        shutil.copy2(run, copy)
    changed = False
    for path in sorted(copy.rglob("*")) if copy.is_dir() else [copy]:
        if path.suffix.lower() not in LOGS or not path.is_file() or path.name.startswith("requirements"):
            continue
        text, written = path.read_text(encoding="utf-8", errors="replace"), path.stat().st_mtime_ns
        after = WAYS[way](text, dice)
        encoding = "utf-16" if way == "UTF-16" else "utf-8"
        path.write_bytes(after.encode(encoding, "replace"))
        os.utime(path, ns=(written, written))  # a young file may belong to a run that goes on
        changed = changed or after != text or encoding != "utf-8"
    return copy if changed else None


def answer(path):
    """Status and the probabilities of the causes that are found."""
    try:
        diagnosis = api.diagnose(path, offline=True)
    except AnalyzerError:
        return "unreadable", []
    return diagnosis.status, [
        (f.cause.id, f.probability) for f in diagnosis.findings if f.severity != "advisory"
    ]


def ancestors(cause):
    """The classes of symptoms that a cause belongs to."""
    found = []
    while cause in catalogue() and catalogue()[cause].parent:
        cause = catalogue()[cause].parent
        found.append(cause)
    return found


def cell(before, after):
    """What became of an answer."""
    (was, causes), (now, found) = before, after
    if was == "healthy":
        accused = now in {"failed", "degraded"} and any(p >= SURE for _, p in found)
        return "accused" if accused else "same" if now == "healthy" else "silent"
    if now == "healthy":
        return "healthy"
    if now not in {"failed", "degraded"} or not found:
        return "silent"
    first = causes[0][0] if causes else ""
    if found[0][0] == first:
        return "same" if found[0][1] >= SURE or causes[0][1] < SURE else "unsure"
    if found[0][0] in ancestors(first):
        return "unsure"
    if found[0][1] >= WRONG_FROM and (causes and causes[0][1] >= SURE):
        return "wrong"
    return "unsure"


def matrix(runs, ways, seed=0):
    """(way, run, cell, first cause before and after) of every pair."""
    with tempfile.TemporaryDirectory(prefix="damage-") as directory:
        for run in runs:
            before = answer(run)
            if before[0] not in {"healthy", "failed", "degraded"}:
                continue
            for way in ways:
                copy = damaged(run, way, Path(directory), random.Random(f"{seed} {run.name} {way}"))
                if copy is not None:
                    after = answer(copy)
                    yield way, run, cell(before, after), before, after


def sample_runs():
    """All samples, a stable order."""
    return sorted(
        path
        for kind in ("failed", "healthy", "fixed")
        for path in (SAMPLES / kind).iterdir()
        if path.is_dir()
    )


def public_runs():
    """Console logs of public runs, evenly chosen over all formats and outcomes; none where they are not here."""
    logs = sorted(
        (row["format"], row["outcome_class"], row["local_path"])
        for row in manifest()
        if row["local_path"].endswith(LOGS)
    )
    return [PUBLIC / logs[number * len(logs) // PUBLIC_RUNS][2] for number in range(PUBLIC_RUNS) if logs]


def main():
    """Print the matrix."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--limit", type=int, default=0, help="only so many runs, evenly chosen")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--way", action="append", choices=list(WAYS), help="only this way of damage")
    parser.add_argument("--cells", type=Path, help="a file for every cell, a line of JSON each")
    given = parser.parse_args()
    runs = given.runs or [*sample_runs(), *public_runs()]
    if given.limit:
        runs = runs[:: max(1, len(runs) // given.limit)][: given.limit]
    sums = {}
    with given.cells.open("w", encoding="utf-8") if given.cells else contextlib.nullcontext() as cells:
        for way, run, found, before, after in matrix(runs, given.way or WAYS, given.seed):
            sums.setdefault(way, Counter())[found] += 1
            if cells:
                cells.write(json.dumps([found, way, str(run), before, after]) + "\n")
                cells.flush()
            if found in {"wrong", "accused", "healthy"}:
                first = [answers[1][0][0] if answers[1] else answers[0] for answers in (before, after)]
                sys.stdout.write(f"{found:8} {way:26} {run.name}: {first[0]} -> {first[1]}\n")
                sys.stdout.flush()
    show(sums)


def show(sums):
    """A line a way, and all of them."""
    names = ("same", "unsure", "silent", "healthy", "accused", "wrong")
    sums = {**sums, "all": sum(sums.values(), Counter())}
    sys.stdout.write(f"\n{'':28}" + "".join(f"{name:>9}" for name in names) + "\n")
    for way, counts in sums.items():
        sys.stdout.write(f"{way:28}" + "".join(f"{counts[name]:>9}" for name in names) + "\n")


if __name__ == "__main__":
    main()
