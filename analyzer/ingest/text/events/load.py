"""Read the patterns of log lines from ``*.yaml``: one file a family, its patterns in the order in which they are tried.

A file may name what several of its expressions share::

    pieces: {CODES: '13|31'}            # written ${CODES} in an expression; a list stands for its items in ``more``
    tables: {meanings: {'13': 'text'}}  # named under ``words``

``${NUMBER}`` and ``${SIZE}`` are known everywhere. An expression may be a list: any of its items.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from analyzer.errors import RuleSyntaxError
from analyzer.ingest.text.events.patterns import FIELD_TYPES, NUMBER, ROLES, SIZE, Pattern
from analyzer.vocabulary import cache
from analyzer.vocabulary.marked import MarkedFile, load_marked
from analyzer.vocabulary.sections import check_section, json_schema

FIELDS: Mapping[str, Mapping[str, tuple[str, bool]]] = {
    "file": {"pieces": ("map", False), "tables": ("map", False), "patterns": ("list", True)},
    "patterns": {
        "kind": ("str", True), "role": ("str", True), "literals": ("list", True), "regex": ("texts", True),
        "fields": ("map", False), "more": ("list", False), "unless": ("texts", False), "words": ("map", False),
        "once": ("bool", False),
    },
}  # fmt: skip
_GLOBAL_PIECES: Mapping[str, str] = {"NUMBER": NUMBER, "SIZE": SIZE}
_PIECE = re.compile(r"\$\{(\w+)\}")


def pattern_schema() -> dict[str, Any]:
    """JSON Schema of a file of patterns."""
    return json_schema(FIELDS, "analyzer.events/1", "file", {"role": ROLES})


@lru_cache(maxsize=1)
def all_patterns() -> tuple[Pattern, ...]:
    """Every pattern of every family."""
    files = sorted(Path(__file__).parent.glob("*.yaml"))
    key = cache.key_of(files, str(FIELDS), NUMBER, SIZE)
    rows = cache.read("events", key)
    if rows is None:
        rows = [row for path in files for row in _rows(path)]
        cache.write("events", key, rows)
    return tuple(_pattern(row) for row in rows)


def _pattern(row: Sequence[Any]) -> Pattern:
    kind, role, literals, regex, fields, more, unless, words, once = row
    return Pattern(kind, role, tuple(literals), regex, fields, tuple(more), unless, words, once)


def _rows(path: Path) -> Iterator[list[Any]]:
    """The patterns of a file, each as the values of ``Pattern``."""
    return read_patterns(load_marked(path.read_text(encoding="utf-8"), path.name))


def read_patterns(file: MarkedFile) -> Iterator[list[Any]]:
    """Check a loaded file of patterns.

    Args:
        file: The loaded file.

    Yields:
        The values of one ``Pattern``, as plain data.

    Raises:
        RuleSyntaxError: It is not as described above; with line and column.
    """
    data = check_section(file, FIELDS, "file", file.data, ())
    pieces = {**_GLOBAL_PIECES, **data.get("pieces", {})}
    tables = data.get("tables", {})
    for index, item in enumerate(data["patterns"]):
        keys = ("patterns", index)
        row = check_section(file, FIELDS, "patterns", item, keys)
        if row["role"] not in ROLES:
            raise RuleSyntaxError(
                f"{row['role']!r} is not one of {', '.join(ROLES)}", file.where(*keys, "role")
            )
        for group, name in row.get("fields", {}).items():
            if name not in FIELD_TYPES:
                raise RuleSyntaxError(
                    f"{name!r} is not one of {', '.join(FIELD_TYPES)}", file.where(*keys, "fields", group)
                )
        more = [
            text for part in row.get("more", []) for text in _spliced(file, part, pieces, (*keys, "more"))
        ]
        yield [
            row["kind"],
            row["role"],
            row["literals"],
            _expression(file, row["regex"], pieces, (*keys, "regex")),
            row.get("fields", {}),
            [_expression(file, text, pieces, (*keys, "more")) for text in more],
            _expression(file, row.get("unless", ""), pieces, (*keys, "unless")),
            {
                group: _table(file, name, tables, (*keys, "words", group))
                for group, name in row.get("words", {}).items()
            },
            row.get("once", False),
        ]


def _table(
    file: MarkedFile, name: str, tables: Mapping[str, Any], keys: tuple[str | int, ...]
) -> Mapping[str, str]:
    if name not in tables:
        raise RuleSyntaxError(f"no table is called {name!r}", file.where(*keys))
    found: Mapping[str, str] = tables[name]
    return found


def _spliced(
    file: MarkedFile, part: str, pieces: Mapping[str, Any], keys: tuple[str | int, ...]
) -> Sequence[str]:
    """One item of ``more``, or the items of the list that it names."""
    named = _PIECE.fullmatch(part)
    if named is None:
        return [part]
    if named[1] not in pieces:
        raise RuleSyntaxError(f"no piece is called {named[1]!r}", file.where(*keys))
    found = pieces[named[1]]
    return found if isinstance(found, list) else [part]


def _expression(
    file: MarkedFile, text: str | list[str], pieces: Mapping[str, Any], keys: tuple[str | int, ...]
) -> str:
    """A regular expression with its pieces filled in; of a list, any of its items."""

    def fill(found: re.Match[str]) -> str:
        piece = pieces.get(found[1])
        if not isinstance(piece, str):
            raise RuleSyntaxError(f"no piece is called {found[1]!r}", file.where(*keys))
        return _PIECE.sub(fill, piece)

    whole = _PIECE.sub(fill, text if isinstance(text, str) else "|".join(text))
    try:
        re.compile(whole)
    except re.error as error:
        raise RuleSyntaxError(f"not a regular expression: {error}", file.where(*keys)) from error
    return whole
