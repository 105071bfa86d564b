"""What was read of a run, how far it goes, and which names were guessed."""

from __future__ import annotations

from collections.abc import Mapping

from analyzer.detect.base import RunView
from analyzer.ingest.names import canonical_metric, is_guess
from analyzer.model.diagnosis import Coverage, SourceNote
from analyzer.model.run import Run
from analyzer.model.tables import Scalar


def coverage_of(
    run: Run, facts: Mapping[str, Scalar], missing: tuple[str, ...], passed: tuple[str, ...]
) -> Coverage:
    """The part of an answer that says what it rests on, with the tests of health that were passed."""
    counts = {
        name: int(series.value.size)
        for name in run.metrics.names
        if (series := run.metrics.series(name)) is not None and not name.startswith("system.")
    }
    last_step = facts.get("run.last_step")
    completed = facts.get("run.completed")
    return Coverage(
        sources=tuple(SourceNote(source.path, source.format) for source in run.sources),
        metrics=counts,
        events=len(run.events),
        config_keys=len(run.config),
        frameworks=tuple(sorted(run.frameworks)),
        last_step=last_step if isinstance(last_step, int) else None,
        completed=completed if isinstance(completed, bool) else None,
        missing=missing,
        rows_by_name=sum(
            rows
            for event in run.events.of("rows_read_by_name")
            if isinstance(rows := event.fields.get("rows"), int)
        ),
        guesses=_guesses(run),
        passed=passed,
    )


def _guesses(run: Run) -> dict[str, str]:
    """What was taken for a usual metric by the words of its name alone, and what stands for a loss that is missing."""
    found = {name: canonical_metric(name) for name in run.metrics.raw_names if is_guess(name)}
    view = RunView(run)
    for metric in ("loss", "eval_loss", "grad_norm"):
        if not run.metrics.has(metric) and (series := view.curve(metric)) is not None:
            found[series.logged_as] = metric
    return found
