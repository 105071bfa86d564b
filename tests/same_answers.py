"""Write the answers of all runs at hand, and compare two such files: the tool for moving walls.

    python tests/same_answers.py write before.json
    … change the code …
    python tests/same_answers.py write after.json
    python tests/same_answers.py compare before.json after.json

Runs are the samples, the files of ``../shared/data/public`` where they are, and the run cases of the rules. Times
and the tool's version are left out; everything else of the JSON answer counts.
"""

from __future__ import annotations

import json
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PUBLIC = ROOT.parent / "shared" / "data" / "public"
VOLATILE = {
    "elapsed_s",
    "tool",
    "version",
    "created",
    "rules_digest",
    "lifecycle.written_ago_s",
    "silent_s",
    "ended.silent_s",
}
AGE = re.compile(
    r"\b\d+ s ago\b|\b\d+ (?:s|min|h|days) old\b"
)  # of the file, which a new checkout makes young
AGE_S = 30 * 86400.0
"""Of every file: a new checkout makes all of them young, and a young log may still be written."""


def runs() -> list[Path]:
    """Every run that an answer is written for, the same list in the same order everywhere."""
    samples = [p for kind in ("failed", "healthy", "fixed") for p in (ROOT / "samples" / kind).iterdir()]
    cases = {p.parent for p in (ROOT / "rules").glob("*/*/cases/*/case.yaml")}
    public = (
        [p for p in PUBLIC.rglob("*") if p.is_file() and p.name != "manifest.csv"] if PUBLIC.is_dir() else []
    )
    return [*sorted(p for p in samples if p.is_dir()), *sorted(cases), *sorted(public)]


def name_of(run: Path) -> str:
    """A run's name that is equal in every checkout."""
    base = ROOT if run.is_relative_to(ROOT) else PUBLIC
    return run.relative_to(base).as_posix()


def without_volatile(value: object) -> object:
    """A JSON value without what changes from call to call, and with paths of this checkout made relative."""
    if isinstance(value, dict):
        return {key: without_volatile(item) for key, item in value.items() if key not in VOLATILE}
    if isinstance(value, list):
        return [without_volatile(item) for item in value]
    if isinstance(value, str):
        return AGE.sub("… s ago", value.replace(f"{ROOT}/", "").replace(f"{PUBLIC}/", ""))
    return value


def answer(run: Path) -> tuple[str, object]:
    """The answer for one run, or the error in its place."""
    import analyzer
    from analyzer.errors import AnalyzerError
    from analyzer.ingest import discover

    discover._age_s = lambda _path: AGE_S
    try:
        return name_of(run), without_volatile(analyzer.diagnose(run).to_dict())
    except AnalyzerError as error:
        return name_of(run), f"{type(error).__name__}: {error}".replace(f"{ROOT}/", "").replace(
            f"{PUBLIC}/", ""
        )


def differences(before: object, after: object, place: str = "") -> list[str]:
    """Where two JSON values differ, one line each."""
    if isinstance(before, dict) and isinstance(after, dict):
        keys = sorted({*before, *after})
        return [
            line for key in keys for line in differences(before.get(key), after.get(key), f"{place}.{key}")
        ]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [line for i, (old, new) in pairs for line in differences(old, new, f"{place}[{i}]")]
    return [] if before == after else [f"{place}: {json.dumps(before)[:200]} -> {json.dumps(after)[:200]}"]


def write(target: Path) -> None:
    """Diagnose everything on two processes and write one JSON file."""
    with ProcessPoolExecutor(2) as pool:
        found = dict(pool.map(answer, runs(), chunksize=4))
    target.write_text(json.dumps(found, indent=1, sort_keys=True), encoding="utf-8")
    print(f"{len(found)} answers in {target}")


def compare(before: Path, after: Path, most: int = 12) -> int:
    """Print what differs, at most ``most`` lines per run; 1 if anything does."""
    old, new = (json.loads(path.read_text(encoding="utf-8")) for path in (before, after))
    changed = 0
    for name in sorted({*old, *new}):
        lines = differences(old.get(name), new.get(name))
        changed += bool(lines)
        if lines:
            print(name, *(f"  {line}" for line in lines[:most]), sep="\n")
            print(f"  … {len(lines) - most} more" * (len(lines) > most))
    print(f"{changed} of {len({*old, *new})} answers differ")
    return int(changed > 0)


if __name__ == "__main__":
    command, *paths = sys.argv[1:] or [""]
    if command == "write" and len(paths) == 1:
        write(Path(paths[0]))
    elif command == "compare" and len(paths) == 2:
        sys.exit(compare(Path(paths[0]), Path(paths[1])))
    else:
        sys.exit(__doc__)
