"""Defaults of options from ``analyzer.toml`` or ``[tool.analyzer]`` of ``pyproject.toml``, the nearest upwards.

    # analyzer.toml
    [diagnose]
    fail-on = "likely"
    rules = ["our-rules"]

A table holds options of the command of its name; what stands on the command line wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analyzer.errors import InputError

MAX_BYTES = 64 * 1024
"""A configuration is small; a larger file is none."""

_PATHS = frozenset({"rules", "output", "checkpoint", "replay"})
"""Options that name files: relative to the file that holds them."""


def find_configuration(start: Path) -> tuple[Path, dict[str, Any]] | None:
    """The nearest file upwards that configures analyzer, and its tables; None if there is none.

    Raises:
        InputError: The file is damaged.
    """
    for directory in (start, *start.parents):
        for name in ("analyzer.toml", "pyproject.toml"):
            path = directory / name
            tables = _read(path)
            if tables is not None:
                return path, tables
    return None


def _read(path: Path) -> dict[str, Any] | None:
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return None
        text = path.read_text(encoding="utf-8")
        if path.name == "pyproject.toml" and not any(map(_may_name_us, text.splitlines())):
            return None
        import tomllib

        whole = tomllib.loads(text)
    except (OSError, ValueError) as error:
        if path.name == "pyproject.toml":
            return None  # whoever owns it will be told by their own tools
        raise InputError(f"{path}: cannot be read as TOML ({error})") from error
    tables = whole if path.name == "analyzer.toml" else whole.get("tool", {}).get("analyzer")
    return tables if isinstance(tables, dict) else None


def _may_name_us(line: str) -> bool:
    """Whether a line of TOML may hold or lead to ``tool.analyzer``: parsing each project's file would cost a start too much."""
    meant = line.partition("#")[0]
    return "tool" in meant and ("analyzer" in meant or meant.strip("[] \t") == "tool")


def defaults_of(
    path: Path, tables: Mapping[str, Any], commands: Mapping[str, Mapping[str, str]]
) -> dict[str, Any]:
    """Defaults by command and parameter.

    Args:
        path: The file, for messages and as the place that paths are relative to.
        tables: Its tables.
        commands: Of each command its options by name without dashes in front, and the parameter that each sets.

    Raises:
        InputError: A table is no command or a key no option of it.
    """
    found: dict[str, Any] = {}
    for command, options in tables.items():
        if command not in commands or not isinstance(options, dict):
            raise InputError(f"{path}: [{command}] is no command; known are {', '.join(sorted(commands))}")
        for option, value in options.items():
            name = option.replace("_", "-")
            if name not in commands[command]:
                known = ", ".join(sorted(commands[command]))
                raise InputError(f"{path}: {option!r} is no option of {command}; known are {known}")
            found.setdefault(command, {})[commands[command][name]] = _meant(path, name, value)
    return found


def _meant(path: Path, name: str, value: Any) -> Any:
    """A value with its paths taken from the file that holds it."""
    if name not in _PATHS:
        return value
    return (
        [str(path.parent / str(item)) for item in value]
        if isinstance(value, list)
        else str(path.parent / str(value))
    )
