"""``analyzer schema diagnosis|rule|gates|fixes|events|frameworks|config|replay|triage``."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(help="Print the schema of a format.", no_args_is_help=True, rich_markup_mode=None)


SCHEMAS = {
    "diagnosis": ("analyzer.render.json:diagnosis_schema", "of what `diagnose --format json` prints."),
    "rule": ("analyzer.rules.schema:rule_schema", "of rule.yaml, for editors."),
    "gates": ("analyzer.rules.gates:gate_schema", "of a file of named conditions."),
    "fixes": ("analyzer.rules.fixing.shared_fixes:fix_schema", "of a file of fixes that rules share."),
    "events": (
        "analyzer.vocabulary.events:event_schema",
        "of a file of events and their patterns, for editors.",
    ),
    "frameworks": ("analyzer.vocabulary.frameworks:framework_schema", "of the file of frameworks."),
    "config": ("analyzer.vocabulary.config:config_schema", "of the file of settings."),
}
"""Of each contract the function that makes its schema, and what it is a schema of."""


def _add(name: str, place: str, of: str) -> None:
    @app.command(name, help=f"JSON Schema {of}")
    def command() -> None:
        import json
        from importlib import import_module

        module, _, function = place.partition(":")
        typer.echo(json.dumps(getattr(import_module(module), function)(), indent=2))


for _name, (_place, _of) in SCHEMAS.items():
    _add(_name, _place, _of)


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
