"""``analyzer rules list|show|test|lint|facts|docs|new``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from analyzer.cli.diagnose import Rules
from analyzer.cli.exit_codes import RULES_INVALID
from analyzer.errors import InputError, RuleError

if TYPE_CHECKING:
    from analyzer.rules.cases import Case
    from analyzer.rules.schema import Rule

app = typer.Typer(help="List, check and extend the rules.", no_args_is_help=True, rich_markup_mode=None)

Places = Annotated[
    list[Path] | None,
    typer.Argument(help="Rule packs, folders or rule.yaml files; the bundled rules if left out."),
]


def _folders(
    places: list[Path] | None, invalid: list[str] | None = None
) -> Iterator[tuple[Rule, Path, list[Case]]]:
    """Each rule with its folder and cases; one that is invalid is told in ``invalid``, if that is given."""
    from analyzer.rules.cases import cases_of
    from analyzer.rules.causes import rules_root
    from analyzer.rules.load import load_rule, rule_files
    from analyzer.vocabulary import packs

    packs.use(places or [])
    for place in places or [rules_root()]:
        if not place.exists():
            raise RuleError("no such rule pack", str(place))
        for path in rule_files(place):
            try:
                rule = load_rule(path)
                cases = cases_of(rule, path.parent)
            except RuleError as error:
                if invalid is None:
                    raise
                invalid.append(str(error))
            else:
                yield rule, path.parent, cases


@app.command("list")
def list_command(
    grep: Annotated[
        str, typer.Option("--grep", help="Words of a rule, or a pasted log line: the rules that look at it.")
    ] = "",
    rules: Rules = None,
) -> None:
    """List the rules: id, cause, severity, symptom kind, status."""
    from analyzer.rules.load import load_rules
    from analyzer.rules.search import metrics_in, readings, with_words

    every = load_rules(rules or []).rules
    found = readings(grep, every) if grep else ()
    row = metrics_in(grep) if grep else ()
    if row:
        typer.echo(f"read as a row of metrics: {', '.join(row)}")
    for reading in found:
        typer.echo(f"read as {reading.kind} ({reading.role}):")
        for rule in reading.rules:
            typer.echo(f"  {_row(rule)}")
        if not reading.rules:
            typer.echo("  no rule looks at such a line")
    named = with_words(grep, every)
    for rule in named:
        typer.echo(_row(rule))
    if not found and not named and not row:
        raise InputError(f"no rule holds {grep!r}, and it is neither a row of metrics nor a known log line")


def _row(rule: Rule) -> str:
    return f"{rule.id:8} {rule.entry.id:36} {rule.severity:10} {rule.symptom_kind:20} {rule.status}"


@app.command("show")
def show_command(
    word: Annotated[str, typer.Argument(help="Rule id, slug or cause id.")],
    rules: Rules = None,
) -> None:
    """Show one rule as a page: symptom, mechanism, weights, fixes."""
    from analyzer.rules.docs import rule_page
    from analyzer.rules.load import load_rules

    rule = load_rules(rules or []).by_id(word)
    if rule is None:
        raise InputError(f"no rule is called {word!r}; see `analyzer rules list`")
    typer.echo(rule_page(rule, []), nl=False)


@app.command("test")
def test_command(places: Places = None) -> None:
    """Run the cases beside the rules, each against all rules."""
    from analyzer.pipeline import run_case
    from analyzer.rules.causes import rules_root
    from analyzer.rules.gates import outcomes_in
    from analyzer.rules.load import load_rules
    from analyzer.rules.own_lines import example_outcomes

    every = load_rules(places or [], bundled=True) if _is_foreign(places) else load_rules()
    outcomes = [outcome for place in places or [rules_root()] for outcome in outcomes_in(place)]
    outcomes += [outcome for place in places or [] for outcome in example_outcomes(place)]
    failures = [str(error) for error in outcomes if error is not None]
    passed = len(outcomes) - len(failures)
    for _, _, cases in _folders(places):
        for case in cases:
            try:
                run_case(case, every)
                passed += 1
            except RuleError as error:
                failures.append(str(error))
    for failure in failures:
        typer.echo(failure)
    typer.echo(f"{passed} passed, {len(failures)} failed")
    if failures:
        raise typer.Exit(RULES_INVALID)


def _is_foreign(places: list[Path] | None) -> bool:
    from analyzer.rules.causes import rules_root

    root = rules_root().resolve()
    return any(not place.resolve().is_relative_to(root) for place in places or [])


@app.command("lint")
def lint_command(places: Places = None) -> None:
    """Check the rules beyond their schema."""
    from analyzer.ingest.text.rows.forms.row_form import row_forms
    from analyzer.model.wording import counted
    from analyzer.rules.causes import check_catalogue, rules_root
    from analyzer.rules.coverage import lint_coverage
    from analyzer.rules.lint import lint_rule, lint_set
    from analyzer.rules.own_lines import unused_events

    samples = rules_root().parent / "samples"
    messages: list[str] = []
    rules: list[Rule] = []
    if not places:
        check_catalogue()
        row_forms()
    invalid: list[str] = []
    for rule, folder, cases in _folders(places, invalid):
        rules.append(rule)
        messages += lint_rule(rule, folder, cases, samples if samples.is_dir() else None)
    messages += invalid
    if not invalid:  # a rule that could not be read may be the one that the checks of the whole set miss
        messages += lint_set(rules)
        messages += [message for place in places or [] for message in unused_events(place, rules)]
        messages += [] if places else lint_coverage(rules, rules_root())
    for message in messages:
        typer.echo(message)
    typer.echo(f"{counted(len(rules) + len(invalid), 'rule')}, {counted(len(messages), 'problem')}")
    if messages:
        raise typer.Exit(RULES_INVALID)


@app.command("facts")
def facts_command(
    text: Annotated[str, typer.Argument(help="Only facts whose name or meaning contains this.")] = "",
) -> None:
    """List the facts that a condition may use."""
    from analyzer.facts.catalog import catalog
    from analyzer.vocabulary.events import EVENT_FACTS

    for spec in catalog().values():
        if text.lower() in f"{spec.name} {spec.meaning}".lower():
            unit = f" [{spec.unit}]" if spec.unit else ""
            typer.echo(f"{spec.name}  {spec.dtype}{unit}  {spec.meaning}")
    if not text or "event".startswith(text.lower()):
        for name, (dtype, meaning) in EVENT_FACTS.items():
            typer.echo(f"event.<kind>.{name}  {dtype}  {meaning}")


@app.command("docs")
def docs_command(
    place: Annotated[Path, typer.Argument(help="Folder for the pages; created if missing.")],
) -> None:
    """Write one page per bundled rule, an index, and a list of the causes that have a rule."""
    from analyzer.rules.causes import rules_root
    from analyzer.rules.coverage import coverage_page
    from analyzer.rules.docs import index_page, page_path, rule_page

    pages: dict[str, str] = {}
    counts: dict[str, int] = {}
    rules: list[Rule] = []
    for rule, _, cases in _folders(None):
        pages[page_path(rule)] = rule_page(rule, cases)
        counts[rule.id] = len(cases)
        rules.append(rule)
    pages["COVERAGE.md"] = coverage_page(rules, rules_root())
    pages["README.md"] = index_page(sorted(rules, key=lambda r: r.id), counts)
    for name, text in pages.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    typer.echo(f"{len(pages)} pages in {place}")


@app.command("fit")
def fit_command(
    table: Annotated[
        Path, typer.Argument(help="First answers for labelled runs: samples/casebook/answers.csv.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; only the figures if left out.")
    ] = None,
) -> None:
    """Fit what the shares that rules give are worth: how often such answers were right.

    By share, status and family of the cause. The figures are those of sets of runs that the numbers were not fitted on.
    """
    import json

    from analyzer.casebook.fitting import fit_with_proof, read_answers

    answers = read_answers(table)
    if len({answer.group for answer in answers}) < 2:
        raise InputError(f"{table}: needs answers of two sets of runs, so that one can be held out")
    found = fit_with_proof(answers)
    typer.echo(
        f"{found.answers:,} answers: calibration error {found.error:.3f} ({found.error_low:.3f} to {found.error_high:.3f} by the"
        f" sets drawn) on sets held out, {found.error_by_hand:.3f} by the shares themselves;"
        f" {found.sure} told at 60% or more, {found.sure_right:.1%} of them right"
    )
    if output is not None:
        about = "Fitted by `analyzer rules fit`; see analyzer/rules/calibration.py."
        output.write_text(
            json.dumps({"about": about, "fit": found._asdict()}, indent=1) + "\n", encoding="utf-8"
        )
        typer.echo(f"written to {output}")


@app.command("new")
def new_command(
    code: Annotated[str, typer.Argument(help="Family code, for example PREC.")],
    slug: Annotated[str, typer.Argument(help="Folder name; preferably the cause id of the catalogue.")],
    place: Annotated[Path, typer.Option("--dir", help="Where to create the folder.")] = Path("rules"),
) -> None:
    """Write the skeleton of a new rule."""
    from analyzer.rules.load import load_rules
    from analyzer.rules.scaffold import missing_cause, write_skeleton

    folder = write_skeleton(code, slug, place, load_rules().rules)
    typer.echo(
        f"wrote {folder}: fill in rule.yaml and both cases of cases.yaml, then run `analyzer rules lint {folder}` and `analyzer rules test {folder}`"
    )
    if missing := missing_cause(slug, place):
        typer.echo(missing)
