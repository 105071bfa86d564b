"""Configuration text as flat entries that know their line: JSON, YAML, and Python files of literals.

Nothing is built from the text but scalars: no YAML object, no alias is expanded without bound, no Python
name is looked up outside the file. Each reader yields entries in file order and stops with a
``StructuredTextError`` at the first damaged place, so that what stands before it is kept.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Iterator
from typing import Any

from analyzer.ingest.encodings.json_positions import JsonReader, JsonTextError
from analyzer.ingest.scalar_text import config_scalar
from analyzer.lazy_regex import LazyRegex
from analyzer.model.config import ConfigScalar
from analyzer.record import NamedTuple, dataclass, field, replace

MAX_DEPTH = 32
"""Levels of nesting. The deepest configuration of the survey (mmdetection heads) has 11."""

MAX_ENTRIES = 20_000
"""Entries of one file; also bounds what aliases can multiply to."""

_MAX_KEY = 200
_MAX_WORDS, _MAX_WORD = 64, 100  # words of a list, and their length, that are worth showing

REPEATED = "repeated key"
"""Note on an entry whose key stood in the same section before; frameworks let the last one win in silence."""


class Entry(NamedTuple):
    """One configured scalar."""

    key: str  # dotted key as the file spells it; elements of a list have ``[i]``
    value: ConfigScalar  # parsed value; a list of words is joined with ``, ``
    raw: str  # the value as written
    line: int  # 1-based line of the key
    note: str = ""  # empty, or what is odd about the entry


class StructuredTextError(Exception):
    """The rest of the text cannot be read.

    Args:
        message: What is wrong.
        line: 1-based line of it, None if unknown.
    """

    def __init__(self, message: str, line: int | None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(slots=True)
class _Node:
    """A scalar, a section or a list, between its parser and its entries.

    ``defined_at`` is set for a scalar that was named elsewhere (an alias, a Python name): the line to change.
    """

    line: int
    defined_at: int = 0
    scalar: ConfigScalar = None
    raw: str = ""
    members: list[tuple[str, int, _Node]] | None = None
    elements: list[_Node] | None = None
    merged: list[_Node] = field(default_factory=list)
    opaque: bool = False


class _Walk:
    """Turns nodes into entries within a budget: an alias may stand for a section that holds aliases, and so on."""

    def __init__(self) -> None:
        self._left = 8 * MAX_ENTRIES

    def spend(self, line: int) -> None:
        """Count one node, read or written out."""
        self._left -= 1
        if self._left < 0:
            raise StructuredTextError("too many entries for a configuration", line)

    def entries(self, key: str, line: int, node: _Node, note: str = "", depth: int = 0) -> Iterator[Entry]:
        self.spend(line)
        if node.opaque or depth > MAX_DEPTH:
            return
        if node.members is not None:
            yield from self._section(key, node, depth)
        elif node.elements is not None:
            yield from self._list(key, line, node.elements, note, depth)
        else:
            yield Entry(key, node.scalar, node.raw, node.defined_at or line, note)

    def _section(self, prefix: str, node: _Node, depth: int) -> Iterator[Entry]:
        seen: set[str] = set()
        for key, line, child in node.members or ():
            note = REPEATED if key in seen else ""
            seen.add(key)
            yield from self.entries(_join(prefix, key), line, child, note, depth + 1)
        for section in node.merged:  # a merge key adds what is not set beside it
            for key, line, child in section.members or ():
                if key not in seen:
                    seen.add(key)
                    yield from self.entries(_join(prefix, key), line, child, "", depth + 1)

    def _list(self, key: str, line: int, elements: list[_Node], note: str, depth: int) -> Iterator[Entry]:
        """A list of words is one entry (``target_modules``); numbers (``betas``) and sections are indexed."""
        plain = [e for e in elements if e.members is None and e.elements is None and not e.opaque]
        if len(plain) == len(elements) and any(isinstance(e.scalar, str) for e in plain):
            words = [e.raw[:_MAX_WORD] for e in plain[:_MAX_WORDS]]
            yield Entry(key, ", ".join(words), ", ".join(words), line, note)
            return
        for index, element in enumerate(elements):
            yield from self.entries(f"{key}[{index}]", element.line, element, note, depth + 1)


def _join(prefix: str, key: str) -> str:
    """A dotted key, cut so that a key of megabytes cannot be copied into each of its members."""
    return f"{prefix}.{key[:_MAX_KEY]}"[: 4 * _MAX_KEY] if prefix else key[:_MAX_KEY]


# JSON


def read_json(text: str) -> Iterator[Entry]:
    r"""Entries of a JSON object, in file order.

    >>> [(e.key, e.value, e.line) for e in read_json('{"fp16": {"enabled": true},\n "lr": 1e-5}')]
    [('fp16.enabled', True, 1), ('lr', 1e-05, 2)]

    Raises:
        StructuredTextError: The text stops being JSON; entries before that place were yielded.
    """
    reader = JsonReader(text)
    try:
        yield from _json_object(reader, _Walk(), "", 0)
        if reader.peek():
            raise StructuredTextError("text follows the object", reader.line())
    except JsonTextError as error:
        raise StructuredTextError(str(error), error.line) from error


def _json_object(reader: JsonReader, walk: _Walk, prefix: str, depth: int) -> Iterator[Entry]:
    seen: set[str] = set()
    for key in reader.members():
        line = reader.key_line
        path = _join(prefix, key)
        note = REPEATED if key in seen else ""
        seen.add(key)
        if reader.peek() == "{" and depth < MAX_DEPTH:
            yield from _json_object(reader, walk, path, depth + 1)
        else:
            yield from walk.entries(path, line, _json_node(reader, walk, depth + 1), note, depth + 1)


def _json_node(reader: JsonReader, walk: _Walk, depth: int) -> _Node:
    line = reader.line()
    walk.spend(line)
    opening = reader.peek()
    if depth > MAX_DEPTH:
        reader.value()
        return _Node(line, opaque=True)
    if opening == "{":
        members = [(key, reader.key_line, _json_node(reader, walk, depth + 1)) for key in reader.members()]
        return _Node(line, members=members)
    if opening == "[":
        return _Node(line, elements=[_json_node(reader, walk, depth + 1) for _ in reader.elements()])
    start = reader.position
    value = reader.value()
    raw = reader.text[start : reader.position]
    if isinstance(value, float) and not math.isfinite(value):
        return _Node(line, scalar=raw, raw=raw)
    return _Node(line, scalar=value, raw=value if isinstance(value, str) else raw)


# YAML


def read_yaml(text: str) -> Iterator[Entry]:
    r"""Entries of the first YAML document, in file order.

    Works on parser events, which need no recursion and expand nothing. Aliases and merge keys are followed
    within ``MAX_DEPTH`` and ``MAX_ENTRIES``.

    >>> [(e.key, e.value, e.line) for e in read_yaml("lr: 1e-5\noptim:\n  betas: [0.9, 0.95]")]
    [('lr', 1e-05, 1), ('optim.betas[0]', 0.9, 3), ('optim.betas[1]', 0.95, 3)]

    Raises:
        StructuredTextError: The text is not YAML from some place on; entries before it were yielded.
    """
    if len(text) <= _FLAT_CHARACTERS and text.isascii() and (flat := _flat_yaml(text)) is not None:
        yield from _Walk().entries("", 1, flat)
        return
    builder = _YamlBuilder()
    error = builder.build(text)
    if builder.root is not None:
        yield from _Walk().entries("", 1, builder.root)
    if error is not None:
        raise error


_FLAT_CHARACTERS = 10_000
"""Most flat files have a thousand; a longer one is worth importing the parser."""

_FLAT_LINE = LazyRegex(
    r"(?:(?P<key>[A-Za-z_][A-Za-z0-9_]{0,99}):|(?P<dash> {0,8}-))(?: {1,9}(?:(?P<plain>(?:-?[A-Za-z0-9_.]|[/+])[A-Za-z0-9_./+-]{0,199})"
    r"|'(?P<quoted>[A-Za-z0-9_./+ -]{0,199})'))? {0,9}(?: #.*)?| {0,9}(?:#.*)?"
)


def _flat_yaml(text: str) -> _Node | None:
    """A file of keys with a word, a number or a list of these each, read without PyYAML: importing that takes as long as a small log."""
    members: list[tuple[str, int, _Node]] = []
    dash = ""
    for number, line in enumerate(text.split("\n"), start=1):
        match = _FLAT_LINE.fullmatch(line)
        if match is None:
            return None
        key, plain, quoted = match.group("key", "plain", "quoted")
        node = _Node(number, scalar=config_scalar(plain) if plain else quoted, raw=plain or quoted or "")
        is_empty = plain is None and quoted is None
        if key:
            members.append((key, number, _Node(number, elements=[]) if is_empty else node))
            dash = ""
        elif match["dash"]:
            elements = members[-1][2].elements if members else None
            if elements is None or is_empty or dash not in {"", match["dash"]}:
                return None
            elements.append(node)
            dash = match["dash"]
    is_whole = all(
        node.elements != [] for _, _, node in members
    )  # else something else may stand below the key
    return _Node(1, members=members) if members and is_whole else None


class _YamlBuilder:
    """Builds nodes from YAML events with an explicit stack."""

    def __init__(self) -> None:
        self.root: _Node | None = None
        self._anchors: dict[str, _Node] = {}
        self._stack: list[_Node] = []
        self._keys: list[tuple[str, int] | None] = []

    def build(self, text: str) -> StructuredTextError | None:
        import yaml  # noqa: PLC0415  (30 ms; only for runs that hold YAML of several levels)

        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        nodes = 0
        try:
            for event in yaml.parse(text, Loader=loader):
                line = event.start_mark.line + 1 if event.start_mark else None
                nodes += isinstance(event, yaml.NodeEvent)
                if nodes > 4 * MAX_ENTRIES or len(self._stack) > MAX_DEPTH:
                    return StructuredTextError("too large or too deep for a configuration", line)
                if isinstance(event, yaml.DocumentEndEvent):
                    return None
                self._take(event, yaml)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            return StructuredTextError(f"not YAML: {error.problem}", mark.line + 1 if mark else None)
        except (yaml.YAMLError, UnicodeError) as error:
            return StructuredTextError(f"not YAML: {str(error).splitlines()[0]}", None)
        return None

    def _take(self, event: Any, yaml: Any) -> None:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            is_mapping = isinstance(event, yaml.MappingStartEvent)
            node = _Node(line, members=[]) if is_mapping else _Node(line, elements=[])
            node.opaque = event.tag not in _PLAIN_TAGS
            self._place(node, event.anchor)
            self._stack.append(node)
            self._keys.append(None)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._stack.pop()
            self._keys.pop()
        elif isinstance(event, yaml.AliasEvent):
            known = self._anchors.get(event.anchor)
            self._place(
                _Node(line, opaque=True) if known is None else replace(known, defined_at=known.line), None
            )
        elif isinstance(event, yaml.ScalarEvent):
            self._place(_yaml_scalar(event, line), event.anchor)

    def _place(self, node: _Node, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = node
        if not self._stack:
            self.root = node if self.root is None else self.root
            return
        parent = self._stack[-1]
        if parent.elements is not None:
            parent.elements.append(node)
            return
        key = self._keys[-1]
        if key is None:  # the node is itself a key; one that is no scalar gets a name that nobody looks up
            self._keys[-1] = (
                "?" if node.members is not None or node.elements is not None else node.raw,
                node.line,
            )
            return
        self._keys[-1] = None
        if key[0] == "<<":
            parent.merged.extend([node] if node.members is not None else node.elements or [])
        elif parent.members is not None:
            parent.members.append((key[0], key[1], node))


_PLAIN_TAGS = frozenset({None, "!", *(f"tag:yaml.org,2002:{tag}" for tag in ("map", "seq", "python/tuple"))})


def _yaml_scalar(event: Any, line: int) -> _Node:
    text = event.value
    if event.implicit[0] and event.tag is None:
        return _Node(line, scalar=config_scalar(text), raw=text)
    tag = (event.tag or "").removeprefix("tag:yaml.org,2002:")
    if tag in {"int", "float", "bool", "null"}:
        return _Node(line, scalar=config_scalar(text), raw=text)
    return _Node(line, scalar=text, raw=text, opaque=tag not in {"", "!", "str"})


# Python


def read_python(text: str) -> Iterator[Entry]:
    r"""Entries of a Python file that assigns literals, as mmengine dumps them.

    ``dict(a=1)`` is a section; a name that was assigned a literal above stands for it; the class after
    ``type=`` is taken by its name. Everything else is left out.

    >>> source = "lr = 2e-4\noptim_wrapper = dict(\n    type=AmpOptimWrapper, optimizer=dict(lr=lr))"
    >>> [(e.key, e.value, e.line) for e in read_python(source)][1:]
    [('optim_wrapper.type', 'AmpOptimWrapper', 3), ('optim_wrapper.optimizer.lr', 0.0002, 1)]

    Raises:
        StructuredTextError: The text is not Python; nothing was yielded then.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in strings that are not ours
            tree = ast.parse(text)
    except SyntaxError as error:
        raise StructuredTextError(f"not Python: {error.msg}", error.lineno) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise StructuredTextError(f"not Python: {error}", None) from error
    reader = _PythonReader(text)
    walk = _Walk()
    for statement in tree.body:
        target, value = _assignment(statement)
        if target is not None and value is not None:
            node = reader.node(value, target)
            reader.names[target] = node
            yield from walk.entries(target, statement.lineno, node, "", 0)


