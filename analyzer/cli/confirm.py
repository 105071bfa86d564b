"""``analyzer confirm RUN CAUSE``: keep what the cause of a run turned out to be."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def confirm_command(
    run: Annotated[Path, typer.Argument(help="The run: a directory or a log file.")],
    cause: Annotated[
        str, typer.Argument(help="Its cause by id, 'healthy', or 'outside' if the catalogue has none.")
    ],
    fix: Annotated[str, typer.Option("--fix", help="Id of the fix that was tried.")] = "",
    worked: Annotated[str, typer.Option("--worked", help="Whether it cured the run: yes or no.")] = "",
) -> None:
    """Record the confirmed cause of a run in your casebook.

    The casebook is the folder ANALYZER_CASEBOOK; later diagnoses count what it holds. The record holds numbers and identifiers, no text of the log. It moves the base rate of the cause by at most 2
    bits, is shown where it does, and is taken back by deleting its file.
    """
    from datetime import UTC, datetime

    from analyzer.casebook.from_run import record_of
    from analyzer.casebook.memory import keep
    from analyzer.errors import InputError

    if worked not in {"", "yes", "no"}:
        raise InputError("--worked takes yes or no")
    path = keep(
        record_of(
            run,
            cause,
            fix=fix,
            worked=None if not worked else worked == "yes",
            day=datetime.now(UTC).date().isoformat(),
        )
    )
    typer.echo(f"kept in {path}")
