"""Load a data file strictly, and remember the line and column of every key.

Stricter than YAML: no repeated keys, no anchors or aliases (an alias bomb would load without complaint),
no tags. Numbers, booleans and null are recognised as in YAML 1.2 JSON schema, so ``1e-5`` is a number
and ``no`` is a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from analyzer.errors import RuleError, RuleSyntaxError
from analyzer.lazy_regex import LazyRegex
from analyzer.record import NamedTuple

MAX_BYTES = 256 * 1024
MAX_DEPTH = 12
_UNSEEN = LazyRegex(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
"""Characters that nobody sees and a terminal may obey; a pack of a stranger could write with them to the screen."""

_INTEGER = LazyRegex(r"[-+]?\d{1,300}")
_NUMBER = LazyRegex(r"[-+]?(?:\d{1,400}\.?\d{0,400}|\.\d{1,400})(?:[eE][-+]?\d{1,5})?")
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


class MarkedFile(NamedTuple):
    """A loaded file."""

    path: str  # as shown in messages
    data: Any  # plain Python data
    # path of keys and indices, such as ``("evidence", 2, "test")``, to ``(line, column)``, 1-based
    marks: Mapping[tuple[str | int, ...], tuple[int, int]]
    # whether the data was checked before and comes from the cache; it has no marks then
    checked: bool = False

    def where(self, *keys: str | int) -> str:
        """``path:line:column`` of the innermost known part of a path of keys."""
        for length in range(len(keys), -1, -1):
            mark = self.marks.get(keys[:length])
            if mark is not None:
                return f"{self.path}:{mark[0]}:{mark[1]}"
        return self.path

    def part(self, *keys: str | int) -> MarkedFile:
        """The part of the file below a path of keys, as if it were a file of its own."""
        data = self.data
        for key in keys:
            data = data[key]
        size = len(keys)
        marks = {at[size:]: mark for at, mark in self.marks.items() if at[:size] == keys}
        return MarkedFile(self.path, data, marks, self.checked)


def shown_path(path: Path) -> str:
    """Path as a user types it: relative to the working directory where possible."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()


def text_of(path: Path, shown: str) -> str:
    """The text of a data file, no more of it than ``load_marked`` takes.

    Raises:
        RuleError: It cannot be read; ``shown`` is its path in the message.
    """
    try:
        if not path.is_file():  # a pipe or a device, which may never end
            raise RuleError("not a regular file", shown)
        with path.open(encoding="utf-8") as stream:
            return stream.read(MAX_BYTES + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise RuleError(f"cannot be read: {error}", shown) from error


def load_marked(text: str, path: str) -> MarkedFile:
    """Parse one YAML document.

    Raises:
        RuleSyntaxError: Not YAML, or outside the strict subset; with line and column.
    """
    import yaml  # noqa: PLC0415  (only what is not in the cache pays for it)

    if len(text) > MAX_BYTES:
        raise RuleSyntaxError(f"file has more than {MAX_BYTES} characters", path)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _refuse_depth_and_aliases(yaml.parse(text, Loader=loader), path)
        node = yaml.compose(text, Loader=loader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark is not None else path
        raise RuleSyntaxError(f"not valid YAML: {getattr(error, 'problem', None) or error}", where) from error
    marks: dict[tuple[str | int, ...], tuple[int, int]] = {}
    data = None if node is None else _plain(node, (), path, marks)
    return MarkedFile(path, data, marks)


def _refuse_depth_and_aliases(events: Iterable[Any], path: str) -> None:
    """Walk the parser's events first: composing deep nesting recurses in C and can end the process."""
    depth = 0
    for event in events:
        kind = type(event).__name__
        where = f"{path}:{event.start_mark.line + 1}:{event.start_mark.column + 1}"
        if kind == "AliasEvent" or getattr(event, "anchor", None) is not None:
            raise RuleSyntaxError("anchors and aliases are not allowed", where)
        depth += kind.endswith("StartEvent") - kind.endswith("EndEvent")
        if depth > MAX_DEPTH:
            raise RuleSyntaxError(f"nested deeper than {MAX_DEPTH} levels", where)


def _plain(
    node: Any, keys: tuple[str | int, ...], path: str, marks: dict[tuple[str | int, ...], tuple[int, int]]
) -> Any:
    line, column = node.start_mark.line + 1, node.start_mark.column + 1
    marks.setdefault(keys, (line, column))
    if node.id == "scalar":
        if _UNSEEN.search(str(node.value)):
            raise RuleSyntaxError("control characters are not allowed", f"{path}:{line}:{column}")
        return _scalar(node)
    if node.id == "sequence":
        return [_plain(child, (*keys, index), path, marks) for index, child in enumerate(node.value)]
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key_where = f"{path}:{key_node.start_mark.line + 1}:{key_node.start_mark.column + 1}"
        if key_node.id != "scalar":
            raise RuleSyntaxError("a key must be a word", key_where)
        key = str(key_node.value)
        if _UNSEEN.search(key):
            raise RuleSyntaxError("control characters are not allowed", key_where)
        if key in result:
            raise RuleSyntaxError(f"key {key!r} is repeated", key_where)
        marks[(*keys, key)] = (key_node.start_mark.line + 1, key_node.start_mark.column + 1)
        result[key] = _plain(value_node, (*keys, key), path, marks)
    return result


def _scalar(node: Any) -> Any:
    text = str(node.value)
    if node.style:  # quoted or block: always text
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text
