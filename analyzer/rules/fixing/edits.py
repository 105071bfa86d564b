"""Edits of the user's own files for one fix: one real diff that applies as it is, or none.

Which keys a fix changes, and whose, is chosen in ``fixes``; here is only how a value is put in the place of another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from analyzer.ingest.quote import QuotedLines
from analyzer.model.config import ConfigValue
from analyzer.model.run import Run
from analyzer.record import NamedTuple

FileLines = Callable[[int], QuotedLines | None]
"""Source index to the lines of that file, or None if it cannot be shown."""


def same_value(old: str, new: str) -> bool:
    """Whether two written values mean the same: quotes, case and trailing zeros do not count.

    >>> same_value('"bf16"', "bf16"), same_value("1.0", "1"), same_value("true", "false")
    (True, True, False)
    """
    was, will = old.strip("\"'").lower(), new.strip("\"'").lower()
    try:
        return was == will or float(was) == float(will)  # 1.0 and 1 are one value
    except ValueError:
        return False


def plain_value(value: Any) -> str:
    """A value as text, as YAML and JSON write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


class Edits:
    """Edits of the user's files for one fix, shown as one diff or, if a key cannot be set by text, as none.

    Half a fix is worse than none: with fp16 off and bf16 not on, a run trains in fp32.
    """

    def __init__(self, run: Run, file_lines: FileLines) -> None:
        self._run = run
        self._file_lines = file_lines
        self._after: dict[int, list[str]] = {}  # one text for each line of the file, whatever was added to it
        self._keys: dict[int, set[str]] = {}  # keys that the edits are to change
        self._failed = False

    def replace(self, entry: ConfigValue, value: Any) -> tuple[str, int]:
        """Put a value in place of the one that stands there; the path and line of it."""
        assert entry.ref is not None
        assert entry.ref.line is not None
        source, line = entry.ref.source, entry.ref.line
        path = self._run.sources[source].path
        if not same_value(entry.raw, plain_value(value)) and self._is_new(source, entry.key_in_source):
            lines = self._lines(source)
            new = (
                _replaced(lines[line - 1], entry, value, self._language(source))
                if line <= len(lines)
                else None
            )
            self._set(source, line, new)
        return path, line

    def insert(self, key: str, value: Any, anchor_key: str, anchor: ConfigValue) -> str:
        """Add a key beside the one that stands in the file; the path of that file.

        Args:
            key: The key to add, as its trainer spells it.
            value: Its value.
            anchor_key: The key that stands there, in the same spelling.
            anchor: Where it stands; the file may have it within further sections.
        """
        assert anchor.ref is not None
        assert anchor.ref.line is not None
        source, line = anchor.ref.source, anchor.ref.line
        place = _place_beside(key, anchor_key, anchor.key_in_source)
        if place is None or self._has_section(source, place.section) or line > len(self._lines(source)):
            self._failed = True  # no place for it, or a file whose text cannot be shown again
        elif self._is_new(source, place.key):
            lines = self._lines(source)
            language = self._language(source)
            if language == "json":
                line = _line_of_member(lines, line, place.before)
                new = None if line == 0 else _with_json_member(lines, line, place, value)
            else:
                new = _with_yaml_line(lines, line, place, value) if language == "yaml" else None
            self._set(source, line, new)
        return self._run.sources[source].path

    def diff(self) -> str:
        """Unified diff of all files for ``patch -p1`` in the run's root, or empty."""
        if self._failed:
            return ""
        diffs = [self._diff_of(source) for source in self._after]
        return "".join(diffs) if all(diffs) else ""

    def _diff_of(self, source: int) -> str:
        before = self._file_lines(source)
        path = self._run.sources[source].path
        if before is None or not _can_be_named(path, self._run.sources[source].location):
            return ""
        after = "".join(self._after[source])
        language = self._language(source)
        if _changed_keys("".join(before), after, language) != self._keys[source]:
            return ""
        return _unified_diff(before, after.splitlines(keepends=True), path)

    def _lines(self, source: int) -> list[str]:
        return self._after.setdefault(source, list(self._file_lines(source) or ()))

    def _set(self, source: int, line: int, text: str | None) -> None:
        if text is None:
            self._failed = True
        else:
            self._after[source][line - 1] = text

    def _is_new(self, source: int, key: str) -> bool:
        keys = self._keys.setdefault(source, set())
        if key in keys:
            return False
        keys.add(key)
        return True

    def _has_section(self, source: int, section: str) -> bool:
        return any(
            entry.ref is not None
            and entry.ref.source == source
            and f"{entry.key_in_source}.".startswith((f"{section}.", f"{section}["))
            for entry in self._run.config.entries
        )

    def _language(self, source: int) -> str:
        path = self._run.sources[source].path
        if path.endswith(".py"):
            return "python"
        first = next((line for line in self._lines(source) if line.strip()), "")
        return "json" if first.lstrip().startswith("{") else "yaml"


