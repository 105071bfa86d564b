"""``analyzer replay run|plan|diff|convert``: traces of a failing step."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from analyzer.cli.exit_codes import FINDING
from analyzer.errors import InputError

if TYPE_CHECKING:
    from analyzer.replay.diff import Comparison, Difference
    from analyzer.replay.plan import Plan
    from analyzer.replay.replayer import Replay

app = typer.Typer(
    help="Inspect the tensors of the step that failed.", no_args_is_help=True, rich_markup_mode=None
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("run")
def run_command(
    capsule: Annotated[Path, typer.Argument(help="Directory that record(model, …, capsule=DIR) wrote.")],
    model: Annotated[
        str,
        typer.Option(
            "--model", help="module:factory that gives the model, or the model and a loss function."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Trace to write: .parquet, .jsonl or .jsonl.gz.")
    ] = None,
    device: Annotated[str | None, typer.Option("--device", help="cpu, cuda or cuda:<n>.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run a captured step again: find the module and the operator, then what cures it.

    The factory is imported and called: it is your own code. The capsule is data only, nothing in it is run.
    """
    from analyzer.replay import need_torch

    need_torch()
    from analyzer.replay.capsule_header import read_header
    from analyzer.replay.replayer import load_factory, replay_capsule, write_trace

    read_header(capsule)  # before anything is imported
    built, loss = load_factory(model)
    replay = replay_capsule(capsule, built, loss, device)
    if output is not None:
        write_trace(replay, output)
    typer.echo(json.dumps(_replay_dict(replay), indent=2) if as_json else _replay_text(replay, output))


def _replay_dict(replay: Replay) -> dict[str, Any]:
    from analyzer.replay.trace_file import json_number
    from analyzer.replay.verdict import MEANING

    judged = asdict(replay.judgement)
    outcomes = [{name: json_number(value) for name, value in asdict(o).items()} for o in replay.outcomes]
    origin = None if replay.origin is None else asdict(replay.origin)
    return {
        "schema": "analyzer.replay-run/1",
        **judged,
        "meaning": MEANING[judged["verdict"]],
        "origin": origin,
        "outcomes": outcomes,
        "notes": list(replay.notes),
    }


def _replay_text(replay: Replay, output: Path | None) -> str:
    from analyzer.replay.verdict import MEANING

    judged, origin = replay.judgement, replay.origin
    lines = [f"verdict: {judged.verdict}: {MEANING[judged.verdict]}"]
    if origin is not None:
        place = f"{origin.module or 'outside any module'}, {origin.op} ({origin.direction}, operator {origin.index})"
        lines.append(f"first bad operator: {place}{f' at {origin.site}' if origin.site else ''}")
        lines += [f"  input  {_tensor(columns)}" for columns in origin.inputs]
        lines += [f"  output {_tensor(columns)}" for columns in origin.outputs]
        if origin.reference_absmax is not None:
            lines.append(f"  the same in float64: absmax {origin.reference_absmax:.6g}")
        if origin.masked_rows:
            lines.append(f"  rows in which every score is masked: {origin.masked_rows}")
    lines.append("rerun             loss        forward  backward")
    for o in replay.outcomes:
        told = (
            o.error
            or f"{'-' if o.loss is None else f'{o.loss:.6g}':<11} {_sound(o.forward_bad)} {_sound(o.backward_bad)}"
        )
        lines.append(f"{o.name:<17} {told}")
    lines += [f"note: {note}" for note in replay.notes]
    if output is not None:
        lines.append(f"{output}: {len(replay.rows)} rows")
    return "\n".join(lines)


def _sound(bad: bool | None) -> str:
    return f"{'not run' if bad is None else 'BAD' if bad else 'finite':<8}"


def _tensor(columns: dict[str, Any]) -> str:
    absmax = columns.get("absmax")
    shown = "no finite element" if absmax is None else f"absmax {absmax:.6g}"
    bad = f", {columns['nan_count']} NaN, {columns['inf_count']} inf" if columns.get("nonfinite") else ""
    return f"{columns['dtype']} {columns['shape']} {shown}{bad}"


