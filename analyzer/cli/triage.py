"""``analyzer triage SOURCE…`` and ``analyzer triage merge OUT``."""

from __future__ import annotations

import re
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from analyzer.cli.diagnose import Debug, Rules
from analyzer.cli.exit_codes import FINDING, INCOMPLETE, INTERRUPTED, FailOn
from analyzer.cli.output import wants_colour, write

if TYPE_CHECKING:
    from analyzer.triage.campaign import Result
    from analyzer.triage.places import Place
    from analyzer.triage.specs import Plan


class Format(StrEnum):
    """Output formats."""

    terminal = "terminal"
    json = "json"
    markdown = "markdown"
    html = "html"
    csv = "csv"


class GroupBy(StrEnum):
    """What the main table is about."""

    cause = "cause"
    node = "node"
    user = "user"
    model = "model"


class Reports(StrEnum):
    """Which runs get a page of their own."""

    failed = "failed"
    all = "all"
    none = "none"


class _RunUnlessNamed(TyperGroup):
    """``triage X`` means ``triage run X``, except where the first word is another command (``./merge`` is a path)."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or args[0] not in self.commands:
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=_RunUnlessNamed, help="Diagnose many runs and summarise them.", rich_markup_mode=None)

Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=0,
        max=1024,
        help="Worker processes; default: one per core. 0: in this process, without protection.",
    ),
]
Engine = Annotated[
    str,
    typer.Option("--engine", help="local, dask, dask:ADDRESS, or MODULE:CALLABLE that returns an executor."),
]
Timeout = Annotated[
    str,
    typer.Option("--timeout", help="Time limit per run; one of gigabytes gets a second more for every 4 MB."),
]
Memory = Annotated[str, typer.Option("--mem", help="Memory limit per run.")]
Grouping = Annotated[GroupBy, typer.Option("--group-by", help="What the main table is grouped by.")]
Shown = Annotated[Format, typer.Option("--format", "-f", help="Output format.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Print to a file instead of the screen.")]
Baselines = Annotated[
    bool, typer.Option("--baselines/--no-baselines", help="Compare failed runs with the nearest healthy run.")
]
Threshold = Annotated[
    FailOn, typer.Option("--fail-on", help="Exit with code 1 if a run has a fault at least this probable.")
]


@app.command("run")
def triage_command(
    sources: Annotated[
        list[str] | None, typer.Argument(help="Directories to search, runs, logs, URLs.", show_default=False)
    ] = None,
    listed: Annotated[
        list[str] | None, typer.Option("--from", help="File with one source per line; - for standard input.")
    ] = None,
    glob: Annotated[
        list[str] | None, typer.Option("--glob", help="Pattern; each match is taken as one run.")
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", help="Directory or URL for the dataset, summary and page.")
    ] = None,
    workers: Workers = None,
    engine: Engine = "local",
    shard: Annotated[
        str | None,
        typer.Option("--shard", help="Only part I of N, for example 3/64; then: analyzer triage merge OUT."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Skip runs that are up to date in --out.")] = False,
    timeout: Timeout = "120s",
    memory: Memory = "2GiB",
    group_by: Grouping = GroupBy.cause,
    format_name: Shown = Format.terminal,
    output: Output = None,
    fail_on: Threshold = FailOn.never,
    rules: Rules = None,
    baselines: Baselines = True,
    state: Annotated[
        str,
        typer.Option("--state", help="W&B projects: only runs in these states, for example crashed,failed."),
    ] = "",
    since: Annotated[
        str,
        typer.Option("--since", help="W&B projects: only runs created since, for example 7d or 2026-01-31."),
    ] = "",
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="W&B projects: at most this many runs, the newest.")
    ] = None,
    filter_json: Annotated[
        str, typer.Option("--filter", help="W&B projects: a filter of W&B, as JSON.")
    ] = "",
    report: Annotated[
        Reports, typer.Option("--report", help="Which runs get a page with curves in --out.")
    ] = Reports.failed,
    plan_only: Annotated[
        bool, typer.Option("--plan", help="Only list what would be taken as a run, and why.")
    ] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Do not use the network.")] = False,
    debug: Debug = False,
) -> None:
    """Find the runs under SOURCES, diagnose each, and summarise: causes, cost, bad hosts, what to restart.

    A second command, analyzer triage merge OUT, makes one result of the parts that --shard left.
    """
    del debug  # looked at in main()
    from analyzer.triage.campaign import Campaign, run_campaign
    from analyzer.triage.plan import make_plan, sources_in
    from analyzer.triage.progress import Progress
    from analyzer.triage.specs import Options, Selection, worker_count

    named = [*(sources or []), *(line for path in listed or [] for line in sources_in(path))]
    if not named and not glob:
        raise typer.BadParameter("give at least one source, --from or --glob")
    part = _shard(shard)
    if part and out is None:
        raise typer.BadParameter("--shard needs --out, where the shards meet")
    options = Options(
        tuple(str(place) for place in rules or []),
        _seconds(timeout),
        _bytes(memory),
        offline=offline,
        reports=f"{out.rstrip('/')}/reports" if out is not None and report is not Reports.none else "",
        report_all=report is Reports.all,
    )
    selection = Selection(tuple(filter(None, state.split(","))), since, limit, filter_json)
    plan = make_plan(named, glob or [], offline=offline, selection=selection)
    if plan_only:
        _print_plan(plan)
        return
    _tell_plan(plan)
    with _destination(out, part) as place:
        campaign = Campaign(place, options, engine, worker_count(workers), resume, baselines, part)
        progress = Progress()
        with _stoppable():
            result = run_campaign(campaign, plan, progress)
        progress.end()
        _conclude(result, place, format_name, group_by, output, fail_on, keep=out is not None and not part)


@app.command("merge")
def merge_command(
    out: Annotated[str, typer.Argument(help="The --out of the shards.")],
    workers: Workers = None,
    engine: Engine = "local",
    timeout: Timeout = "120s",
    memory: Memory = "2GiB",
    group_by: Grouping = GroupBy.cause,
    format_name: Shown = Format.terminal,
    output: Output = None,
    fail_on: Threshold = FailOn.never,
    rules: Rules = None,
    baselines: Baselines = True,
    debug: Debug = False,
) -> None:
    """Merge the shards under OUT into one dataset, summary and page; compare failed runs with healthy ones of all shards."""
    del debug
    from analyzer.triage.campaign import Campaign, merge_shards
    from analyzer.triage.places import open_place
    from analyzer.triage.progress import Progress
    from analyzer.triage.specs import Options, worker_count

    options = Options(tuple(str(place) for place in rules or []), _seconds(timeout), _bytes(memory))
    place = open_place(out)
    progress = Progress()
    with _stoppable():
        result = merge_shards(
            Campaign(place, options, engine, worker_count(workers), baselines=baselines), progress
        )
    progress.end()
    _conclude(result, place, format_name, group_by, output, fail_on, keep=True)


@contextmanager
def _destination(out: str | None, part: tuple[int, int] | None) -> Iterator[Place]:
    """The output directory: as named, a shard's own below it, or a temporary one."""
    from analyzer.triage.places import open_place

    if out is None:
        with tempfile.TemporaryDirectory(prefix="analyzer-") as directory:
            yield open_place(directory)
    elif part is None:
        yield open_place(out)
    else:
        yield open_place(out).inner("shards/{:05d}-of-{:05d}".format(*part))