class _Place(NamedTuple):
    """Where a new key goes."""

    key: str  # the whole dotted key that the file will have
    section: str  # the part of it that must not stand there yet
    member: str  # what is to be written: ``key`` without the sections around it
    before: str  # name of the member beside it, within the same section
    is_anchor: bool  # that member is the anchor itself, not a section that holds it


def _place_beside(key: str, anchor_key: str, standing: str) -> _Place | None:
    """The place of a new key, from how its trainer and how the file spell the anchor.

    >>> place = _place_beside("bf16.enabled", "fp16.enabled", "ds.fp16.enabled")
    >>> place.key, place.section, place.member, place.before
    ('ds.bf16.enabled', 'ds.bf16', 'bf16.enabled', 'fp16')
    """
    new, spelled, there = key.split("."), anchor_key.split("."), standing.split(".")
    if len(there) != len(spelled) and there[-len(spelled) :] != spelled:
        return None  # another spelling in another section: where its neighbours belong is not known
    shared = 0
    while shared < min(len(new), len(spelled)) - 1 and new[shared] == spelled[shared]:
        shared += 1
    around = there[: len(there) - len(spelled) + shared]
    member = new[shared:]
    return _Place(
        key=".".join(around + member),
        section=".".join([*around, member[0]]),
        member=".".join(member),
        before=there[len(around)],
        is_anchor=len(around) == len(there) - 1,
    )


def _literal(value: Any, language: str) -> str:
    """The value as the file's language writes it."""
    if language == "python":
        return repr(value) if isinstance(value, bool | str) else plain_value(value)
    if language == "json":
        return json.dumps(value) if isinstance(value, str) else plain_value(value)
    return plain_value(value)


def _replaced(text: str, entry: ConfigValue, value: Any, language: str) -> str | None:
    """The line with the new value after the key, or None if the line does not look as expected."""
    name = re.escape(entry.key_in_source.rpartition(".")[2])
    pattern = rf"""(?<![\w-])["']?{name}["']?\s*[:=]\s*(?P<value>"[^"]*"|'[^']*'|[^\s,#}})]+)"""
    matches = list(re.finditer(pattern, text))
    if not matches or (len(matches) > 1 and text[: matches[0].start()].strip()):
        return None
    start, end = matches[0].span("value")
    old = text[start:end]
    if not same_value(old, entry.raw):
        return None
    new = _literal(value, language)
    if old[0] in {'"', "'"} and isinstance(value, str):
        new = f"{old[0]}{value}{old[0]}"
    elif old in {"True", "False"} and isinstance(value, bool):
        new = repr(value)
    return text[:start] + new + text[end:]


def _line_ending(text: str) -> str:
    return "\r\n" if text.endswith("\r\n") else "\n" if text.endswith("\n") else ""


def _with_yaml_line(lines: Sequence[str], line: int, place: _Place, value: Any) -> str | None:
    """The anchor's line and the new key's line after it; None in a flow mapping or beside a section."""
    text = lines[line - 1]
    match = re.match(rf"""([ ]*)["']?{re.escape(place.before)}["']?[ ]*:[ ]+[^\s|>&#]""", text)
    if match is None or not place.is_anchor or "." in place.member:
        return None
    end = _line_ending(text)
    body = text[: len(text) - len(end)]
    newline = end or _line_ending(lines[0]) or "\n"
    return f"{body}{newline}{match[1]}{place.member}: {_literal(value, 'yaml')}{end}"


