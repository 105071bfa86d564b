"""``analyzer schema diagnosis|rule|gates|fixes|events|frameworks|config|replay|triage``."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(help="Print the schema of a contract.", no_args_is_help=True, rich_markup_mode=None)


@app.command("diagnosis")
def diagnosis_command() -> None:
    """JSON Schema of what `diagnose --format json` prints."""
    import json

    from analyzer.render.json import diagnosis_schema

    typer.echo(json.dumps(diagnosis_schema(), indent=2))


@app.command("rule")
def rule_command() -> None:
    """JSON Schema of rule.yaml, for editors."""
    import json

    from analyzer.rules.schema import rule_schema

    typer.echo(json.dumps(rule_schema(), indent=2))


@app.command("gates")
def gates_command() -> None:
    """JSON Schema of a file of named conditions."""
    import json

    from analyzer.rules.gates import gate_schema

    typer.echo(json.dumps(gate_schema(), indent=2))


@app.command("fixes")
def fixes_command() -> None:
    """JSON Schema of a file of fixes that rules share."""
    import json

    from analyzer.rules.fixing.shared_fixes import fix_schema

    typer.echo(json.dumps(fix_schema(), indent=2))


@app.command("events")
def events_command() -> None:
    """JSON Schema of a file of events and their patterns, for editors."""
    import json

    from analyzer.vocabulary.events import event_schema

    typer.echo(json.dumps(event_schema(), indent=2))


@app.command("frameworks")
def frameworks_command() -> None:
    """JSON Schema of the file of frameworks."""
    import json

    from analyzer.vocabulary.frameworks import framework_schema

    typer.echo(json.dumps(framework_schema(), indent=2))


@app.command("config")
def config_command() -> None:
    """JSON Schema of the file of settings."""
    import json

    from analyzer.vocabulary.config import config_schema

    typer.echo(json.dumps(config_schema(), indent=2))


@app.command("replay")
def replay_command(
    *,
    arrow: Annotated[
        bool, typer.Option("--arrow", help="Print the Arrow schemas of the Parquet form instead.")
    ] = False,
) -> None:
    """JSON Schema of one line of the open format analyzer-replay/1."""
    import json

    from analyzer.replay.files import TABLES, arrow_schema, json_schema

    if not arrow:
        typer.echo(json.dumps(json_schema(), indent=2))
        return
    for table in TABLES:
        schema = arrow_schema(table)
        typer.echo(f"{table}:")
        for field in schema:
            typer.echo(f"  {field.name}: {field.type}{'' if field.nullable else ' not null'}")


@app.command("triage")
def triage_command() -> None:
    """Columns of the Parquet dataset that a triage writes: table, name, type, meaning."""
    from analyzer.triage.store import COLUMNS

    for table, columns in COLUMNS.items():
        typer.echo(f"{table}:")
        for name, kind, meaning in columns:
            typer.echo(f"  {name}: {kind}; {meaning}")
