"""Which fixes a run is told, whose keys they change, and where these stand in the user's own files."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from analyzer.expr import Condition, compile_condition, evaluate
from analyzer.expr.conditions import value_of
from analyzer.lazy_regex import LazyRegex
from analyzer.model.config import ConfigValue
from analyzer.model.diagnosis import ConfigChange, Fix
from analyzer.model.run import Run
from analyzer.model.tables import Scalar
from analyzer.record import NamedTuple
from analyzer.rules.fixing.edits import Edits, FileLines, plain_value, same_value
from analyzer.rules.fixing.words import (
    WITHOUT_SCHEDULER,
    foreign,
    localised,
    only_resumes,
    trainers_of,
    uses,
    variables,
)
from analyzer.rules.schema import Rule, RuleFix
from analyzer.vocabulary.config import canonical_key, is_common, spelling_of
from analyzer.vocabulary.frameworks import built_on, family


# Where a launch script sets what a fix changes: the option of the scheduler, the variable, the argument of the program.
#
# A script is shown with file, line and present value and never edited: a diff of shell code cannot be proved right.
def of_script(run: Run, framework: str, key: str, new: str) -> ConfigChange:
    """A change of a variable or option around the run, with its place if a script sets it."""
    for entry in run.config.entries:
        if entry.framework == framework and entry.key_in_source == key and _has_line(entry):
            return _change(run, framework, key, entry, new)
    return ConfigChange(framework, key, None, new)


def argument_of_script(run: Run, canonical: str, new: str) -> ConfigChange | None:
    """A change of an argument that a script passes to the program; None if none means the same."""
    for entry in run.config.entries:
        if entry.layer != "cli" or entry.framework != "config" or not _has_line(entry):
            continue
        if canonical_key(entry.framework, entry.key_in_source) == canonical:
            return _change(run, "argument", f"--{entry.key_in_source}", entry, new)
    return None


def _has_line(entry: ConfigValue) -> bool:
    return entry.ref is not None and entry.ref.line is not None


def _change(run: Run, framework: str, key: str, entry: ConfigValue, new: str) -> ConfigChange:
    assert entry.ref is not None
    path = run.sources[entry.ref.source].path
    return ConfigChange(framework, key, entry.raw or None, new, path, entry.ref.line)


_UNNAMED = frozenset({"", "config"})
"""Files whose keys are nobody's in particular; HF's names are the common tongue of such files."""

_ORDER = {"cures": 0, "mitigates": 1, "diagnoses": 2}


GENERAL = "setting"
"""In the place of a trainer: what is to be set, in words that belong to nobody."""


class _Chosen(NamedTuple):
    """What a fix changes for this run."""

    # keys in the spelling of the run's own trainer, else what to set in general words
    changes: list[ConfigChange]
    scope: str = ""  # why the words are general; empty if they are the run's own
    withheld: bool = False  # something was left out because it means nothing where this run runs


def resolve_fixes(
    rule: Rule, run: Run, facts: Mapping[str, Scalar], file_lines: FileLines
) -> tuple[Fix, ...]:
    """Fixes of a rule for this run: refuted preconditions dropped, cures first, keys looked up in the user's files."""
    found = [_resolved(fix, run, facts, file_lines) for fix in rule.fixes]
    return tuple(sorted((fix for fix in found if fix is not None), key=_order))


def _order(fix: Fix) -> int:
    """Cures first; what only eases it, and that under a condition nobody knows to hold, stands behind the tests."""
    eases_perhaps = fix.strength == "mitigates" and fix.applicable is None
    return len(_ORDER) if eases_perhaps else _ORDER[fix.strength]


def _resolved(fix: RuleFix, run: Run, facts: Mapping[str, Scalar], file_lines: FileLines) -> Fix | None:
    """One fix as this run is told it; None if it cannot help this run or says nothing here."""
    applicable = True if fix.requires is None else evaluate(fix.requires, facts)
    if applicable is False or (applicable is None and not fix.requires_text):
        return None  # without words for what it needs, it is for runs of which that is known
    if facts.get("run.never_saved") is True and only_resumes(fix.change, fix.title):
        return None
    chosen = _changes(fix, run, facts, file_lines)
    if chosen.changes and all(map(_settled, chosen.changes)):
        return None  # every key already has the value: this run tried the fix
    changes = tuple(change for change in chosen.changes if not _settled(change))
    code = "" if fix.code and foreign(fix.code, facts) else fix.code
    if (chosen.withheld or code != fix.code) and not changes and not code:
        return None
    return Fix(
        id=fix.id,
        title=localised(fix.title, facts),
        strength=fix.strength,
        cost=fix.cost,
        applicable=applicable,
        requires=fix.requires_text if applicable is None else "",
        changes=changes,
        code=code,
        verify=fix.verify,
        verified_by=fix.verified_by,
        scope=chosen.scope,
    )