def _line_of_member(lines: Sequence[str], line: int, name: str) -> int:
    """1-based line of a JSON member's name at or before a line; 0 if there is none."""
    mark = re.compile(rf'"{re.escape(name)}"\s*:')
    return next((i + 1 for i in range(min(line, len(lines)) - 1, -1, -1) if mark.search(lines[i])), 0)


def _with_json_member(lines: Sequence[str], line: int, place: _Place, value: Any) -> str | None:
    """The line with the new member right before the named one: on a line of its own if that begins its line."""
    text = lines[line - 1]
    matches = list(re.finditer(rf'"{re.escape(place.before)}"\s*:', text))
    if len(matches) != 1:
        return None
    at = matches[0].start()
    before = text[text.rfind("\n", 0, at) + 1 : at]
    gap = " " if before.strip() else (_line_ending(text) or "\n") + before
    return f"{text[:at]}{_json_member(place.member, value)},{gap}{text[at:]}"


def _json_member(key: str, value: Any) -> str:
    head, _, rest = key.partition(".")
    inner = f"{{{_json_member(rest, value)}}}" if rest else _literal(value, "json")
    return f'"{head}": {inner}'


def _changed_keys(before: str, after: str, language: str) -> set[str]:
    """Keys whose values differ between two texts, read as the run's reader reads them: the edit's proof."""
    old, new = _settings(before, language), _settings(after, language)
    return {key for key in old.keys() | new.keys() if old.get(key) != new.get(key)}


def _settings(text: str, language: str) -> dict[str, str]:
    from analyzer.ingest.formats.config import structured_text as readers  # noqa: PLC0415  (a run without a diff needs none)

    reader = {"json": readers.read_json, "python": readers.read_python}.get(language, readers.read_yaml)
    found: dict[str, str] = {}
    plain = text.replace("***", "masked")  # a bare * is an alias in YAML
    try:
        for entry in islice(reader(plain), readers.MAX_ENTRIES):
            found[entry.key] = repr(entry.value)
    except readers.StructuredTextError as error:
        found["(error)"] = str(error)
    return found


def _can_be_named(path: str, location: str) -> bool:
    """Whether a diff's header can name the file: the path is as on disk and needs no quoting."""
    return not re.search(r'["\\\x00-\x1f]', path) and Path(location).as_posix().endswith(path)


def _unified_diff(before: QuotedLines, after: Sequence[str], path: str) -> str:
    """Diff of one file with a line of context; without it where the context is not shown as it stands.

    Empty if a line to be replaced is itself not shown as it stands.
    """
    from difflib import SequenceMatcher  # noqa: PLC0415  (a run without a fault needs no diff)

    matcher = SequenceMatcher(None, before, after)
    groups: list[list[tuple[str, int, int, int, int]]] = []
    for context in (1, 0):
        groups = list(matcher.get_grouped_opcodes(context))
        if before.altered.isdisjoint(i for ops in groups for i in range(ops[0][1], ops[-1][2])):
            break
    else:
        return ""
    if not groups:
        return ""
    tab = "\t" if " " in path else ""  # tells where a name with spaces ends
    text = [f"--- a/{path}{tab}\n", f"+++ b/{path}{tab}\n"]
    for ops in groups:
        old, new = _span(ops[0][1], ops[-1][2]), _span(ops[0][3], ops[-1][4])
        text.append(f"@@ -{old} +{new} @@\n")
        for tag, old_start, old_end, new_start, new_end in ops:
            if tag == "equal":
                text += [_diff_line(" ", line) for line in before[old_start:old_end]]
            else:
                text += [_diff_line("-", line) for line in before[old_start:old_end]]
                text += [_diff_line("+", line) for line in after[new_start:new_end]]
    return "".join(text)


def _span(start: int, end: int) -> str:
    """Lines of a hunk's header; an empty one names the line before it."""
    length = end - start
    return f"{start + 1}" if length == 1 else f"{start + 1 if length else start},{length}"


def _diff_line(sign: str, line: str) -> str:
    return f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"
