"""What other installed packages add: readers and rule packs, by their entry points.

In the ``pyproject.toml`` of such a package::

    [project.entry-points."analyzer.readers"]
    acme = "acme_reader:AcmeReader"       # a class as ingest/base.py describes an Ingestor

    [project.entry-points."analyzer.rule_packs"]
    acme = "acme_rules"                   # a package whose folder is a rule pack; nothing of it is executed

Looking through all installed packages takes longer than a small diagnosis, so what was found is kept until a folder of
``sys.path`` changes.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from analyzer.errors import RuleError
from analyzer.vocabulary import cache

READERS, PACKS = "analyzer.readers", "analyzer.rule_packs"


@lru_cache(maxsize=1)
def _entry_points() -> dict[str, list[list[str]]]:
    states = []
    for folder in sys.path:
        with suppress(OSError):
            states.append(f"{folder} {os.stat(folder or '.').st_mtime_ns}")  # noqa: PTH116  (a hundredfold cheaper)
    key = cache.key_of([], *states)
    found: dict[str, list[list[str]]] | None = cache.read("installed", key)
    if found is None:
        from importlib.metadata import entry_points  # noqa: PLC0415  (only what is not in the cache pays for it)

        found = {
            group: sorted([point.name, point.value] for point in entry_points(group=group))
            for group in (READERS, PACKS)
        }
        cache.write("installed", key, found)
    return found


def installed(group: str) -> list[tuple[str, str]]:
    """Name and value of each entry point of a group, by name."""
    return [(name, value) for name, value in _entry_points()[group]]


def folder_of(group: str, name: str, value: str) -> Path:
    """The folder of the package that an entry point names.

    Raises:
        RuleError: It is no package; its own package is at fault.
    """
    try:
        spec = find_spec(value)
    except (ImportError, ValueError):  # what it stands in is none
        spec = None
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    if not places:
        raise RuleError(f"{group}: {name} names {value!r}, which is no package with a folder")
    return Path(places[0])
