"""Which rule packs count in this process: those that other packages install, and those that a caller names.

A pack is a folder of rules. One that declares names of its own says in ``pack.yaml`` what they begin with, so that two
packs never mean different things by one name, and for which rules it was written::

    prefix: acme          # events acme_…, gates acme_…, causes acme-…
    version: 1.2.0        # of the pack; reports name it
    schema: 1             # of the rules that it was written for; another is refused before anything of it is read

Beside it may stand ``events.yaml`` (see ``events``), ``causes.yaml`` and ``gates.yaml``.

In the ``pyproject.toml`` of a package that brings a pack, or a reader::

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
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from analyzer.errors import RuleError, RuleSyntaxError
from analyzer.lazy_regex import LazyRegex
from analyzer.version import __version__
from analyzer.vocabulary import cache
from analyzer.vocabulary.marked import MarkedFile, load_marked, shown_path, text_of
from analyzer.vocabulary.sections import check_section

SCHEMA_VERSION = 1
"""Major version of what rules and packs may say. It changes when one that was right would be wrong or mean another thing."""

FIELDS: Mapping[str, Mapping[str, tuple[str, bool]]] = {
    "file": {"prefix": ("str", True), "version": ("str", False), "schema": ("int", False)}
}
_PREFIX = LazyRegex(r"[a-z][a-z0-9]{1,20}")

T = TypeVar("T")
_forget: list[Callable[[], None]] = []
_named: tuple[Path, ...] = ()
_left_out: Mapping[str, str] = {}


def remembered(function: Callable[[], T]) -> Callable[[], T]:
    """Keep the result of a function until other packs count."""
    kept = lru_cache(maxsize=1)(function)
    _forget.append(kept.cache_clear)
    return kept


def use(places: Sequence[Path]) -> None:
    """Let the names that these packs declare be known, beside those of installed packs.

    Args:
        places: Folders; a single rule file declares no names.
    """
    global _named  # noqa: PLW0603  (what a process knows is one thing)
    wanted = tuple(pack_of(place) for place in places)
    if wanted != _named:
        _named = wanted
        for forget in _forget:
            forget()


def leave_out(reasons: Mapping[str, str]) -> None:
    """From now on let installed packs not count.

    Args:
        reasons: Why each cannot be used, by the name of its entry point.
    """
    global _left_out  # noqa: PLW0603  (as above)
    _left_out = dict(reasons)
    for forget in _forget:
        forget()


def left_out() -> tuple[str, ...]:
    """A sentence for each installed pack that does not count."""
    return tuple(f"rule pack {name} was left out: {why}" for name, why in _left_out.items())


def pack_of(place: Path) -> Path:
    """The pack that a folder or a rule file belongs to: the nearest folder with ``pack.yaml``, or the place itself."""
    place = place.absolute()
    return next((above for above in (place, *place.parents) if (above / "pack.yaml").is_file()), place)


def installed_packs() -> tuple[Path, ...]:
    """Folders of the packs that other packages install, without those that are left out.

    Raises:
        RuleError: An entry point names no package.
    """
    return tuple(folder_of(PACKS, name, value) for name, value in installed(PACKS) if name not in _left_out)


def packs_in_use() -> tuple[Path, ...]:
    """Folders of all packs beside the bundled one."""
    return (*installed_packs(), *_named)


def declared_in_packs(file_name: str) -> list[Path]:
    """The files of one name in all packs in use."""
    return [path for place in packs_in_use() if (path := place / file_name).is_file()]


def load_own(path: Path) -> tuple[MarkedFile, str]:
    """A file of names that a pack declares, and what each of them must begin with.

    Raises:
        RuleSyntaxError: One of the two is not as described above.
    """
    about = path.parent / "pack.yaml"
    if not about.is_file():
        raise RuleSyntaxError(
            "a pack that declares names needs pack.yaml with their prefix", shown_path(path)
        )
    return load_marked(text_of(path, shown_path(path)), shown_path(path)), _about(about)["prefix"]


def _about(path: Path) -> dict[str, Any]:
    """What ``pack.yaml`` says.

    Raises:
        RuleSyntaxError: It is written for other rules, or not as described above.
    """
    said = load_marked(text_of(path, shown_path(path)), shown_path(path))
    schema = said.data.get("schema", SCHEMA_VERSION) if isinstance(said.data, dict) else SCHEMA_VERSION
    if schema != SCHEMA_VERSION:
        raise RuleSyntaxError(
            f"this pack is written for rules of schema {schema}; analyzer {__version__} reads schema {SCHEMA_VERSION}: "
            "install the analyzer that the pack asks for, or the release of the pack for this one",
            said.where("schema"),
        )
    found = check_section(said, FIELDS, "file", said.data, ())
    if not _PREFIX.fullmatch(found["prefix"]):
        raise RuleSyntaxError("a prefix is one lower-case word", said.where("prefix"))
    return found


def versions_in_use() -> tuple[str, ...]:
    """Name and version of each pack beside the bundled one, of those that say it.

    Raises:
        RuleSyntaxError: One is written for rules of another major version.
    """
    told = [_about(path) for path in declared_in_packs("pack.yaml")]
    return tuple(f"{about['prefix']} {about.get('version', '(no version)')}" for about in told)


def refuse_foreign_names(file: MarkedFile, section: str, begin: str) -> None:
    """Every name that a section declares begins as the pack's names do.

    Raises:
        RuleSyntaxError: One does not; with line and column.
    """
    names: Any = file.data.get(section) if isinstance(file.data, dict) else None
    for name in names if isinstance(names, dict) else ():
        if not name.startswith(begin):
            raise RuleSyntaxError(
                f"{name!r} must begin with {begin!r}, the prefix of its pack", file.where(section, name)
            )


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
