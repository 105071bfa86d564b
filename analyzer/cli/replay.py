"""``analyzer replay``: traces of a failing step."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from analyzer.cli import replay_steps

app = typer.Typer(
    help="Inspect the tensors of the step that failed.", no_args_is_help=True, rich_markup_mode=None
)

replay_steps.register(app)


@app.command("convert")
def convert_command(
    source: Annotated[Path, typer.Argument(help="Trace of another tool: a file or a directory.")],
    target: Annotated[Path, typer.Argument(help="File to write: .parquet, .jsonl or .jsonl.gz.")],
) -> None:
    """Convert a trace to the open format analyzer-replay/1.

    Reads msprobe dumps, TransformerEngine statistics, logs with reports of hooks and NaN detectors, and this
    format itself. What cannot be read is told on standard error.
    """
    from analyzer.replay.convert import convert

    done = convert(source, target)
    for gap in done.gaps:
        place = "" if gap.ref is None else done.sources[gap.ref.source]
        if gap.ref is not None and gap.ref.line is not None:
            place = f"{place}:{gap.ref.line}"
        typer.echo(f"analyzer: {place}: {gap.reason}" if place else f"analyzer: {gap.reason}", err=True)
    for path in done.files:
        rows = done.rows if path == target else done.collectives
        typer.echo(f"{path}: {rows} {'tensor events' if path == target else 'collectives'}")
