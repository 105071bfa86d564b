"""``analyzer explain SOURCE [CAUSE]``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from analyzer.cli.diagnose import Baseline, Checkpoint, Debug, Offline, Rules, Source
from analyzer.cli.study import run_study
from analyzer.errors import InputError

if TYPE_CHECKING:
    from analyzer.model.diagnosis import Finding


def explain_command(
    source: Source,
    cause: Annotated[str, typer.Argument(help="Cause id or rule id; the leading cause if left out.")] = "",
    rules: Rules = None,
    baseline: Baseline = None,
    checkpoint: Checkpoint = None,
    offline: Offline = False,
    debug: Debug = False,
) -> None:
    """Show all the evidence for and against one cause.

    Every line of evidence with its bits, the values behind it, where they stand, and in how many labelled runs the
    line held with this cause and without it.
    """
    del debug
    diagnosis = run_study(
        source, rules=rules, baseline=baseline, checkpoint=checkpoint, offline=offline
    ).diagnosis
    found = diagnosis.finding(cause)
    if found is None:
        considered = [finding.cause.id for finding in (*diagnosis.findings, *diagnosis.ruled_out)]
        names = ", ".join(considered) or "none: no symptom was found"
        raise InputError(f"{cause or 'no cause'!s} was not considered for this run; considered were {names}")
    typer.echo(found.ledger(_counts(found, rules)), nl=False)


def _counts(found: Finding, rules: list[Path] | None) -> dict[str, str]:
    """Sentences with the counts of each line of the rule that is explained."""
    from analyzer.casebook.counts import line_counts, records_at_hand
    from analyzer.rules.load import load_rules

    rule = load_rules(rules or []).by_id(found.rule_id)
    if rule is None:
        return {}
    return {name: count.sentence() for name, count in line_counts(rule, records_at_hand()).items()}
