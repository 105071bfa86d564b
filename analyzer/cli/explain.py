"""``analyzer explain SOURCE [CAUSE]``."""

from __future__ import annotations

from typing import Annotated

import typer

from analyzer.cli.diagnose import Checkpoint, Debug, Offline, Rules, Source, Twin, run_study
from analyzer.errors import InputError


def explain_command(
    source: Source,
    cause: Annotated[str, typer.Argument(help="Cause id or rule id; the leading cause if left out.")] = "",
    rules: Rules = None,
    twin: Twin = None,
    checkpoint: Checkpoint = None,
    offline: Offline = False,
    debug: Debug = False,
) -> None:
    """Print the full ledger of one cause.

    Every line of evidence with its bits, the values behind it and where they stand.
    """
    del debug
    diagnosis = run_study(source, rules=rules, twin=twin, checkpoint=checkpoint, offline=offline).diagnosis
    try:
        typer.echo(diagnosis.explain(cause), nl=False)
    except KeyError:
        considered = [finding.cause.id for finding in (*diagnosis.findings, *diagnosis.ruled_out)]
        names = ", ".join(considered) or "none: no symptom was found"
        raise InputError(
            f"{cause or 'no cause'!s} was not considered for this run; considered were {names}"
        ) from None