@contextmanager
def _stoppable() -> Iterator[None]:
    """The end that a scheduler announces (SIGTERM) is treated like Ctrl-C: what is done is kept."""
    old = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, old)


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def _conclude(
    result: Result,
    place: Place,
    format_name: Format,
    group_by: GroupBy,
    output: Path | None,
    fail_on: FailOn,
    *,
    keep: bool,
) -> None:
    from analyzer.triage.pages import render_fleet
    from analyzer.triage.store import Dataset

    def text(name: str) -> str:
        colour = output is None and wants_colour(terminal=sys.stdout.isatty())
        width = max(60, min(shutil.get_terminal_size((100, 40)).columns, 160)) if sys.stdout.isatty() else 100
        records = Dataset(place).records
        pages = [PurePosixPath(page).stem for page in place.names("reports")] if name == "html" else []
        return render_fleet(
            result.summary,
            records,
            name,
            group_by=group_by.value,
            colour=colour,
            width=width,
            reports=frozenset(pages),
        )

    write(text(format_name.value), output)
    if keep:
        place.write("report.html", text("html").encode())
        _note(
            f"written to {place.shown}: report.html, summary.json, restart.jsonl, runs/ and findings/ (Parquet)"
        )
    if result.kept and result.done:
        _note(f"{result.kept} of {result.kept + result.done} runs were up to date")
    for problem in result.damaged[:SKIPPED_SHOWN]:
        _note(problem)
    if result.others:
        _note(f"{result.others} runs of earlier triages, of which no source was given now, were kept")
    if result.missing:
        _note(
            f"missing or unfinished shards: {', '.join(map(str, result.missing))}; the result is not complete"
        )
    if result.interrupted:
        _note(
            "interrupted; what is done is kept"
            + (", --resume goes on from there" if keep else " in this summary only")
        )
        raise typer.Exit(INTERRUPTED)
    if result.summary.top_probability >= fail_on.threshold:
        raise typer.Exit(FINDING)
    if result.summary.problems or result.missing:
        raise typer.Exit(INCOMPLETE)


def _note(text: str) -> None:
    from analyzer.ingest.masking import clean_text

    typer.echo(clean_text(text), err=True)


SKIPPED_SHOWN = 5


def _tell_plan(plan: Plan) -> None:
    """What was taken for a run and what was not, in a few lines on standard error."""
    kinds = Counter(re.split(r":|,| \d", run.why)[0] for run in plan.runs)
    taken = ", ".join(f"{count} as {why}" for why, count in kinds.most_common())
    _note(f"found {len(plan.runs)} runs: {taken}" if plan.runs else "found no runs")
    for item in plan.skipped[:SKIPPED_SHOWN]:
        _note(f"  skipped {item.path}: {item.reason}")
    if len(plan.skipped) > SKIPPED_SHOWN:
        _note(f"  … {len(plan.skipped) - SKIPPED_SHOWN} more skipped; --plan lists all")


def _print_plan(plan: Plan) -> None:
    from analyzer.ingest.masking import clean_text

    for run in plan.runs:
        typer.echo(f"{clean_text(run.location)}\t{clean_text(run.why)}")
    for item in plan.skipped:
        typer.echo(f"# skipped {clean_text(item.path)}: {clean_text(item.reason)}")


def _shard(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise typer.BadParameter(f"--shard {text}: give I/N with 1 <= I <= N, for example 3/64")
    return int(match[1]), int(match[2])


_TIMES = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_SIZES = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|)", text.strip().lower())
    if match is None or float(match[1]) <= 0:
        raise typer.BadParameter(f"--timeout {text}: give a time such as 120s or 5m")
    return float(match[1]) * _TIMES[match[2]]


def _bytes(text: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", text.strip().lower())
    size = 0 if match is None else int(float(match[1]) * _SIZES[match[2]])
    if size < 128 * 1024**2:
        raise typer.BadParameter(f"--mem {text}: give a size of at least 128MiB, such as 2GiB")
    return size
