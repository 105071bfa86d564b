"""``analyzer casebook add|check|stats``, and ``analyzer benchmark``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from analyzer.cli.exit_codes import UNREADABLE

if TYPE_CHECKING:
    from analyzer.casebook.figures import Figures

app = typer.Typer(
    help="Manage casebooks: typed facts of runs whose cause is known.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Books = Annotated[list[Path], typer.Argument(help="Casebooks: files of JSON lines, or folders of them.")]


@app.command("add")
def add_command(
    run: Annotated[str, typer.Argument(help="The run: a directory or a log file.")],
    label: Annotated[str, typer.Argument(help="Its cause, 'healthy', or 'outside' (known, but not listed).")],
    to: Annotated[Path, typer.Option("--to", help="Casebook to append to.")],
    acceptable: Annotated[
        str, typer.Option("--acceptable", help="Other right causes, separated by commas.")
    ] = "",
    source: Annotated[str, typer.Option("--source", help="Where the run came from.")] = "own",
    framework: Annotated[str, typer.Option("--framework", help="Who wrote the log.")] = "",
    confirmed: Annotated[
        str, typer.Option("--confirmed", help="How the label is known: thread, outcome, expert, user.")
    ] = "user",
    group: Annotated[str, typer.Option("--group", help="Runs that belong together.")] = "",
) -> None:
    """Append one labelled run: its facts as numbers, booleans and identifiers, none of its text."""
    from analyzer.casebook.from_run import record_of

    record = record_of(
        Path(run),
        label,
        acceptable=tuple(word for word in acceptable.split(",") if word),
        source=source,
        framework=framework,
        confirmed=confirmed,
        group=group,
    )
    with to.open("a", encoding="utf-8") as stream:
        stream.write(record.to_json() + "\n")
    typer.echo(f"{record.id}: {record.label}, {len(record.facts)} facts, appended to {to}")


@app.command("build")
def build_command(
    labels: Annotated[
        Path,
        typer.Argument(help="CSV with the columns id, root_cause, and perhaps url, acceptable, framework."),
    ],
    runs: Annotated[Path, typer.Argument(help="Folder that holds each run under its id.")],
    to: Annotated[Path, typer.Option("--to", help="Casebook to write; what it holds is replaced.")],
    words: Annotated[
        Path | None,
        typer.Option(
            "--words",
            help="Parquet file to write: hashes of what the runs ended in, for 'classifier messages'.",
        ),
    ] = None,
) -> None:
    """Rebuild a casebook from labelled runs in one folder, for example after the readers changed."""
    from analyzer.casebook.from_run import records_of, words_of_runs
    from analyzer.casebook.labelled_words import write_labelled_words

    records, unread = records_of(labels, runs)
    to.write_text("".join(record.to_json() + "\n" for record in records), encoding="utf-8")
    if words is not None:
        write_labelled_words(words_of_runs(labels, runs), words)
    for reason in unread:
        typer.echo(reason, err=True)
    typer.echo(f"{len(records)} records in {to}, {len(unread)} runs not read")
    if not records:
        raise typer.Exit(UNREADABLE)


@app.command("check")
def check_command(books: Books) -> None:
    """Check every record; a bad one is named with file and line."""
    from analyzer.casebook.record import CaseRecord, read_casebook

    good, bad, ids = 0, 0, set()
    for where, record in read_casebook(books):
        if not isinstance(record, CaseRecord):
            typer.echo(str(record), err=True)
            bad += 1
        elif record.id in ids:
            typer.echo(f"{where}: the id {record.id!r} stands twice", err=True)
            bad += 1
        else:
            ids.add(record.id)
            good += 1
    typer.echo(f"{good} sound records, {bad} bad")
    if bad or not good:
        raise typer.Exit(UNREADABLE)


@app.command("stats")
def stats_command(books: Books) -> None:
    """Count records by label, framework and how the label is known, and how often two labellers agree."""
    from collections import Counter

    from analyzer.casebook.figures import agreement
    from analyzer.casebook.record import good_records

    records = good_records(books)
    typer.echo(f"{len(records)} records of {len({r.group or r.id for r in records})} groups")
    if (twice := agreement(records)) is not None:
        typer.echo(twice.sentence())
    for name, values in (
        ("label", [record.label for record in records]),
        ("framework", [record.framework or "unknown" for record in records]),
        ("confirmed", [record.confirmed or "unknown" for record in records]),
        ("split", [record.split for record in records]),
    ):
        typer.echo(f"{name}:")
        for value, count in sorted(Counter(values).items(), key=lambda pair: (-pair[1], pair[0])):
            typer.echo(f"  {count:5d}  {value}")


def benchmark_command(books: Books) -> None:
    """Score the answers on labelled runs.

    Right, wrong and sure, log loss and calibration, per kind of symptom, by the shares that rules give. What they are told at is fitted by `analyzer rules fit`.
    """
    from analyzer.casebook.figures import contests, figures
    from analyzer.casebook.record import good_records
    from analyzer.rules.load import load_rules

    records = good_records(books)
    found = contests([record for record in records if record.facts], load_rules(()))
    typer.echo(f"{len(records)} runs, {len(found)} with a cause in question")
    typer.echo(HEAD)
    for kind in (*sorted({contest.kind for contest in found}), ""):
        mine = [contest for contest in found if kind in ("", contest.kind)]
        typer.echo(row(kind or "all kinds", figures(mine)))


HEAD = f"{'':36} runs  top-1  top-3  wrong at .6  at .9  bits  Brier  error"


def row(name: str, found: Figures) -> str:
    """One line of the table of figures."""
    return (
        f"{name:36} {found.runs:4d}  {found.top1:5.0%}  {found.top3:5.0%}  {found.wrong_sure:11.1%}"
        f"  {found.wrong_very_sure:5.1%}  {found.log_loss_bits:4.2f}  {found.brier:5.3f}  {found.calibration_error:5.3f}"
    )
