"""Detectors: pure functions from a run to signals. They measure; rules judge."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np

from analyzer.detect.base import Detector, FactWriter, RunView
from analyzer.detect.likeness.answer import likeness
from analyzer.detect.setup.run_course import reward_metrics
from analyzer.guard import STRICT, Guard
from analyzer.model.run import Run
from analyzer.model.score_words import read_score
from analyzer.model.signal import Signal

__all__ = ["DETECTORS", "Detector", "FactWriter", "RunView", "run_detectors"]


def _of(
    name: str,
    module: str,
    emits: str,
    wanted: Callable[[Run], object] = lambda _: True,
    *,
    policies: bool = True,
) -> Detector:
    """The detector that is the function ``detect`` of a module, which is imported only for runs that hold what it measures."""

    def detect(view: RunView, out: FactWriter) -> None:
        if wanted(view.run):
            import_module(f"analyzer.detect.{module}").detect(view, out)

    return Detector(name, tuple(emits.split()), module, detect, policies)


def _rows(run: Run) -> object:
    return len(run.metrics)


def _scored(run: Run) -> object:
    """Whether something is logged that tells how good answers are, or answers themselves are shown."""
    return run.events.of("empty_prediction") or any(
        read_score(name).better or any(part in name for part in ("snr", "sdr", "mape", "mase"))
        for name in run.metrics.names
    )


DETECTORS: tuple[Detector, ...] = (
    _of("configuration", "setup.configuration", "config."),
    _of("run_course", "setup.run_course", "run."),
    _of("ended", "setup.ended", "ended. run.log_truncated"),
    _of("known_versions", "setup.known_versions", "config.known_bad.", lambda run: any(key.startswith("versions.") for key in run.config)),
    _of("surroundings", "setup.surroundings", "run.library run.platform run.backend run.subject run.saved run.never_saved"),
    _of("launch", "setup.launch", "run.hosts config.option_cut_off", lambda run: run.events.of("nccl_error") or run.events.of("option_cut_off")),
    _of("loss", "curves.loss", "signal.loss."),
    _of("nonfinite", "curves.numerics.nonfinite", "signal.nonfinite_loss. signal.nonfinite_grad. signal.loss_zero."),
    _of("grad_norm", "curves.numerics.grad_norm", "signal.grad_norm.", _rows),
    _of("loss_scale", "curves.numerics.loss_scale", "signal.loss_scale."),
    _of("learning_rate", "curves.learning_rate", "signal.learning_rate. signal.skipped_steps.", _rows),
    _of("onset", "curves.numerics.onset", "signal.onset."),
    _of("evaluation", "curves.evaluation", "signal.eval.", _rows),
    _of("embedding", "setup.embedding", "signal.embedding. signal.checkpoint.", lambda run: run.tensors),
    _of("modules", "failures.modules", "signal.module. signal.anomaly. signal.sampling_error. signal.generation. signal.attention."),
    _of("events", "failures.events", "event."),
    _of("failures", "failures.first_failure", "failure."),
    _of("unknown_message", "failures.unknown_message", "message.", lambda run: any(end.errors or (end.last_lines and not len(run.metrics)) for end in run.log_ends)),
    _of("collectives", "ranks.collectives", "signal.collective."),
    _of("stragglers", "ranks.stragglers", "signal.straggler. signal.communication.grew signal.compute.grew signal.replicas. signal.silence."),
    _of("lifecycle", "setup.lifecycle", "lifecycle."),
    _of("hardware", "speed.hardware", "hardware."),
    _of("resume", "curves.resume", "signal.resume.", _rows),
    _of(
        "speed",
        "speed.step_speed",
        "signal.step_time. signal.throughput. signal.data_wait. signal.communication. signal.eval_time. signal.startup.",
        _rows,
    ),
    _of("utilisation", "speed.utilisation", "signal.gpu. signal.cpu. signal.gpu_memory.", _rows),
    _of("pace", "speed.pace", "signal.pace.", lambda run: len(run.metrics) or run.events.of("host_memory_use")),
    _of("data_order", "curves.data_order", "signal.order.", _rows),
    _of("data_quality", "curves.heldout.data_quality", "signal.data. signal.split. signal.start."),
    _of("twins", "curves.heldout.twins", "signal.split.", _rows),
    _of("stages", "curves.stages", "signal.stage.", _rows),
    _of("spikes", "curves.spikes", "signal.spike.", _rows),
    _of("stretch", "curves.stretch", "signal.stretch.", _rows, policies=False),
    _of("drift", "curves.drift", "signal.drift."),
    _of("schedule", "curves.schedule", "signal.schedule."),
    _of("plateau", "curves.plateau", "signal.weights. signal.stall. signal.layers.", _rows),
    _of("generalisation", "curves.heldout.generalisation", "signal.generalisation. signal.epochs."),
    _of("metric_values", "curves.numerics.metric_values", "signal.metric.", _rows),
    _of("progress", "curves.progress", "signal.progress.", _rows, policies=False),
    _of("chance", "curves.guess.chance", "signal.chance.", policies=False),
    _of("certainty", "curves.guess.certainty", "signal.certain.", _rows, policies=False),
    _of("answers", "curves.guess.answers", "signal.answers.", _rows, policies=False),
    _of("gap", "curves.heldout.gap", "signal.gap.", _rows, policies=False),
    _of("exact", "curves.numerics.exact", "signal.exact."),
    _of("scores", "curves.heldout.scores", "signal.score.", _rows, policies=False),
    _of("tasks", "curves.heldout.tasks", "signal.tasks.", lambda run: run.events.of("task_scores") or any("forget" in name or "bwt" in name for name in run.metrics.names), policies=False),
    _of("kept_scores", "curves.heldout.kept_scores", "signal.score.", _rows, policies=False),
    _of("last_row", "curves.heldout.last_row", "signal.last.", _scored, policies=False),
    _of("adversaries", "curves.players.adversaries", "signal.gan.", _rows, policies=False),
    _of("collapse", "curves.players.collapse", "signal.collapse.", _rows, policies=False),
    _of("rate_range", "setup.rate_range", "config.rate.", policies=False),
    _of("repeats", "curves.repeats", "signal.repeat.", _rows),
    _of("design", "setup.design", "config.design.", lambda run: run.config.entries),
    _of("script", "setup.script", "config.script.", lambda run: any(entry.key_in_source.startswith("script.") for entry in run.config.entries)),
    _of("rl", "curves.players.rl", "signal.rl. config.rl."),
    _of("rl_course", "curves.players.rl_course", "signal.policy.", lambda run: _rows(run) or run.events.of("update_cut_short")),
    _of("exceptions", "failures.exceptions", "exception.", lambda run: run.events.of("python_traceback")),
    _of(
        "settings",
        "setup.settings",
        "config.conflict. config.learning_rate_exceeded config.lora.alpha_over_rank config.train.rate_over_schedule "
        "config.model.ties_embeddings config.tf32 config.versions_differ",
    ),
    _of("saved_work", "failures.saved_work", "signal.saved_work."),
    _of("stacks", "failures.stacks", "signal.stacks.", lambda run: run.events.of("stack_taken")),
    _of("flight", "ranks.flight_facts", "signal.flight.", lambda run: run.flight or len(run.collectives_trace)),
    _of("trace", "speed.trace_time", "signal.trace.", lambda run: run.timings),
    _of("replay", "replay.replay_numeric", "signal.replay.", lambda run: len(run.replay)),
    _of("rerun", "replay.replay_counterfactual", "signal.rerun.", lambda run: len(run.replay)),
    _of("classifier", "shapes.answer", "classifier.", _rows),
)  # fmt: skip


def run_detectors(run: Run, baseline: Run | None = None, guard: Guard = STRICT) -> tuple[Signal, ...]:
    """Everything that the built-in detectors measure."""
    view = RunView(run)
    # Logs of broken runs hold numbers like 1e308; a result beyond a float's range is simply no fact.
    with np.errstate(all="ignore"):
        found: list[Signal] = []
        for detector in DETECTORS:
            with guard.part(f"detector {detector.name}"):
                if detector.policies or not view.once(reward_metrics):
                    found.append(detector.measure(view))
        if baseline is not None:
            from analyzer.detect.compare import detect_baseline  # noqa: PLC0415  (few runs have one)

            with guard.part("comparison with the baseline"):
                found.append(detect_baseline(view, RunView(baseline)))
        with guard.part("likeness to labelled runs"):
            if (alike := likeness(found)) is not None:
                found.append(alike)
    return tuple(found)
