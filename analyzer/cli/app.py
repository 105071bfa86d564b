"""The ``analyzer`` command: commands are named here and imported when called, one file each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from analyzer.cli.exit_codes import INTERRUPTED, USAGE
from analyzer.version import __version__

COMMANDS = {
    "diagnose": "diagnose:diagnose_command",
    "explain": "explain:explain_command",
    "confirm": "confirm:confirm_command",
    "benchmark": "casebook:benchmark_command",
    "verify": "verify:verify_command",
    "compare": "compare:compare_command",
    "watch": "watch:watch_command",
    "mcp": "mcp:mcp_command",
    "serve": "serve:serve_command",
    "version": "app:version_command",
    "rules": "rules:app",
    "classifier": "classifier:app",
    "casebook": "casebook:app",
    "triage": "triage:app",
    "replay": "replay:app",
    "schema": "schema:app",
}
"""In the order of the help: the module of ``analyzer.cli`` and the function or the group in it."""


class _Commands(Mapping[str, Any]):
    """The commands by name, each imported when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        return _command(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


@cache  # the help asks for each several times
def _command(name: str) -> Any:
    module, _, function = COMMANDS[name].partition(":")
    found = getattr(import_module(f"analyzer.cli.{module}"), function)
    holder = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    holder.callback()(lambda: None)  # makes it a group also if it has one command
    if isinstance(found, typer.Typer):
        holder.add_typer(found, name=name)
    else:
        holder.command(name, epilog=_EXAMPLES if name == "diagnose" else None)(found)
    return typer.main.get_group(holder).commands[name]


class _Interruptible(TyperGroup):
    """Says that it was interrupted; Typer itself ends without a word."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes | {"commands": _Commands()})

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo("analyzer: interrupted", err=True)
            raise SystemExit(INTERRUPTED) from None


app = typer.Typer(
    name="analyzer",
    cls=_Interruptible,
    help="Find out why a deep-learning training run failed, with the evidence and a fix.",
    no_args_is_help=True,
    rich_markup_mode=None,  # importing rich would triple the cost of --help
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_EXAMPLES = """\b
Examples:
  analyzer diagnose runs/7b                         why it failed, on one screen
  analyzer diagnose runs/7b -o report.html          one page with curves and evidence
  analyzer diagnose runs/7b --baseline runs/7a      compared with a run that worked
  kubectl logs trainer-0 | analyzer diagnose -      a log from a pipe
  analyzer diagnose runs/7b -f brief                2,000 tokens for a chat or an agent
  analyzer diagnose runs/7b --fail-on likely        exit code 1 for a script
"""


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"analyzer {__version__}")
        raise typer.Exit


def _options_by_command() -> dict[str, dict[str, str]]:
    """Of each command its long options without dashes, and the parameter that each sets."""
    group = typer.main.get_command(app)
    return {
        name: {
            option.removeprefix("--"): str(parameter.name)
            for parameter in command.params
            for option in parameter.opts
            if option.startswith("--")
        }
        for name, command in getattr(group, "commands", {}).items()
        if not hasattr(command, "commands")
    }


def _configure(context: typer.Context, show: bool) -> None:
    from pathlib import Path

    from analyzer.cli.configuration import defaults_of, find_configuration

    found = find_configuration(Path.cwd())
    if found is not None:
        context.default_map = defaults_of(*found, _options_by_command())
    if show:
        typer.echo(
            f"# {found[0]}" if found else "# no analyzer.toml and no [tool.analyzer] from here upwards"
        )
        for command, options in (context.default_map or {}).items():
            for parameter, value in options.items():
                typer.echo(f"{command}.{parameter} = {value!r}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    show_config: Annotated[
        bool,
        typer.Option("--show-config", help="Print the options that analyzer.toml or [tool.analyzer] sets."),
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Find out why a deep-learning training run failed, with the evidence and a fix."""
    del version
    _configure(context, show_config)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(USAGE)


def version_command(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print name, version, rules and rule packs as JSON.")
    ] = False,
) -> None:
    """Print the version."""
    if not as_json:
        typer.echo(f"analyzer {__version__}")
        return
    import json

    from analyzer.rules.load import load_rules
    from analyzer.vocabulary.packs import SCHEMA_VERSION

    rules = load_rules([])
    # two installations with one digest judge alike
    said = {"rules_digest": rules.digest, "rules_schema": SCHEMA_VERSION, "rule_packs": rules.packs}
    typer.echo(json.dumps({"name": "analyzer", "version": __version__, **said}))


_OLD_WORDS = {"--twin": "--baseline", "--twins": "--baselines", "--no-twins": "--no-baselines"}


def _with_new_words(arguments: list[str]) -> list[str]:
    """The arguments with options that were renamed under their new name, and a line that says so."""
    found: list[str] = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if name in _OLD_WORDS:
            typer.echo(f"analyzer: {name} is now called {_OLD_WORDS[name]}", err=True)
        found.append(_OLD_WORDS.get(name, name) + equals + value)
    return found


_SHOWS_OUR_BUGS = frozenset({"diagnose", "explain", "compare", "triage", "watch", "serve", "mcp"})
"""Commands with a ``--debug`` of their own; where any other one fails for a bug of ours, that shows its traceback as well."""


def _without_debug(arguments: list[str]) -> list[str]:
    """The arguments without ``--debug``, which ``__main__`` has seen, unless the command takes it."""
    if _SHOWS_OUR_BUGS.intersection(arguments[:1]):
        return arguments
    return [argument for argument in arguments if argument != "--debug"]


_COMPDEF_IN_ZSH = "compdef %(complete_func)s %(prog_name)s"
_FIRST_TAB_IN_ZSH = (
    'if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n  %(complete_func)s "$@"\nelse\n  '
    + _COMPDEF_IN_ZSH
    + "\nfi"
)


def _answer_the_first_tab_in_zsh() -> None:
    """Zsh loads a completion file at the first tab, and Typer's only registers itself then: that tab would only beep."""
    from typer._completion_shared import _completion_scripts

    _completion_scripts["zsh"] = _completion_scripts["zsh"].replace(_COMPDEF_IN_ZSH, _FIRST_TAB_IN_ZSH)


def run(arguments: list[str]) -> None:
    """Call the command that some arguments name."""
    if arguments[:1] in (["--install-completion"], ["--show-completion"]):
        _answer_the_first_tab_in_zsh()
    app(_without_debug(_with_new_words(arguments)), prog_name="analyzer")
