"""Turn a rule's fixes into changes of the user's own files, with a real diff where the key stands there."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from analyzer.expr import compile_condition, evaluate
from analyzer.expr.evaluate import value_of
from analyzer.ingest.config_keys import canonical_key
from analyzer.model.config import ConfigValue
from analyzer.model.diagnosis import ConfigChange, Fix
from analyzer.model.run import Run
from analyzer.model.tables import Scalar
from analyzer.rules.schema import Rule, RuleFix

FileLines = Callable[[int], Sequence[str] | None]
"""Source index to the lines of that file, or None if it cannot be shown."""

_BUILT_ON_HF = frozenset({"hf-trainer", "llamafactory", "axolotl", "unsloth", "trl"})
"""Trainers that take HF TrainingArguments under the same names."""

_ORDER = {"cures": 0, "mitigates": 1, "diagnoses": 2}


def resolve_fixes(
    rule: Rule, run: Run, facts: Mapping[str, Scalar], file_lines: FileLines
) -> tuple[Fix, ...]:
    """Fixes of a rule for this run: refuted preconditions dropped, cures first, keys looked up in the user's files."""
    fixes: list[Fix] = []
    for fix in rule.fixes:
        applicable = True if fix.requires is None else evaluate(fix.requires, facts)
        if applicable is False:
            continue
        changes = _changes(fix, run, facts, file_lines)
        if changes and all(change.old is not None and _same(change.old, change.new) for change in changes):
            continue  # every key already has the value: this run tried the fix
        fixes.append(
            Fix(
                id=fix.id,
                title=fix.title,
                strength=fix.strength,
                cost=fix.cost,
                applicable=applicable,
                requires=fix.requires_text if applicable is None else "",
                changes=tuple(
                    change for change in changes if change.old is None or not _same(change.old, change.new)
                ),
                code=fix.code,
                verify=fix.verify,
                verified_by=fix.verified_by,
            )
        )
    return tuple(sorted(fixes, key=lambda fix: _ORDER[fix.strength]))


def _same(old: str, new: str) -> bool:
    was, will = old.strip("\"'").lower(), new.strip("\"'").lower()
    try:
        return was == will or float(was) == float(will)  # 1.0 and 1 are one value
    except ValueError:
        return False


def _changes(
    fix: RuleFix, run: Run, facts: Mapping[str, Scalar], file_lines: FileLines
) -> list[ConfigChange]:
    in_files: list[ConfigChange] = []
    elsewhere: list[ConfigChange] = []
    for framework, pairs in fix.change.items():
        values = {key: _computed(value, facts) for key, value in pairs.items()}
        found = {key: _standing(run, framework, key) for key in values}
        anchors = [entry for entry in found.values() if entry is not None]
        if anchors:
            in_files += _in_file(framework, values, found, anchors[0], run, file_lines)
        elif _uses(run, framework):
            elsewhere += [ConfigChange(framework, key, None, _plain(value)) for key, value in values.items()]
    if in_files or elsewhere:
        return in_files or elsewhere
    first = next(
        iter(fix.change.items()), None
    )  # nothing known of the user's files: name one spelling as example
    if first is None:
        return []
    return [
        ConfigChange(first[0], key, None, _plain(_computed(value, facts))) for key, value in first[1].items()
    ]


def _uses(run: Run, framework: str) -> bool:
    if framework in run.frameworks:
        return True
    return framework == "hf-trainer" and bool(run.frameworks & _BUILT_ON_HF)


def _computed(value: Any, facts: Mapping[str, Scalar]) -> Any:
    """A value that starts with ``=`` is an expression over facts, for example ``= config.train.learning_rate / 3``."""
    if not isinstance(value, str) or not value.startswith("="):
        return value
    result = value_of(compile_condition(value[1:].strip()), facts)
    return f"<{value[1:].strip()}>" if result is None else result


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _standing(run: Run, framework: str, key: str) -> ConfigValue | None:
    """Where the key stands in one of the user's files: the same meaning, whatever the spelling there.

    The first file counts: the walk meets the user's file before a copy that the trainer dumped further down.
    """
    wanted = canonical_key(framework, key)
    for entry in run.config.entries:
        if (
            entry.layer != "file"
            or entry.ref is None
            or entry.ref.line is None
            or not _same_family(entry, framework)
        ):
            continue
        same_key = entry.key_in_source == key
        if same_key or (wanted is not None and canonical_key(entry.framework, entry.key_in_source) == wanted):
            return entry
    return None


