"""``analyzer verify REPORT.json``: is each cited line still what the report says it is?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from analyzer.cli.exit_codes import FINDING
from analyzer.errors import InputError


def verify_command(
    report: Annotated[Path, typer.Argument(help="What analyzer diagnose RUN -o report.json wrote.")],
    run: Annotated[
        Path | None,
        typer.Option("--run", help="Where the run is now, if it has moved; default: as the report says."),
    ] = None,
) -> None:
    """Look up every line that a report cites, and say which still read the same.

    Ends with 1 if a line differs or is gone. Records of binary files are counted, not compared.

    Example: analyzer diagnose runs/7b -o report.json && analyzer verify report.json
    """
    from analyzer.ingest.quote import line_of

    data = _loaded(report)
    root = run or Path(str(data["root"]))
    if not root.exists():
        raise InputError(f"{root}: the run is not there; say where it is with --run")
    same = changed = unquoted = 0
    for place in _places(data, report):
        path = root / place["path"] if root.is_dir() else root
        if place["line"] is None or not place["text"]:
            unquoted += 1
            continue
        now = line_of(path, place["line"])
        if now is not None and place["text"].rstrip("…").strip() in now:
            same += 1
            continue
        changed += 1
        typer.echo(f"differs: {place['path']}:{place['line']}" + (" (no such line)" if now is None else ""))
    typer.echo(f"{same} cited lines read the same, {changed} differ, {unquoted} are records without text")
    if changed:
        raise typer.Exit(FINDING)


def _loaded(report: Path) -> dict[str, Any]:
    from analyzer.model.diagnosis import SCHEMA_ID

    try:
        data = json.loads(report.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{report}: cannot be read as JSON ({error})") from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA_ID:
        raise InputError(f"{report}: not a report of analyzer ({SCHEMA_ID})")
    return data


def _places(data: dict[str, Any], report: Path) -> list[dict[str, Any]]:
    """Each cited place once.

    Raises:
        InputError: The report was changed so that it is none any more.
    """
    found: dict[tuple[str, Any], dict[str, Any]] = {}
    try:
        for finding in (*data["findings"], *data["ruled_out"]):
            for line in finding["evidence"]:
                for place in line["refs"]:
                    assert isinstance(place["path"], str)
                    assert isinstance(place["line"], int | None)
                    assert isinstance(place["text"], str)
                    found.setdefault((place["path"], place["line"]), place)
    except (AssertionError, KeyError, TypeError) as error:
        raise InputError(f"{report}: damaged: a finding, its evidence or a cited place is missing") from error
    return list(found.values())
