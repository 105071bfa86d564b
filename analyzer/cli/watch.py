"""``analyzer watch RUN``: look again whenever the run has written, until something fatal is likely."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from analyzer.cli.diagnose import Debug, Rules
from analyzer.cli.exit_codes import DONE, FINDING, FailOn
from analyzer.errors import InputError

if TYPE_CHECKING:
    from analyzer.model.diagnosis import Diagnosis

SHARE = 10
"""Part of the time that watching may take: after a look of one second the next comes ten seconds later at the earliest."""

ENDED = frozenset({"completed", "crashed"})
"""States of ``Diagnosis.ended`` that an end in the log proves."""

SILENT = frozenset({"interrupted"})
"""States that silence may stand behind: over only if nothing was written between two looks."""


def watch_command(
    source: Annotated[Path, typer.Argument(help="Directory or log of a run that is still going.")],
    every: Annotated[
        float, typer.Option("--every", min=0.1, help="Least number of seconds between two looks.")
    ] = 30.0,
    fail_on: Annotated[
        FailOn, typer.Option("--fail-on", help="Exit with code 1 if a fault is at least this probable.")
    ] = FailOn.likely,
    once_ended: Annotated[
        bool,
        typer.Option(
            "--until-end/--for-ever", help="Exit with code 0 when the run has ended without a fault."
        ),
    ] = True,
    rules: Rules = None,
    debug: Debug = False,
) -> None:
    """Watch a run and report when the diagnosis changes.

    Ends when a fault is likely, or with the run. Nothing is read while nothing was written, and looking takes at most a tenth of the time.

    Example: analyzer watch runs/7b --every 60 && echo fine || scancel $JOB
    """
    del debug
    from analyzer import api
    from analyzer.ingest.masking import clean_text
    from analyzer.ingest.written import written

    told, seen = "", None
    still: Diagnosis | None = None
    while True:
        state = written(source)
        pause_s = every
        if state != seen:
            seen = state
            started_s = time.monotonic()
            try:
                found = api.diagnose(source, rules=rules or [])
            except InputError as error:
                line = f"waiting: {clean_text(str(error))}"
            else:
                line = watch_line(found)
            if line != told:
                told = line
                typer.echo(f"{time.strftime('%H:%M:%S')} {line}")
            if not line.startswith("waiting: "):
                _end_if_over(found, fail_on.threshold, once_ended=once_ended)
                still = found
            pause_s = max(every, SHARE * (time.monotonic() - started_s))
        elif once_ended and still is not None and _ended(still, SILENT):
            raise typer.Exit(DONE)
        time.sleep(pause_s)


def watch_line(found: Diagnosis) -> str:
    """The answer in a line."""
    leads = found.findings[0] if found.findings and found.status in {"failed", "degraded"} else None
    fix = f"; fix: {leads.fixes[0].title}" if leads is not None and leads.fixes else ""
    return f"{found.status}: {found.summary}{fix}"


def _end_if_over(found: Diagnosis, threshold: float, *, once_ended: bool) -> None:
    if any(f.severity in {"fatal", "degrading"} and f.probability >= threshold for f in found.findings):
        raise typer.Exit(FINDING)
    if once_ended and _ended(found, ENDED):
        raise typer.Exit(DONE)


def _ended(found: Diagnosis, states: frozenset[str]) -> bool:
    return found.ended is not None and found.ended.state in states