def _settled(change: ConfigChange) -> bool:
    return change.old is not None and same_value(change.old, change.new)


def _changes(fix: RuleFix, run: Run, facts: Mapping[str, Scalar], file_lines: FileLines) -> _Chosen:
    in_files: dict[tuple[str | None, str], ConfigChange] = {}
    elsewhere: list[ConfigChange] = []
    edits = Edits(run, file_lines)
    for framework, pairs in fix.change.items():
        if framework in family("place"):
            elsewhere += _around(framework, pairs, run, facts)
            continue
        values = {key: _computed(value, facts) for key, value in pairs.items()}
        found = {key: _standing(run, framework, key) for key in values}
        if any(found.values()):
            kept = {
                key for key, entry in found.items() if entry and _meets(pairs[key], values[key], entry.raw)
            }
            for change in _in_file(framework, values, found, edits, kept):
                in_files.setdefault((change.path, change.key), change)  # two trainers may share one file
        elif uses(run.frameworks, framework):
            elsewhere += [
                ConfigChange(framework, key, None, plain_value(value)) for key, value in values.items()
            ]
    if in_files:
        # what has its value already is not shown, so it cannot carry the diff
        changes = sorted(in_files.values(), key=_settled)
        return _Chosen([changes[0]._replace(diff=edits.diff()), *changes[1:]])
    if elsewhere or not fix.change:
        return _Chosen(elsewhere)
    if family("place").issuperset(fix.change):
        return _Chosen([], withheld=True)
    return _in_general(fix, run, facts)


def _around(
    framework: str, pairs: Mapping[str, Any], run: Run, facts: Mapping[str, Scalar]
) -> list[ConfigChange]:
    """Variables and options that belong to no trainer, without those that mean nothing on this platform."""
    if framework == "slurm" and facts.get("run.platform") in WITHOUT_SCHEDULER:
        return []
    kept = variables(pairs, facts) if framework == "env" else pairs
    return [
        of_script(run, framework, key, plain_value(_computed(value, facts)))
        for key, value in kept.items()
        if not foreign(f"{key}={value}", facts)
    ]


def _in_general(fix: RuleFix, run: Run, facts: Mapping[str, Scalar]) -> _Chosen:
    """The change in the run's own spelling if a table holds it, else in general words and said to be general.

    No key of a trainer that the run does not use is ever named. Half a fix is worse than none: if one of the keys has no
    meaning that is known, none is shown, and the title has to do.
    """
    trainers = sorted(trainers_of(run.frameworks))
    scope = (
        f"the name of this setting in {trainers[0]} is not known"
        if trainers
        else "the trainer was not recognised"
    )
    for name, pairs in fix.change.items():
        if name in family("place"):
            continue
        meant = {canonical_key(name, key): _computed(value, facts) for key, value in pairs.items()}
        if None in meant or len(meant) < len(pairs) or any(map(_is_a_word, meant.values())):
            continue
        for trainer in trainers:
            spelled = {spelling_of(trainer, str(key)): value for key, value in meant.items()}
            if None not in spelled:
                return _Chosen(
                    [
                        ConfigChange(trainer, str(key), None, plain_value(value))
                        for key, value in spelled.items()
                    ]
                )
        if fix.code or not all(is_common(str(key)) for key in meant):
            break  # code does it anywhere; a feature that one trainer has nobody could set elsewhere, whatever it is called
        general = [
            argument_of_script(run, str(key), plain_value(value))
            or ConfigChange(GENERAL, _plain_name(str(key)), None, plain_value(value))
            for key, value in meant.items()
        ]
        return _Chosen(general, "" if any(change.path for change in general) else scope)
    return _Chosen([], scope)


def _is_a_word(value: Any) -> bool:
    """A name such as ``bf16-mixed``, which only the trainer knows for which it was written; numbers anyone understands."""
    return isinstance(value, str) and not value.startswith("<") and isinstance(_number(value), str)


def _plain_name(canonical: str) -> str:
    """``train.learning_rate`` and ``fp16.enabled`` as people say them: ``learning_rate``, ``fp16``."""
    head, _, tail = canonical.rpartition(".")
    return head if tail == "enabled" else tail


