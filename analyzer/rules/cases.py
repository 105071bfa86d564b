"""Run the cases that stand beside a rule.

A *facts case* gives facts and an expectation. All those of a rule stand in ``cases.yaml``, each under its name::

    near-miss-healthy-rows:
      says: forward activations overflow; embedding rows are healthy
      expect: {finding: not_top, p_max: 0.05, winner: PREC002}
      facts:
        config.precision: fp16

``says`` is its reason: what it shows. ``finding`` is ``top`` (ranked first of its kind), ``not_top`` (not first, or
first but below "something else") or ``absent`` (its gate is not true). ``p_min``/``p_max`` bound its probability;
``winner`` names the rule that must stand first.

A *run case* is a directory ``cases/<name>`` with ``case.yaml`` (``says`` and ``expect`` as above) and ``run/``: files
that go through ingest, detectors and rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from analyzer.errors import RuleCaseError
from analyzer.facts.catalog import no_fact, spec_of
from analyzer.model.tables import Scalar
from analyzer.record import NamedTuple
from analyzer.rules.schema import Rule
from analyzer.rules.score import Ranking, rank
from analyzer.vocabulary.marked import MarkedFile, load_marked, shown_path, text_of
from analyzer.vocabulary.sections import check_section, one_of

CASES_FILE = "cases.yaml"
_EXPECTATIONS = ("top", "not_top", "absent")
FIELDS: Mapping[str, Mapping[str, tuple[str, bool]]] = {
    "case": {"says": ("str", True), "expect": ("map", True), "facts": ("map", False)},
    "expect": {
        "finding": ("str", True), "winner": ("str", False), "p_min": ("number", False), "p_max": ("number", False),
    },
}  # fmt: skip


class Case(NamedTuple):
    """One case beside a rule. ``facts`` is None for a run case, whose files stand in ``run_directory``."""

    rule_id: str
    name: str
    file: MarkedFile
    says: str
    expect: Mapping[str, Any]
    facts: Mapping[str, Scalar] | None
    run_directory: Path | None


def cases_of(rule: Rule, directory: Path) -> list[Case]:
    """All cases beside a rule: those of facts, then those of runs, by name.

    Raises:
        RuleError: A case is not as described above.
    """
    found: list[Case] = []
    path = directory / CASES_FILE
    if path.is_file():
        file = load_marked(text_of(path, shown_path(path)), shown_path(path))
        if not isinstance(file.data, dict):
            raise RuleCaseError("must map the name of each case to the case", file.where())
        for name in sorted(file.data):
            part = file.part(name)
            says, expect = _expectation(part)
            found.append(
                Case(rule.id, name, part, says, expect, _checked_facts(part, part.data.get("facts")), None)
            )
    for path in sorted((directory / "cases").glob("*/case.yaml")):
        file = load_marked(text_of(path, shown_path(path)), shown_path(path))
        says, expect = _expectation(file)
        found.append(Case(rule.id, path.parent.name, file, says, expect, None, path.parent / "run"))
    return found


def _expectation(file: MarkedFile) -> tuple[str, Mapping[str, Any]]:
    """What a case says and expects."""
    data = check_section(file, FIELDS, "case", file.data, ())
    expect = check_section(file, FIELDS, "expect", data["expect"], ("expect",))
    one_of(file, expect["finding"], _EXPECTATIONS, "expect", "finding")
    return data["says"], expect


def _checked_facts(file: MarkedFile, facts: Any) -> Mapping[str, Scalar]:
    if not isinstance(facts, dict):
        raise RuleCaseError("a facts case needs 'facts'", file.where())
    types: Mapping[str, tuple[type, ...]] = {
        "bool": (bool,),
        "int": (int,),
        "float": (int, float),
        "str": (str,),
    }
    for name, value in facts.items():
        spec = spec_of(name)
        where = file.where("facts", name)
        if spec is None:
            raise RuleCaseError(no_fact(name), where)
        wrong_bool = isinstance(value, bool) and spec.dtype != "bool"
        if not name.startswith("event.") and (wrong_bool or not isinstance(value, types[spec.dtype])):
            raise RuleCaseError(f"{name} is a {spec.dtype}, not {value!r}", where)
    return facts


def check_case(case: Case, ranking: Ranking) -> None:
    """Compare the outcome with the expectation.

    Raises:
        RuleCaseError: The rule does not come out as the case says.
    """
    where = case.file.where("expect")
    position = _position(case.rule_id, ranking)
    finding = case.expect["finding"]
    outcome = "absent" if position is None else ("top" if position[0] == 0 else "not_top")
    probability = 0.0 if position is None else position[1]
    shown = _shown(ranking)
    if finding == "top" and outcome != "top":
        raise RuleCaseError(f"{case.rule_id} should stand first ({case.says}), but {shown}", where)
    leads = outcome == "top" and probability >= _something_else(case.rule_id, ranking)
    if finding == "not_top" and leads:
        raise RuleCaseError(f"{case.rule_id} should not stand first ({case.says}), but {shown}", where)
    if finding == "absent" and outcome != "absent":
        raise RuleCaseError(f"{case.rule_id} should not be considered ({case.says}), but {shown}", where)
    low, high = float(case.expect.get("p_min", 0.0)), float(case.expect.get("p_max", 1.0))
    if not low <= probability <= high:
        raise RuleCaseError(
            f"probability of {case.rule_id} is {probability:.3f}, outside {low:g}..{high:g}; {shown}", where
        )
    winner = case.expect.get("winner")
    if winner is not None and (_position(str(winner), ranking) or (1, 0.0))[0] != 0:
        raise RuleCaseError(f"{winner} should stand first, but {shown}", where)


def _position(rule_id: str, ranking: Ranking) -> tuple[int, float] | None:
    for items in ranking.kinds.values():
        for position, item in enumerate(items):
            if item.rule.id == rule_id:
                return position, item.probability
    return None


def _something_else(rule_id: str, ranking: Ranking) -> float:
    """Share of "something else" in the competition of a rule: only what beats it leads its kind."""
    for kind, items in ranking.kinds.items():
        if any(item.rule.id == rule_id for item in items):
            return ranking.other[kind]
    return 1.0


def _shown(ranking: Ranking) -> str:
    parts = [
        f"{kind}: " + ", ".join(f"{item.rule.id} {item.probability:.2f}" for item in items[:4])
        for kind, items in sorted(ranking.kinds.items())
    ]
    return "; ".join(parts) or "no rule was considered"


def run_facts_case(case: Case, rules: Sequence[Rule]) -> None:
    """Rank on the facts of a case and check it.

    Raises:
        RuleCaseError: The rule does not come out as the case says.
    """
    assert case.facts is not None
    check_case(case, rank(rules, case.facts))
