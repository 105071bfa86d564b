"""What a rule is, and the strict reading of ``rule.yaml`` into it.

The table ``FIELDS`` is the one definition of the format: the reader, the error messages and the JSON
Schema for editors are made from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from analyzer.errors import RuleSyntaxError, did_you_mean, nearest
from analyzer.expr import Condition, compile_condition
from analyzer.lazy_regex import LazyRegex
from analyzer.record import NamedTuple
from analyzer.rules.causes import FAMILIES, RESTARTS, SYMPTOM_KINDS, CauseEntry, catalogue
from analyzer.vocabulary.marked import MarkedFile
from analyzer.vocabulary.packs import SCHEMA_VERSION
from analyzer.vocabulary.sections import check_section, json_schema, one_of

MakeCondition = Callable[[str, str], Condition]
PRIOR_BITS: Mapping[str, float] = {"common": -2.0, "uncommon": -4.0, "rare": -7.0}
"""log2 of the odds against "something else" before any evidence was looked at."""

MAX_BITS = 8.0
"""256:1; a single observation in a log does not support more."""

STATUSES = ("experimental", "stable", "deprecated")
SEVERITIES = ("fatal", "degrading", "wasteful", "advisory")
STRENGTHS = ("cures", "mitigates", "diagnoses")
COSTS = ("restart", "preprocess", "code", "hardware")
_ID = LazyRegex(r"[A-Z]{2,5}\d{3}")
ID_CODE = LazyRegex(r"[A-Z]{2,5}")
SLUG = LazyRegex(r"[a-z0-9]+(?:-[a-z0-9]+)*")

FIELDS: Mapping[str, Mapping[str, tuple[str, bool]]] = {
    # section: key -> (type, required)
    "rule": {
        "schema": ("int", True), "id": ("str", True), "slug": ("str", True), "title": ("str", True),
        "cause_id": ("str", True), "status": ("str", True), "severity": ("str", True), "family": ("str", True),
        "prior": ("str", True), "symptom": ("map", True), "evidence": ("list", True), "cause": ("str", True),
        "explains_also": ("list", False), "fixes": ("list", True), "restart_advice": ("str", False),
        "restart_because": ("str", False),
        "references": ("list", True),
    },
    "symptom": {"kind": ("str", True), "when": ("str", True), "says": ("str", True)},
    "evidence": {
        "id": ("str", True), "test": ("str", True), "because": ("str", True), "if_true": ("number", True),
        "if_false": ("number", True), "group": ("str", False), "check": ("str", False),
    },
    "fixes": {
        "id": ("str", True), "title": ("str", True), "strength": ("str", True), "cost": ("str", True),
        "use": ("str", False), "with": ("map", False),
        "requires": ("str", False), "requires_text": ("str", False), "change": ("map", False), "code": ("str", False),
        "verify": ("str", False), "verified_by": ("str", False),
    },
}  # fmt: skip


class EvidenceLine(NamedTuple):
    """One weighted test. ``check`` says how to obtain the fact where the catalogue's text is too general."""

    id: str
    test: Condition
    because: str
    if_true: float
    if_false: float
    group: str = ""
    check: str = ""


class RuleFix(NamedTuple):
    """A fix as written: ``change`` maps framework -> key -> value; a value ``= expression`` is computed from facts."""

    id: str
    title: str
    strength: str
    cost: str
    requires: Condition | None = None
    requires_text: str = ""
    change: Mapping[str, Mapping[str, Any]] = {}
    code: str = ""
    verify: str = ""
    verified_by: str = ""


class Rule(NamedTuple):
    """One rule, checked."""

    id: str
    slug: str
    title: str
    entry: CauseEntry
    status: str
    severity: str
    family: str
    prior: str
    symptom_kind: str
    when: Condition
    says: str
    evidence: tuple[EvidenceLine, ...]
    text: str
    fixes: tuple[RuleFix, ...]
    references: tuple[str, ...]
    explains_also: tuple[str, ...] = ()
    restart_advice: str = ""
    restart_because: str = ""
    file: MarkedFile | None = None

    def where(self, *keys: str | int) -> str:
        """``path:line:column`` of a part of the rule file."""
        return self.slug if self.file is None else self.file.where(*keys)

    def conditions(self) -> list[tuple[str, Condition]]:
        """Every condition of the rule with its place."""
        found = [(self.where("symptom", "when"), self.when)]
        found += [(self.where("evidence", i, "test"), line.test) for i, line in enumerate(self.evidence)]
        found += [
            (self.where("fixes", i, "requires"), fix.requires)
            for i, fix in enumerate(self.fixes)
            if fix.requires is not None
        ]
        return found


