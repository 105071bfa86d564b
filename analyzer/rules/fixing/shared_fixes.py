"""Fixes that several rules share: said once in ``fixes.yaml`` of a rule pack, used by name.

::

    fixes:
      lower-rate:
        says: a lower peak learning rate
        change:
          hf-trainer: {learning_rate: '= config.train.learning_rate / ${divisor}'}

A fix of a rule says ``use: lower-rate`` and ``with: {divisor: 3}``; what it says itself goes before what is shared.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from analyzer.errors import RuleSyntaxError, did_you_mean, nearest
from analyzer.lazy_regex import LazyRegex
from analyzer.rules.causes import rules_root
from analyzer.vocabulary.marked import MarkedFile, load_marked, shown_path
from analyzer.vocabulary.packs import load_own, pack_of, refuse_foreign_names
from analyzer.vocabulary.sections import check_section, json_schema

FILE_NAME = "fixes.yaml"
FIELDS: Mapping[str, Mapping[str, tuple[str, bool]]] = {
    "file": {"fixes": ("map", True)},
    "fix": {
        "says": ("str", True), "change": ("map", False), "code": ("str", False), "verify": ("str", False),
        "requires": ("str", False), "requires_text": ("str", False),
    },
}  # fmt: skip
_HOLE = LazyRegex(r"\$\{(\w+)\}")

SharedFixes = Mapping[str, Mapping[str, Any]]


def fix_schema() -> dict[str, Any]:
    """JSON Schema of ``fixes.yaml``."""
    schema = json_schema(FIELDS, "analyzer.fixes/1", "file", {})
    fix = json_schema(FIELDS, "", "fix", {})
    schema["properties"]["fixes"]["additionalProperties"] = {
        key: fix[key] for key in ("type", "properties", "required", "additionalProperties")
    }
    return schema


def read_shared_fixes(file: MarkedFile) -> SharedFixes:
    """Check a loaded file of fixes.

    Raises:
        RuleSyntaxError: It is not as described above; with line and column.
    """
    found = check_section(file, FIELDS, "file", file.data, ())["fixes"]
    return {name: check_section(file, FIELDS, "fix", item, ("fixes", name)) for name, item in found.items()}


@lru_cache(maxsize=1)
def bundled_fixes() -> SharedFixes:
    """The fixes that the bundled rules share."""
    path = rules_root() / FILE_NAME
    return read_shared_fixes(load_marked(path.read_text(encoding="utf-8"), shown_path(path)))


def fixes_for(place: Path) -> SharedFixes:
    """The fixes that the rules of a file or folder may use: those of its pack, and the bundled ones."""
    path = pack_of(place) / FILE_NAME
    if not path.is_file() or path.parent.resolve() == rules_root().resolve():
        return bundled_fixes()
    file, prefix = load_own(path)
    refuse_foreign_names(file, "fixes", f"{prefix}-")
    return {**bundled_fixes(), **read_shared_fixes(file)}


def with_shared(file: MarkedFile, shared: SharedFixes) -> MarkedFile:
    """A loaded ``rule.yaml`` in which what its fixes share is written out.

    Raises:
        RuleSyntaxError: A fix uses what nobody declares, or leaves a hole open; with line and column.
    """
    fixes = file.data.get("fixes") if isinstance(file.data, dict) else None
    if not isinstance(fixes, list) or not any(isinstance(fix, dict) and "use" in fix for fix in fixes):
        return file
    written = [
        _written_out(file, fix, shared, index) if isinstance(fix, dict) and "use" in fix else fix
        for index, fix in enumerate(fixes)
    ]
    return MarkedFile(file.path, {**file.data, "fixes": written}, file.marks, file.checked)


def _written_out(file: MarkedFile, fix: Mapping[str, Any], shared: SharedFixes, index: int) -> dict[str, Any]:
    where = file.where("fixes", index, "use")
    body = shared.get(fix["use"])
    if body is None:
        hint = did_you_mean(nearest(str(fix["use"]), shared), "; they stand in fixes.yaml")
        raise RuleSyntaxError(f"no fix is called {fix['use']!r}{hint}", where)
    values = fix.get("with", {})

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: filled(item) for key, item in value.items()}
        if not isinstance(value, str):
            return value
        for name in _HOLE.findall(value):
            if name not in values:
                raise RuleSyntaxError(f"fix {fix['use']!r} needs a value of {name!r} in 'with'", where)
        return _HOLE.sub(lambda hole: str(values[hole[1]]), value)

    return {**{key: filled(value) for key, value in body.items() if key != "says"}, **fix}