def _same_family(entry: ConfigValue, framework: str) -> bool:
    if entry.framework == framework:
        return True
    return entry.framework in _BUILT_ON_HF and framework == "hf-trainer"


def _in_file(
    framework: str,
    values: Mapping[str, Any],
    found: Mapping[str, ConfigValue | None],
    anchor: ConfigValue,
    run: Run,
    file_lines: FileLines,
) -> list[ConfigChange]:
    assert anchor.ref is not None
    source = anchor.ref.source
    path = run.sources[source].path
    before = file_lines(source)
    after = None if before is None else list(before)
    changes: list[ConfigChange] = []
    for key, value in values.items():
        entry = found[key]
        here = entry is not None and entry.ref is not None and entry.ref.source == source
        if entry is not None and here and entry.ref is not None and entry.ref.line is not None:
            if after is not None:
                _replace(after, entry.ref.line, entry.key_in_source, value)
            changes.append(
                ConfigChange(framework, entry.key_in_source, entry.raw, _plain(value), path, entry.ref.line)
            )
        else:
            changes.append(ConfigChange(framework, key, None, _plain(value), path, None))
    if after is not None and before is not None:
        _insert_missing(after, path, anchor, [(key, values[key]) for key in values if found[key] is None])
        return _with_diff(changes, before, after, path)
    return changes


def _literal(value: Any, path: str) -> str:
    """The value as the file's language writes it."""
    if path.endswith(".py"):
        return repr(value) if isinstance(value, bool | str) else _plain(value)
    if path.endswith(".json"):
        return f'"{value}"' if isinstance(value, str) else _plain(value)
    return _plain(value)


def _replace(lines: list[str], line: int, key: str, value: Any) -> None:
    """Put the value after the key on its line; leave the line alone if it does not look as expected."""
    if not 0 < line <= len(lines):
        return
    text = lines[line - 1]
    name = re.escape(key.rpartition(".")[2])
    match = re.search(
        rf"""(?P<key>["']?\b{name}["']?\s*[:=]\s*)(?P<value>"[^"]*"|'[^']*'|[^\s,#}})]+)""", text
    )
    if match is None:
        return
    old = match.group("value")
    new = repr(value) if old in {"True", "False"} and isinstance(value, bool) else _plain(value)
    if old[:1] in {'"', "'"} and isinstance(value, str):
        new = f"{old[0]}{value}{old[0]}"
    lines[line - 1] = text[: match.start("value")] + new + text[match.end("value") :]


def _insert_missing(lines: list[str], path: str, anchor: ConfigValue, missing: list[tuple[str, Any]]) -> None:
    """Add absent keys beside the anchor: a line after it in YAML, a member before its section in JSON."""
    if not missing or anchor.ref is None or anchor.ref.line is None:
        return
    at = anchor.ref.line - 1
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    if path.endswith((".yaml", ".yml")) and "." not in anchor.key_in_source:
        lines[at + 1 : at + 1] = [f"{indent}{key}: {_literal(value, path)}\n" for key, value in missing]
    elif path.endswith(".json"):
        top = anchor.key_in_source.partition(".")[0]
        start = next(
            (i for i in range(at, -1, -1) if re.match(rf'\s*"{re.escape(top)}"\s*:', lines[i])), None
        )
        if start is None:
            return
        indent = lines[start][: len(lines[start]) - len(lines[start].lstrip())]
        lines[start:start] = [f"{indent}{_json_member(key, value, path)},\n" for key, value in missing]


def _json_member(key: str, value: Any, path: str) -> str:
    head, _, rest = key.partition(".")
    inner = f"{{{_json_member(rest, value, path)}}}" if rest else _literal(value, path)
    return f'"{head}": {inner}'


def _with_diff(
    changes: list[ConfigChange], before: Sequence[str], after: Sequence[str], path: str
) -> list[ConfigChange]:
    """Attach the diff of the whole file to its first change; the others share it."""
    import difflib  # noqa: PLC0415  (a run without a fault needs no diff)

    diff = "".join(difflib.unified_diff(list(before), list(after), f"a/{path}", f"b/{path}", n=1))
    if not diff or not changes:
        return changes
    first = changes[0]
    with_diff = ConfigChange(first.framework, first.key, first.old, first.new, first.path, first.line, diff)
    return [with_diff, *changes[1:]]
