"""``analyzer verify REPORT.json``: do the cited lines and the values of the evidence still stand?"""

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
    """Check that every line a report cites still reads the same.

    The run is read again for the values that its evidence names. Ends with 1 if a line or a value differs or is gone. Records of binary files are checked by their values.

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
        if place["line"] is None or not place["text"] or _is_binary(path):
            unquoted += 1
            continue
        now = line_of(path, place["line"])
        if now is not None and place["text"].rstrip("…").strip() in now:
            same += 1
            continue
        changed += 1
        typer.echo(f"differs: {place['path']}:{place['line']}" + (" (no such line)" if now is None else ""))
    typer.echo(
        f"{same} cited lines read the same, {changed} differ, {unquoted} are records of binary files or whole files"
    )
    if changed + _values_that_differ(data, root):
        raise typer.Exit(FINDING)


def _is_binary(path: Path) -> bool:
    if not path.is_file():  # gone, which is said of its lines; or a pipe or a device, which may never end
        return False
    try:
        with path.open("rb") as stream:
            return b"\0" in stream.read(4096)
    except OSError:
        return False


def _values_that_differ(data: dict[str, Any], root: Path) -> int:
    """Read the run anew and compare what each line of evidence rests on; says what differs."""
    from analyzer import api

    try:
        now = api.diagnose(root, offline=True).to_dict()
    except InputError as error:
        typer.echo(f"the run cannot be read any more: {error}")
        return 1
    if now["rules_digest"] != data.get("rules_digest"):
        typer.echo("note: the report was made with other rules; a value may differ for that reason")
    before, after = _values(data), _values(now)
    differ = [(name, value) for name, value in before.items() if after.get(name) != value]
    for name, value in differ:
        typer.echo(f"differs: {name} was {value}, is {after.get(name, 'unknown')}")
    typer.echo(f"{len(before) - len(differ)} values of the evidence are the same, {len(differ)} differ")
    return len(differ)


def _values(data: dict[str, Any]) -> dict[str, Any]:
    """The facts behind the counted lines of evidence, by name."""
    lines = [line for finding in (*data["findings"], *data["ruled_out"]) for line in finding["evidence"]]
    counted = (
        line["values"] for line in lines if line.get("counted") and isinstance(line.get("values"), dict)
    )
    return {name: value for values in counted for name, value in values.items()}


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
