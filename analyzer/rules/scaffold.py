"""A skeleton for a new rule: rule.yaml and cases.yaml with two stubs, which fail the checks until they are filled in."""

from __future__ import annotations

import json
from pathlib import Path

from analyzer.errors import RuleError, did_you_mean, nearest
from analyzer.rules.cases import CASES_FILE
from analyzer.rules.causes import FAMILIES, PACK_FILE, catalogue
from analyzer.rules.schema import ID_CODE, SLUG, Rule
from analyzer.vocabulary import packs

UNFILLED = (
    "State the cause as a sentence",
    "say what is seen",
    "one reason that a reviewer can check",
    "The mechanism in plain words",
    "Say what to change",
    "what happens again if nothing is changed",
)
"""How the texts of the skeleton begin that the author must replace."""

_RULE = """\
schema: 1
id: {rule_id}
slug: {slug}
title: {title}
cause_id: {cause_id}
status: experimental
severity: fatal
family: {family}
prior: uncommon

symptom:
  kind: {kind}
  when: signal.nonfinite_grad.harmful
  says: "say what is seen, with facts where they are known[, from step {{signal.nonfinite_grad.first_step}} on]"

evidence:
  - id: name-the-line
    test: config.precision == "fp16"
    because: one reason that a reviewer can check
    if_true: 1
    if_false: -3

cause: >
  The mechanism in plain words, at most six lines.

fixes:
  - id: name-the-fix
    title: Say what to change
    strength: mitigates
    cost: restart

restart_because: what happens again if nothing is changed

references: []  # at least one public thread, page or paper
"""

_CASES = """\
positive:
  says: what a run with this cause shows
  expect: {finding: top}
  facts:
    signal.nonfinite_grad.harmful: true

near-miss:
  says: a look-alike with another cause
  expect: {finding: not_top}
  facts:
    signal.nonfinite_grad.harmful: true
"""


def write_skeleton(code: str, slug: str, place: Path, rules: tuple[Rule, ...]) -> Path:
    """Write the folder of a new rule and return it.

    Args:
        code: Family code of two to five capitals, for example PREC.
        slug: Folder name; a cause id of the catalogue if there is a fitting one.
        place: Directory in which the folder is made.
        rules: Existing rules, to find the next free number.

    Raises:
        RuleError: The folder exists already, or one of the words is not as it must be.
    """
    if not ID_CODE.fullmatch(code):
        raise RuleError("the family code has two to five capital letters, like PREC", code)
    if not SLUG.fullmatch(slug):
        raise RuleError("the folder name has lower-case words joined by hyphens", slug)
    folder = place / slug
    if folder.exists():
        raise RuleError("this folder exists already", str(folder))
    alike = [rule for rule in rules if rule.id[:-3] == code]
    used = [int(rule.id[-3:]) for rule in alike]
    entry = catalogue().get(slug)
    text = _RULE.format(
        rule_id=f"{code}{max(used, default=0) + 1:03d}",
        slug=slug,
        title=entry.title if entry else "State the cause as a sentence",
        cause_id=slug,  # to be added to the catalogue where it is not there: the checks say so, with the nearest one
        family=entry.family if entry else alike[0].family if alike else "software",
        kind=entry.symptom_kind if entry else "numerical_breakdown",
    )
    folder.mkdir(parents=True)
    (folder / "rule.yaml").write_text(text, encoding="utf-8")
    (folder / CASES_FILE).write_text(_CASES, encoding="utf-8")
    return folder


def missing_cause(slug: str, place: Path) -> str:
    """What the catalogue lacks for a new rule, with the row to be added; empty if it has the cause.

    Args:
        slug: Name of the rule, and of its cause.
        place: Directory of the rule; in the bundled rules it is called like a family of causes.
    """
    pack = packs.pack_of(place)
    is_pack = (pack / "pack.yaml").is_file()
    packs.use([pack] if is_pack else [])
    if slug in catalogue():
        return ""
    family = place.name if place.name in FAMILIES else "software"
    row: dict[str, object] = {
        "title": "State the cause as a sentence", "family": family, "symptom_kind": "numerical_breakdown",
        "restart_advice": "fix-then-restart", "look_alikes": [],
    }  # fmt: skip
    if is_pack:
        file, entry = pack / PACK_FILE, f"{slug}: {json.dumps(row)}"
    else:
        file = Path("rules/causes.json")
        entry = json.dumps({"id": slug, **row, "kind": "cause", "parent": None, "maturity": "common"})
    return (
        f"no cause is called {slug!r}{did_you_mean(nearest(slug, catalogue()))}\n"
        f"If it is a new one, add it to {file}{' below `causes:`' if is_pack else ''}; until then the rules cannot be read:\n"
        f"  {entry}"
    )