@app.command("plan")
def plan_command(
    source: Annotated[str, typer.Argument(help="Run directory or log file.")], as_json: AsJson = False
) -> None:
    """Say what to capture or to run again, so that the leading explanations come apart."""
    from analyzer import api
    from analyzer.detect import run_detectors
    from analyzer.replay.plan import plan

    run = api.load(source)
    diagnosis = api.diagnose(run)
    trace = run.replay
    facts = {name: fact.value for signal in run_detectors(run) for name, fact in signal.facts.items()}
    step = facts.get("signal.replay.first_step", facts.get("signal.onset.step"))
    reruns = bool(trace.mask("pass", "rerun").any()) if len(trace) else False
    made = plan(
        diagnosis, has_trace=len(trace) > 0, has_rerun=reruns, step=step if isinstance(step, int) else None
    )
    typer.echo(
        json.dumps({"schema": "analyzer.replay-plan/1", **asdict(made)}, indent=2)
        if as_json
        else _plan_text(made)
    )


def _plan_text(made: Plan) -> str:
    lines = [f"{share:4.0%}  {cause}" for cause, share in made.leading]
    if made.reason:
        return "\n".join([*lines, f"nothing to capture: {made.reason}"])
    for number, experiment in enumerate(made.experiments, start=1):
        lines += ["", f"{number}. {experiment.title}", f"   why: {experiment.why}"]
        lines += [f"     {line}" for line in experiment.command.splitlines()]
        lines += [f"   if {outcome}" for outcome in experiment.outcomes]
        lines += [f"   moves {check}" for check in experiment.checks]
    return "\n".join(lines)


@app.command("diff")
def diff_command(
    a: Annotated[Path, typer.Argument(help="Trace to explain.")],
    b: Annotated[Path, typer.Argument(help="Trace to hold it against.")],
    tolerance: Annotated[
        float | None, typer.Option("--tolerance", min=0.0, help="Relative; by number format if not given.")
    ] = None,
    any_step: Annotated[
        bool, typer.Option("--any-step", help="Match steps by their order, not their number.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find the first tensor at which two traces of the same step part.

    Exits with 1 if they part, with 0 if all tensors agree within the tolerance.
    """
    from analyzer import api
    from analyzer.replay.diff import compare

    tables = [api.load(path).replay for path in (a, b)]
    for path, table in zip((a, b), tables, strict=True):
        if not len(table):
            raise InputError(f"{path}: holds no replay trace")
    found = compare(*tables, tolerance=tolerance, steps=not any_step)
    typer.echo(
        json.dumps({"schema": "analyzer.replay-diff/1", **asdict(found)}, indent=2)
        if as_json
        else _comparison_text(found)
    )
    if found.first is not None:
        raise typer.Exit(FINDING)


def _comparison_text(found: Comparison) -> str:
    only = f"{found.only_a} only in the first, {found.only_b} only in the second"
    lines = [f"{found.matched} tensors in both, {found.differing} differ; {only}"]
    if found.first is None:
        return lines[0]
    lines.append(f"first difference: {found.first_place}: {_difference(found.first)}")
    if found.last_equal:
        lines.append(f"last that agrees before it: {found.last_equal}")
    return "\n".join(lines)


def _difference(first: Difference) -> str:
    if first.relative is None:
        return f"{first.what} {first.value_a} against {first.value_b}"
    return f"{first.what} {first.value_a:.6g} against {first.value_b:.6g} (relative {first.relative:.2g})"


@app.command("convert")
def convert_command(
    source: Annotated[Path, typer.Argument(help="Trace of another tool: a file or a directory.")],
    target: Annotated[Path, typer.Argument(help="File to write: .parquet, .jsonl or .jsonl.gz.")],
) -> None:
    """Convert a trace to the open format analyzer-replay/1.

    Reads msprobe dumps, TransformerEngine statistics, logs with reports of hooks and NaN detectors, and this
    format itself. What cannot be read is told on standard error.
    """
    from analyzer.replay.convert import convert

    done = convert(source, target)
    for gap in done.gaps:
        place = "" if gap.ref is None else done.sources[gap.ref.source]
        if gap.ref is not None and gap.ref.line is not None:
            place = f"{place}:{gap.ref.line}"
        typer.echo(f"analyzer: {place}: {gap.reason}" if place else f"analyzer: {gap.reason}", err=True)
    for path in done.files:
        rows = done.rows if path == target else done.collectives
        typer.echo(f"{path}: {rows} {'tensor events' if path == target else 'collectives'}")