def _assignment(statement: ast.stmt) -> tuple[str | None, ast.expr | None]:
    match statement:
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value)
            | ast.AnnAssign(target=ast.Name(id=name), value=value)
        ):
            return name, value
        # "cfg.SOLVER.BASE_LR = 0.02", as scripts of detectron2 set what its files leave out
        case ast.Assign(targets=[ast.Attribute() as target], value=value) if (
            dotted := ast.unparse(target)
        ).startswith("cfg.") and dotted.replace(".", "").replace("_", "").isalnum():
            return dotted.removeprefix("cfg."), value
        case _:
            return None, None


class _PythonReader:
    """Turns literal expressions into nodes; an expression of any other kind becomes opaque."""

    def __init__(self, text: str) -> None:
        self._lines = text.encode("utf-8", errors="replace").split(b"\n")  # columns of ``ast`` count bytes
        self.names: dict[str, _Node] = {}

    def _raw(self, node: ast.expr) -> str:
        if node.lineno != node.end_lineno:
            return ""
        return self._lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode(
            "utf-8", errors="replace"
        )

    def node(self, expression: ast.expr, key: str, depth: int = 0) -> _Node:
        line = expression.lineno
        if depth > MAX_DEPTH:
            return _Node(line, opaque=True)
        match expression:
            case ast.Constant(value=str(value)):
                return _Node(line, scalar=value, raw=value)
            case ast.Constant(value=bool() | int() | float() | None as value):
                return self._constant(value, expression)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return self._constant(-value, expression)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return _Node(line, elements=[self.node(element, "", depth + 1) for element in elements])
            case ast.Dict(keys=keys, values=values):
                pairs = [
                    (k.value, k.lineno, v)
                    for k, v in zip(keys, values, strict=True)
                    if isinstance(k, ast.Constant)
                ]
                return _Node(
                    line, members=[(str(k), at, self.node(v, str(k), depth + 1)) for k, at, v in pairs]
                )
            case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords):
                named = [(k.arg, k.lineno, k.value) for k in keywords if k.arg is not None]
                return _Node(line, members=[(k, at, self.node(v, k, depth + 1)) for k, at, v in named])
            case ast.Name() | ast.Attribute():
                return self._named(expression, key)
            case _:
                return _Node(line, opaque=True)

    def _constant(self, value: bool | float | None, expression: ast.expr) -> _Node:
        raw = self._raw(expression)
        infinite = isinstance(value, float) and not math.isfinite(value)
        return _Node(expression.lineno, scalar=raw if infinite else value, raw=raw)

    def _named(self, expression: ast.Name | ast.Attribute, key: str) -> _Node:
        known = self.names.get(expression.id) if isinstance(expression, ast.Name) else None
        if known is not None:
            return replace(known, defined_at=known.line)
        raw = self._raw(expression)
        return _Node(expression.lineno, scalar=raw, raw=raw, opaque=key != "type" or not raw)