def _words(file: MarkedFile, data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    values = data.get(key, [])
    if not all(isinstance(value, str) for value in values):
        raise RuleSyntaxError(f"{key!r} must hold words only", file.where(key))
    return tuple(values)


def read_rule(file: MarkedFile, condition: MakeCondition = compile_condition) -> Rule:
    """Check one loaded ``rule.yaml``.

    Args:
        file: The loaded file.
        condition: Makes a condition of its text and place; ``Condition`` itself defers parsing to first use.

    Raises:
        RuleSyntaxError: Anything in it is not as the format says; with line and column.
    """
    data = check_section(file, FIELDS, "rule", file.data, ())
    if data["schema"] != SCHEMA_VERSION:
        raise RuleSyntaxError(
            f"schema {data['schema']} is not known; this version reads {SCHEMA_VERSION}", file.where("schema")
        )
    if not _ID.fullmatch(data["id"]):
        raise RuleSyntaxError("id must be a family code and three digits, like PREC014", file.where("id"))
    if not SLUG.fullmatch(data["slug"]):
        raise RuleSyntaxError("slug must be lower-case words joined by hyphens", file.where("slug"))
    entry = catalogue().get(data["cause_id"])
    if entry is None:
        near = nearest(data["cause_id"], catalogue())
        hint = did_you_mean(near, "; add it first (causes.json, or causes.yaml of a pack)")
        raise RuleSyntaxError(
            f"cause_id {data['cause_id']!r} is not in the catalogue{hint}", file.where("cause_id")
        )
    symptom = check_section(file, FIELDS, "symptom", data["symptom"], ("symptom",))
    advice = data.get("restart_advice", entry.restart_advice)
    return Rule(
        id=data["id"],
        slug=data["slug"],
        title=data["title"],
        entry=entry,
        status=one_of(file, data["status"], STATUSES, "status"),
        severity=one_of(file, data["severity"], SEVERITIES, "severity"),
        family=one_of(file, data["family"], FAMILIES, "family"),
        prior=one_of(file, data["prior"], tuple(PRIOR_BITS), "prior"),
        symptom_kind=one_of(file, symptom["kind"], SYMPTOM_KINDS, "symptom", "kind"),
        when=condition(symptom["when"], file.where("symptom", "when")),
        says=symptom["says"],
        evidence=tuple(
            _read_evidence(file, item, index, condition) for index, item in enumerate(data["evidence"])
        ),
        text=" ".join(data["cause"].split()),
        fixes=tuple(_read_fix(file, item, index, condition) for index, item in enumerate(data["fixes"])),
        references=_words(file, data, "references"),
        explains_also=_words(file, data, "explains_also"),
        restart_advice=one_of(file, advice, RESTARTS, "restart_advice"),
        restart_because=" ".join(data.get("restart_because", "").split()),
        file=file,
    )


def _read_evidence(file: MarkedFile, item: Any, index: int, condition: MakeCondition) -> EvidenceLine:
    keys = ("evidence", index)
    data = check_section(file, FIELDS, "evidence", item, keys)
    for key in ("if_true", "if_false"):
        if abs(data[key]) > MAX_BITS:
            raise RuleSyntaxError(f"{key} is beyond {MAX_BITS:g} bits", file.where(*keys, key))
    return EvidenceLine(
        id=data["id"],
        test=condition(data["test"], file.where(*keys, "test")),
        because=" ".join(data["because"].split()),
        if_true=float(data["if_true"]),
        if_false=float(data["if_false"]),
        group=data.get("group", ""),
        check=" ".join(data.get("check", "").split()),
    )


def _read_fix(file: MarkedFile, item: Any, index: int, condition: MakeCondition) -> RuleFix:
    keys = ("fixes", index)
    data = check_section(file, FIELDS, "fixes", item, keys)
    change = data.get("change", {})
    for framework, pairs in change.items():
        if not isinstance(pairs, dict) or not all(
            isinstance(v, bool | int | float | str) for v in pairs.values()
        ):
            raise RuleSyntaxError(
                "change maps a framework to keys and scalar values", file.where(*keys, "change", framework)
            )
    requires = data.get("requires")
    return RuleFix(
        id=data["id"],
        title=data["title"],
        strength=one_of(file, data["strength"], STRENGTHS, *keys, "strength"),
        cost=one_of(file, data["cost"], COSTS, *keys, "cost"),
        requires=None if requires is None else condition(requires, file.where(*keys, "requires")),
        requires_text=data.get("requires_text", ""),
        change=change,
        code=data.get("code", "").rstrip(),
        verify=" ".join(data.get("verify", "").split()),
        verified_by=data.get("verified_by", ""),
    )


def rule_schema() -> dict[str, Any]:
    """JSON Schema of ``rule.yaml``, made from ``FIELDS``."""
    options = {"status": STATUSES, "severity": SEVERITIES, "strength": STRENGTHS, "cost": COSTS, "kind": SYMPTOM_KINDS,
               "prior": tuple(PRIOR_BITS), "restart_advice": RESTARTS, "family": FAMILIES}  # fmt: skip
    return json_schema(FIELDS, "analyzer.rule/1", "rule", options)