def _computed(value: Any, facts: Mapping[str, Scalar]) -> Any:
    """A value that starts with ``=`` is an expression over facts, for example ``= config.train.learning_rate / 3``.

    A bound before it (``at least 8``, ``at most = config.train.epochs / 2``) is for ``_meets``.
    """
    if not isinstance(value, str):
        return value
    bound = _BOUND.match(value)
    text = value if bound is None else bound[2]
    if text.startswith("="):
        text = text[1:].strip()
        result = value_of(_expression(text), facts)
        return f"<{_DOTTED.sub('', text)}>" if result is None else result
    return text if bound is None else _number(text)


@lru_cache(maxsize=256)  # all fixes together have some forty
def _expression(text: str) -> Condition:
    return compile_condition(text)


def _meets(value: Any, wanted: Any, old: str) -> bool:
    """Whether a value that stands already satisfies the bound that a fix asks for.

    >>> _meets("at most 1.0", 1.0, "0.3"), _meets("at most 1.0", 1.0, "5"), _meets(1.0, 1.0, "0.3")
    (True, False, False)
    """
    bound = _BOUND.match(value) if isinstance(value, str) else None
    number = _number(old)
    if bound is None or isinstance(number, str) or isinstance(wanted, str):
        return False
    return bool(0 < number <= wanted if bound[1] == "at most" else number >= wanted)


_BOUND = LazyRegex(r"(at most|at least) (.{1,400})$")
"""A fix that says "fewer" or "longer" must not turn a setting the other way: what meets the bound is left alone."""


def _number(text: str) -> float | str:
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value.is_integer() and "." not in text and "e" not in text.lower() else value


_DOTTED = LazyRegex(r"\b(?:[A-Za-z_]\w*\.)+(?=[A-Za-z_])")
"""The sections before a fact's last name: ``config.train.`` of ``config.train.max_steps``."""


def _standing(run: Run, framework: str, key: str) -> ConfigValue | None:
    """Where the key stands in one of the user's files: the same meaning, whatever the spelling there.

    The first file counts: the walk meets the user's file before a copy that the trainer dumped further down.
    A file of this trainer counts before one that names no trainer.
    """
    wanted = canonical_key(framework, key)
    unnamed: ConfigValue | None = None
    for entry in run.config.entries:
        if entry.layer != "file" or entry.ref is None or entry.ref.line is None:
            continue
        same_key = entry.key_in_source == key
        if not same_key and (wanted is None or canonical_key(entry.framework, entry.key_in_source) != wanted):
            continue
        if _same_family(entry, framework):
            return entry
        if unnamed is None and _may_be_hf(entry, framework, run):
            unnamed = entry
    return unnamed


def _same_family(entry: ConfigValue, framework: str) -> bool:
    if entry.framework == framework:
        return True
    return (
        framework == "hf-trainer" and entry.framework in built_on("hf-trainer") and not _for_deepspeed(entry)
    )


def _may_be_hf(entry: ConfigValue, framework: str, run: Run) -> bool:
    if framework != "hf-trainer" or entry.framework not in _UNNAMED or _for_deepspeed(entry):
        return False
    return bool(run.frameworks & built_on("hf-trainer")) or not run.frameworks & family("own-loop")


def _for_deepspeed(entry: ConfigValue) -> bool:
    """The entry stands in a DeepSpeed section of another trainer's file, where names mean what DeepSpeed says."""
    return any(part.startswith(("deepspeed", "ds_config")) for part in entry.key_in_source.split(".")[:-1])


def _in_file(
    framework: str,
    values: Mapping[str, Any],
    found: Mapping[str, ConfigValue | None],
    edits: Edits,
    kept: Collection[str],
) -> list[ConfigChange]:
    """Changes of one trainer's keys; keys that stand nowhere go beside the first that does, kept ones stay as they are."""
    anchor_key, anchor = next((key, entry) for key, entry in found.items() if entry is not None)
    changes: dict[str, ConfigChange] = {}
    for key, entry in sorted(
        found.items(), key=lambda item: item[1] is None
    ):  # what stands there, then the new
        new = plain_value(values[key])
        if entry is None:
            path = edits.insert(key, values[key], anchor_key, anchor)
            changes[key] = ConfigChange(framework, key, None, new, path)
        elif key in kept:
            changes[key] = ConfigChange(framework, entry.key_in_source, entry.raw, entry.raw)
        else:
            path, line = edits.replace(entry, values[key])
            changes[key] = ConfigChange(framework, entry.key_in_source, entry.raw, new, path, line)
    return [changes[key] for key in values]
