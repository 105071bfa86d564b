"""``analyzer schema diagnosis|rule``."""

from __future__ import annotations

import typer

app = typer.Typer(help="Print the JSON Schema of a contract.", no_args_is_help=True, rich_markup_mode=None)


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
