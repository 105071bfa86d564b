"""What libraries, devices and published models are called, see ``known_names.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from analyzer.lazy_regex import LazyRegex
from analyzer.vocabulary import cache
from analyzer.vocabulary.marked import MarkedFile
from analyzer.vocabulary.sections import check_expression, check_section

LISTS = {
    "libraries": "str",
    "platforms": "str",
    "backends": "str",
    "capabilities": "number",
    "bf16_models": "bool",
}
"""Each list, and the type of what a name tells."""

FIELDS: Mapping[str, Mapping[str, tuple[str, bool]]] = {
    "file": dict.fromkeys(LISTS, ("list", True)),
    **{name: {"is": (kind, True), "named": ("str", True)} for name, kind in LISTS.items()},
}
_FILE = Path(__file__).parent / "known_names.yaml"


def read_names(file: MarkedFile) -> dict[str, list[list[Any]]]:
    """Check a loaded file of names: of each list what a name tells, and its pattern.

    Raises:
        RuleSyntaxError: It is not as declared; with line and column.
    """
    found: dict[str, list[list[Any]]] = {}
    for name, items in check_section(file, FIELDS, "file", file.data, ()).items():
        rows = [check_section(file, FIELDS, name, item, (name, index)) for index, item in enumerate(items)]
        found[name] = [
            [row["is"], check_expression(file, row["named"], name, index, "named")]
            for index, row in enumerate(rows)
        ]
    return found


@lru_cache(maxsize=1)
def _data() -> Mapping[str, list[list[Any]]]:
    data: Mapping[str, list[list[Any]]] = cache.checked_file("names", _FILE, read_names, str(FIELDS))
    return data


@lru_cache(maxsize=len(LISTS))
def known_names(name: str) -> tuple[tuple[Any, LazyRegex], ...]:
    """The rows of a list: what a name tells, and how it is found."""
    return tuple((told, LazyRegex(pattern)) for told, pattern in _data()[name])


def told_by(name: str, text: str) -> Any:
    """What the first row of a list tells that is found in a text; None if none is.

    >>> told_by("backends", "ProcessGroupNCCL's watchdog"), told_by("capabilities", "tesla t4"), told_by("bf16_models", "x")
    ('nccl', 7.5, None)
    """
    return next((told for told, pattern in known_names(name) if pattern.search(text)), None)
