"""``analyzer mcp FOLDER…``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from analyzer.cli.diagnose import Debug, Rules
from analyzer.errors import InputError


def mcp_command(
    folders: Annotated[
        list[Path], typer.Argument(help="Folders with runs; nothing outside them can be read.")
    ],
    rules: Rules = None,
    debug: Debug = False,
) -> None:
    """Serve tools for coding agents (MCP).

    By the Model Context Protocol on standard input and output (extra mcp). Tools: diagnose, lines, series, explain, compare, search_causes, rules_for_line, triage.

    Example: claude mcp add analyzer -- analyzer mcp ~/runs
    """
    del debug
    from analyzer.desk import Desk

    try:
        from analyzer.agents.server import build_server
    except ModuleNotFoundError as error:
        raise InputError(
            f"analyzer mcp needs the package mcp ({error.name} is missing): pip install 'mcp>=2,<3'"
        ) from error
    build_server(Desk(folders, rules or [])).run("stdio")
