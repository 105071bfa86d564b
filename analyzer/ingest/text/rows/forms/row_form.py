"""What rows and blocks of known programs look like: the forms that ``forms.yaml`` declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

from analyzer.errors import RuleSyntaxError
from analyzer.ingest.text.rows.printed_numbers import NUMBER
from analyzer.lazy_regex import LazyRegex
from analyzer.record import NamedTuple
from analyzer.vocabulary import cache
from analyzer.vocabulary.frameworks import framework_of, frameworks
from analyzer.vocabulary.marked import MarkedFile
from analyzer.vocabulary.sections import check_expression, check_section

FIELDS: Mapping[str, Mapping[str, tuple[str, bool]]] = {
    "file": {"parts": ("map", True), "forms": ("list", True), "blocks": ("list", False)},
    "form": {
        "name": ("str", True),
        "program": ("str", False),
        "literals": ("list", True),
        "head": ("str", True),
        "pair": ("str", True),
        "names": ("map", False),
        "examples": ("list", False),
        "epoch": ("int", False),
        "restarts": ("bool", False),
        "steps": ("bool", False),
        "step_key": ("str", False),
        "validation": ("bool", False),
        "last_only": ("bool", False),
        "from_start": ("bool", False),
        "follows": ("bool", False),
        "window": ("bool", False),
    },
    "block": {
        "name": ("str", True),
        "program": ("str", False),
        "literals": ("list", True),
        "head": ("str", True),
        "row": ("str", True),
        "names": ("map", False),
        "step_key": ("str", False),
        "end": ("str", False),
        "validation": ("bool", False),
        "known_only": ("bool", False),
        "names_only": ("bool", False),
    },
}
_REGEXES = ("head", "pair", "row", "end")
_FILE = Path(__file__).parent / "forms.yaml"
_PART = LazyRegex(r"\$\{([A-Z_]{1,40})\}")
_EITHER = LazyRegex(r"\{([^{}]*)\}")


class RowForm(NamedTuple):
    """How one program prints a row."""

    name: str  # what messages and tests call it
    literals: tuple[str, ...]  # texts of which one stands in every such row
    # where the row states its place: groups ``step``, and where there are ``total``, ``epoch`` and ``batch``, which counts
    # within an epoch and is used where ``step`` is absent; of a row of ``validation``, ``training`` is what it tells of that
    head: LazyRegex
    # where a value stands: groups ``key``, ``value`` and, where there is one, ``unit``. A value whose unit is its only name
    # has the groups ``before_unit`` and ``unit_key`` instead.
    pair: LazyRegex
    program: str = ""  # name of the framework, or empty for forms that several loops share
    names: Mapping[str, str] = {}  # the name under which a key is kept; an empty name drops it
    # number of the first epoch if the step starts again at each and ``total`` is the length of an epoch; None if the step
    # runs through
    epoch: int | None = None
    restarts: bool = False  # the step starts again at each epoch, whose length the row does not state
    steps: bool = True  # false if what the head counts is no step
    step_key: str = ""  # a key whose value is the step
    validation: bool = False  # the row is a result on held-out data
    last_only: bool = False  # a running mean: only the last row of a pass counts
    from_start: bool = False  # pairs may stand before the head too
    follows: bool = False  # the row belongs to the step that the line above it named
    window: bool = False  # a printed value is a mean over the steps since the row before
    examples: Sequence[str] = ()  # rows that the form reads


class BlockForm(NamedTuple):
    """How one program prints a block."""

    name: str  # what messages and tests call it
    literals: tuple[str, ...]  # texts of which one stands in every head
    head: LazyRegex  # the first line, with the groups ``step`` and ``total`` where it states them
    # a line of the block: groups ``key`` and ``value``, or ``section`` for the title of a part
    row: LazyRegex
    program: str = ""  # name of the framework, or empty for forms that several programs share
    names: Mapping[str, str] = {}  # the name under which a key is kept; an empty name drops it
    step_key: str = ""  # the key whose value is the step
    # a line that ends the block; without it, the first line ends it that is neither blank nor a row
    end: LazyRegex | None = None
    validation: bool = False  # the values were measured on held-out data
    known_only: bool = False  # the block holds much else, so only quantities known by name are kept
    names_only: bool = False  # only keys in ``names`` are kept


@lru_cache(maxsize=1)
def _declared() -> Mapping[str, list[dict[str, Any]]]:
    found: Mapping[str, list[dict[str, Any]]] = cache.checked_file(
        "forms", _FILE, read_forms, str(FIELDS), NUMBER
    )
    return found


def _made(row: Mapping[str, Any]) -> dict[str, Any]:
    regexes = {key: LazyRegex(row[key]) for key in _REGEXES if key in row}
    return {**row, **regexes, "literals": tuple(row["literals"])}


@lru_cache(maxsize=1)
def row_forms() -> tuple[RowForm, ...]:
    """All forms of rows, in the order in which they are tried."""
    return tuple(RowForm(**_made(row)) for row in _declared()["forms"])


@lru_cache(maxsize=1)
def block_forms() -> tuple[BlockForm, ...]:
    """All forms of blocks, in the order in which they are tried."""
    return tuple(BlockForm(**_made(row)) for row in _declared()["blocks"])


def read_forms(file: MarkedFile) -> dict[str, list[dict[str, Any]]]:
    """Check a loaded file of forms, and put in what ``${PART}`` and ``{a,b}`` stand for.

    Raises:
        RuleSyntaxError: One is not as declared, or names a program or a part that nobody declared; with its place.
    """
    data = check_section(file, FIELDS, "file", file.data, ())
    parts = {"NUMBER": NUMBER}
    for name, text in data["parts"].items():
        parts[name] = _filled(text, parts, file.where("parts", name))
    return {
        kind: [_read(file, parts, section, (kind, index)) for index in range(len(data.get(kind, ())))]
        for kind, section in (("forms", "form"), ("blocks", "block"))
    }


def _read(file: MarkedFile, parts: Mapping[str, str], section: str, keys: tuple[str, int]) -> dict[str, Any]:
    row = check_section(file, FIELDS, section, file.data[keys[0]][keys[1]], keys)
    if "program" in row and framework_of(row["program"]) not in frameworks():
        raise RuleSyntaxError(f"no framework is called {row['program']!r}", file.where(*keys, "program"))
    filled = {key: _filled(row[key], parts, file.where(*keys, key)) for key in _REGEXES if key in row}
    regexes = {key: check_expression(file, text, *keys, key) for key, text in filled.items()}
    literals = [text for literal in row["literals"] for text in _either(literal)]
    names = {text: name for key, name in row.get("names", {}).items() for text in _either(key)}
    return {**row, **regexes, "literals": literals, "names": names}


def _filled(text: str, parts: Mapping[str, str], where: str) -> str:
    for name in _PART.findall(text):
        if name not in parts:
            raise RuleSyntaxError(f"no part above is called {name!r}", where)
    return _PART.sub(lambda match: parts[match[1]], text)


def _either(text: str) -> list[str]:
    """All texts that ``{a,b}`` stands for.

    >>> _either("{x,y}-{loss,mae}:")
    ['x-loss:', 'x-mae:', 'y-loss:', 'y-mae:']
    """
    pieces = _EITHER.split(text)  # every second one stood in braces
    options = [piece.split(",") if at % 2 else [piece] for at, piece in enumerate(pieces)]
    return ["".join(chosen) for chosen in product(*options)]
