"""``analyzer compare GOOD BAD…``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from analyzer.cli.diagnose import Debug, Offline
from analyzer.cli.output import Format, chosen_format, rendered, screen_style, write
from analyzer.cli.study import reading


def compare_command(
    good: Annotated[str, typer.Argument(help="A run that worked.")],
    bad: Annotated[list[str], typer.Argument(help="Runs to compare with it.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write to a file; .html is one page with the curves overlaid."),
    ] = None,
    offline: Offline = False,
    debug: Debug = False,
) -> None:
    """Compare runs with one that worked.

    Settings that differ and what they could explain, and where the curves part.

    Example: analyzer compare runs/bf16 runs/fp16
    """
    del debug
    from analyzer import api
    from analyzer.render.beside import render_comparison

    page = chosen_format(None, output)
    if page not in {Format.terminal, Format.html} or (page is Format.html and len(bad) > 1):
        raise typer.BadParameter(
            f"{output}: a comparison is text, or with one run beside the good one a page (.html)"
        )
    parts = []
    with reading():
        worked = api.load(good, offline=offline)
        for source in bad:
            found = api.study(source, baseline=worked, offline=offline)
            if page is Format.html:
                parts.append(rendered(found, page, output, show_all=False, top=1))
                continue
            style = screen_style(found.run, to_screen=output is None)
            parts.append(render_comparison(worked, found.run, found.diagnosis, style))
    write("\n".join(parts), output)
