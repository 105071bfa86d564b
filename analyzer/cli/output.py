"""Where an answer goes and how it is written: format by option or by the suffix of the file, colours, links, width."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.errors import InputError

if TYPE_CHECKING:
    from analyzer.api import Study
    from analyzer.model.run import Run
    from analyzer.render import Style


class Format(StrEnum):
    """Output formats."""

    terminal = "terminal"
    json = "json"
    markdown = "markdown"
    html = "html"
    brief = "brief"
    sarif = "sarif"
    junit = "junit"
    csv = "csv"


_SUFFIXES = {
    ".html": Format.html,
    ".htm": Format.html,
    ".json": Format.json,
    ".md": Format.markdown,
    ".txt": Format.terminal,
    ".sarif": Format.sarif,
    ".xml": Format.junit,
    ".csv": Format.csv,
}


def chosen_format(asked: Format | None, output: Path | None) -> Format:
    """The format that was asked for, or that the suffix of the file names.

    Raises:
        BadParameter: Option and suffix contradict each other.
    """
    by_suffix = None if output is None else _SUFFIXES.get(output.suffix.lower())
    if asked is Format.brief and by_suffix is Format.terminal:
        by_suffix = asked  # both are plain text
    if asked is Format.sarif and by_suffix is Format.json:
        by_suffix = asked  # SARIF is JSON
    if asked is not None and by_suffix is not None and asked is not by_suffix:
        import typer

        raise typer.BadParameter(
            f"--format {asked.value} contradicts the suffix of {output}, which means {by_suffix.value}; leave one of them out"
        )
    return asked or by_suffix or Format.terminal


def rendered(study: Study, format_name: Format, output: Path | None, *, show_all: bool, top: int) -> str:
    """The answer as text; in a few lines if its renderer fails."""
    from analyzer.render import rendered_or_plain

    return rendered_or_plain(
        study.diagnosis,
        format_name.value,
        lambda: _page(study, format_name, output, show_all=show_all, top=top),
    )


def _page(study: Study, format_name: Format, output: Path | None, *, show_all: bool, top: int) -> str:
    from analyzer.render import page_of, render_terminal
    from analyzer.render.curves import panels_of

    if format_name is not Format.terminal:
        return page_of(
            study.diagnosis, format_name.value, study.run, study.baseline, show_all=show_all, top=top
        )
    style = screen_style(study.run, to_screen=output is None)
    panels = () if show_all or study.diagnosis.status == "healthy" else panels_of(study.run)
    beside: tuple[str, ...] = ()
    if study.baseline is not None:
        from analyzer.render.beside import in_short

        beside = in_short(study.baseline, study.run, study.diagnosis)
    return render_terminal(study.diagnosis, style, show_all=show_all, top=top, panels=panels, beside=beside)


def screen_style(run: Run, *, to_screen: bool) -> Style:
    """Colours, links and width for standard output, or plain text for a file."""
    from analyzer.render import Style

    terminal = to_screen and sys.stdout.isatty()
    columns = terminal_columns(100) if terminal else 100
    colour = to_screen and wants_colour(terminal=terminal)
    locations = {source.path: source.location for source in run.sources if source.location}
    return Style(
        colour,
        max(60, min(columns, 110)),
        links=terminal and colour and _knows_links(),
        locations=locations,
        here="" if run.root.startswith(("http:", "https:")) or not to_screen else str(Path.cwd()),
    )


def terminal_columns(otherwise: int) -> int:
    """Width of the terminal, or another where it does not say."""
    from shutil import get_terminal_size  # with the archives that it knows it takes 3 ms

    return get_terminal_size((otherwise, 40)).columns


def wants_colour(*, terminal: bool) -> bool:
    """Whether to colour: NO_COLOR (https://no-color.org) and FORCE_COLOR (https://force-color.org) decide, then the terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return terminal and os.environ.get("TERM") != "dumb"


def _knows_links() -> bool:
    """Whether the terminal is one that is known to make OSC 8 links clickable; others may print them as rubbish."""
    named = os.environ.get("TERM_PROGRAM", "") in {"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper"}
    vte = os.environ.get("VTE_VERSION", "")
    return (
        named
        or (vte.isdigit() and int(vte) >= 5000)
        or any(os.environ.get(name) for name in ("KITTY_WINDOW_ID", "WT_SESSION", "FORCE_HYPERLINK"))
        or os.environ.get("TERM", "").startswith(("xterm-kitty", "foot", "alacritty"))
    )


def write(text: str, output: Path | None) -> None:
    """Write to a file or to standard output.

    Raises:
        InputError: It cannot be written.
    """
    if output is None:
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise InputError(f"standard output cannot be written ({error.strerror or error})") from error
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{output}: cannot be written ({error.strerror or error})") from error
