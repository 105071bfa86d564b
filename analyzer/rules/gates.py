"""Named conditions, and lists by vocabulary: what rules mean in common is said once.

``gates.yaml`` of a rule pack::

    gates:
      numerics_broke:
        says: a value that must be finite was not, and stayed so
        when: signal.nonfinite_loss.persists or event.any(family="numeric")
        cases:
        - {says: the last losses are NaN, facts: {signal.nonfinite_loss.persists: true}, holds: yes}

A condition mentions one as ``gate.numerics_broke``; one may mention those that stand above it. ``event.any(…)`` stands
for "a line of any such event was seen"; ``family``, ``role`` and ``topic`` (the file that declares an event) choose, each
by a word or a list of words.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from analyzer.errors import RuleCaseError, RuleSyntaxError, UnknownFactError, did_you_mean, nearest
from analyzer.expr import Condition, compile_condition, evaluate
from analyzer.expr.conditions import FORM, Named, Tree, dotted_name
from analyzer.facts.catalog import catalog, no_fact, spec_of
from analyzer.model.tables import Scalar
from analyzer.record import NamedTuple
from analyzer.rules.causes import rules_root
from analyzer.vocabulary import cache
from analyzer.vocabulary.events import events_key, events_of
from analyzer.vocabulary.marked import MarkedFile, load_marked, shown_path, text_of
from analyzer.vocabulary.packs import load_own, pack_of, refuse_foreign_names
from analyzer.vocabulary.sections import check_section, json_schema, one_of

FILE_NAME = "gates.yaml"
PREFIX = "gate."
_ANY_EVENT = "event.any("
FIELDS: Mapping[str, Mapping[str, tuple[str, bool]]] = {
    "file": {"gates": ("map", True)},
    "gate": {"says": ("str", True), "when": ("str", True), "cases": ("list", True)},
    "cases": {"says": ("str", True), "facts": ("map", True), "holds": ("str", True)},
}
VERDICTS = {"yes": True, "no": False, "unknown": None}


class Gate(NamedTuple):
    """A named condition."""

    says: str  # what it means, in words
    when: Condition  # the condition


Gates = Mapping[str, Gate]


def gate_schema() -> dict[str, Any]:
    """JSON Schema of ``gates.yaml``."""
    schema = json_schema(FIELDS, "analyzer.gates/1", "file", {})
    gate = json_schema(FIELDS, "", "gate", {"holds": list(VERDICTS)})
    schema["properties"]["gates"]["additionalProperties"] = {
        key: gate[key] for key in ("type", "properties", "required", "additionalProperties")
    }
    return schema


def naming(gates: Gates) -> Named:
    """What ``gate.<name>`` and ``event.any(…)`` stand for."""

    def named(text: str, where: str) -> Tree | None:
        if text.startswith(_ANY_EVENT):
            return _any_event(text, where)
        if not text.startswith(PREFIX):
            return None
        gate = gates.get(text.removeprefix(PREFIX))
        if gate is None:
            hint = did_you_mean(nearest(text.removeprefix(PREFIX), gates), "; they stand in gates.yaml")
            raise RuleSyntaxError(f"no gate is called {text.removeprefix(PREFIX)!r}{hint}", where)
        return gate.when.tree

    return named


def _any_event(text: str, where: str) -> Tree | None:
    """``event.a.seen or event.b.seen or …`` for the events that a call of ``event.any`` chooses."""
    node = ast.parse(text, mode="eval").body
    if not isinstance(node, ast.Call) or f"{dotted_name(node.func)}(" != _ANY_EVENT:
        return None
    try:
        wanted = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords}
        kinds = events_of(
            **{trait: [value] if isinstance(value, str) else value for trait, value in wanted.items()}
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise RuleSyntaxError(f"event.any: no event has {error}", where) from error
    if node.args or not wanted or not kinds:
        raise RuleSyntaxError('event.any chooses events by family="…", role="…" or topic="…"', where)
    return ["or", *(f"event.{kind}.seen" for kind in kinds)]


def read_gates(file: MarkedFile, above: Gates) -> dict[str, Gate]:
    """Check a loaded file of gates.

    Args:
        file: The loaded file.
        above: Gates that those of the file may mention.

    Raises:
        RuleError: One is not as described above, or mentions what is not declared; with line and column.
    """
    found: dict[str, Gate] = {}
    for name, item in check_section(file, FIELDS, "file", file.data, ())["gates"].items():
        keys = ("gates", name)
        row = check_section(file, FIELDS, "gate", item, keys)
        if not name.isidentifier() or name in above:
            raise RuleSyntaxError(
                "a gate has a name of its own, of lower-case words and _", file.where(*keys)
            )
        where = file.where(*keys, "when")
        found[name] = Gate(row["says"], compile_condition(row["when"], where, naming({**above, **found})))
        refuse_unknown_facts(found[name].when)
        for index, case in enumerate(row["cases"]):
            case_keys = (*keys, "cases", index)
            checked = check_section(file, FIELDS, "cases", case, case_keys)
            one_of(file, checked["holds"], tuple(VERDICTS), *case_keys, "holds")
    return found


def refuse_unknown_facts(condition: Condition) -> None:
    """Every fact that a condition names is declared.

    Raises:
        UnknownFactError: One is not; with the nearest that is.
    """
    for name in condition.names:
        if spec_of(name) is None:
            raise UnknownFactError(no_fact(name), condition.where)


def run_gate_cases(file: MarkedFile, gates: Gates) -> Iterator[RuleCaseError | None]:
    """The outcome of each case of a file: None, or how it does not come out as it says."""
    for name, item in file.data["gates"].items():
        for index, case in enumerate(item["cases"]):
            verdict = evaluate(gates[name].when, case["facts"])
            unknown = [fact for fact in case["facts"] if spec_of(fact) is None]
            where = file.where("gates", name, "cases", index)
            if unknown:
                yield RuleCaseError(no_fact(unknown[0]), where)
            elif verdict is not VERDICTS[case["holds"]]:
                word = next(word for word, value in VERDICTS.items() if value is verdict)
                yield RuleCaseError(f"gate {name} ({case['says']}) holds: {word}", where)
            else:
                yield None


def outcomes_in(place: Path) -> list[RuleCaseError | None]:
    """The outcome of each case of the gates that a rule pack declares, see ``run_gate_cases``."""
    path = pack_of(place) / FILE_NAME
    if not path.is_file():
        return []
    file = _loaded(path)
    above = {} if _is_bundled(place) else bundled_gates()
    return list(run_gate_cases(file, read_gates(file, above)))


def _is_bundled(place: Path) -> bool:
    return place.resolve() == rules_root().resolve()


def _loaded(path: Path) -> MarkedFile:
    if _is_bundled(path.parent):
        return load_marked(text_of(path, shown_path(path)), shown_path(path))
    file, prefix = load_own(path)
    refuse_foreign_names(file, "gates", f"{prefix}_")
    return file


def gates_of(place: Path, above: Gates) -> Gates:
    """The gates of the rule pack in a folder, with those that it may mention."""
    path = place / FILE_NAME
    if not path.is_file():
        return above
    key = cache.key_of([path], ",".join(catalog()), str(FIELDS), events_key(), ",".join(above), FORM)
    texts: dict[str, list[str]] | None = cache.read("gates", key)
    if texts is None:
        read = read_gates(_loaded(path), above)
        texts = {name: [gate.says, gate.when.text, gate.when.form] for name, gate in read.items()}
        cache.write("gates", key, texts)
    found = dict(above)
    named = naming(found)  # a checked gate mentions those above it only
    for name, (says, when, form) in texts.items():
        found[name] = Gate(says, Condition(when, path.as_posix(), named, form))
    return found


@lru_cache(maxsize=1)
def bundled_gates() -> Gates:
    """The gates of the rules that come with analyzer."""
    return gates_of(rules_root(), {})


def gates_for(place: Path) -> Gates:
    """The gates that the rules of a file or folder may mention.

    Args:
        place: The rule file, or a folder; the gates of its pack count beside the bundled ones.
    """
    folder = pack_of(place)
    return bundled_gates() if _is_bundled(folder) else gates_of(folder, bundled_gates())


def holds(name: str, facts: Mapping[str, Scalar]) -> bool:
    """Whether a bundled gate is true."""
    return evaluate(bundled_gates()[name].when, facts) is True
