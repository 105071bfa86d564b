"""``analyzer serve FOLDER…``."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from analyzer.cli.diagnose import Debug, Rules
from analyzer.errors import InputError


def serve_command(
    folders: Annotated[
        list[Path], typer.Argument(help="Folders with runs; nothing outside them can be read.")
    ],
    host: Annotated[
        str,
        typer.Option("--host", help="Address to listen on; any but this machine needs ANALYZER_SERVE_TOKEN."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535)] = 8787,
    waiting: Annotated[
        int, typer.Option("--queue", min=1, help="Submissions that may wait in the queue.")
    ] = 64,
    rules: Rules = None,
    debug: Debug = False,
) -> None:
    """Serve diagnoses over HTTP.

    Submit a path or a file, fetch the answer; /health, and /metrics for Prometheus.

    Example: analyzer serve /runs & curl -s -d '{"path": "/runs/7b"}' -H 'Content-Type: application/json' localhost:8787/diagnoses
    """
    del debug
    from analyzer.desk import Desk
    from analyzer.service.server import LOCAL, Jobs, Service

    token = os.environ.get("ANALYZER_SERVE_TOKEN", "")
    if host not in LOCAL and not token:
        raise InputError(f"--host {host}: whoever reaches it could read runs; set ANALYZER_SERVE_TOKEN")
    with tempfile.TemporaryDirectory(prefix="analyzer-") as uploads:
        jobs = Jobs(Desk([*folders, Path(uploads)], rules or []), waiting)
        try:
            service = Service((host, port), jobs, Path(uploads), token)
        except OSError as error:
            raise InputError(f"{host}:{port}: cannot be listened on ({error.strerror or error})") from error
        with service:
            typer.echo(f"http://{host}:{service.server_address[1]}", err=True)
            service.serve_forever()
