"""How the run ended: completed, crashed, interrupted, still running, or unknown, and what says so.

From the strongest witness to the weakest: words of the program, the scheduler and the tracker; planned against
reached steps; the age of the last line against the usual distance of lines. The age of a file is a weak witness:
a copy is as young as a file that is being written.
"""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import FactWriter, RunView, number
from analyzer.detect.curves.drift import checkpoints
from analyzer.detect.failures.failure_order import Failure
from analyzer.detect.failures.first_failure import order_of
from analyzer.detect.failures.following import SURVIVED_ROWS, RowsOfLogs
from analyzer.detect.setup import falls_silent
from analyzer.detect.setup.behind_completion import FROM_OUTSIDE, after_completion, hung_behind, words_of
from analyzer.detect.setup.run_course import (
    UNDER_WAY,
    began_again,
    completed,
    exit_code,
    is_part,
    is_short,
    last_step,
    of_last_attempt,
)
from analyzer.detect.setup.signs_of_life import YOUNG_S, Life, span
from analyzer.model.ranked import distinct_of, median_of
from analyzer.model.refs import SourceRef
from analyzer.model.run import LogEnd
from analyzer.model.tables import NULL_INT
from analyzer.model.wording import format_scalar
from analyzer.record import NamedTuple, dataclass, field

_SIGNALS = {
    -1: "SIGHUP",
    -2: "SIGINT",
    -9: "SIGKILL",
    -15: "SIGTERM",
    129: "SIGHUP",
    130: "SIGINT",
    137: "SIGKILL",
    143: "SIGTERM",
}
"""Exit codes of a process that was ended from outside, and by which signal."""

FULL = 0.9
"""Part of a counter within an epoch from which on the epoch counts as done: rows come every so many batches."""

PASSED = 2
"""A run that goes on beyond its plan passes it once; steps twice as high were counted by something else."""


@dataclass
class _End:
    """The verdict while it is made."""

    state: str
    because: str
    refs: list[SourceRef] = field(default_factory=list)
    open_ended: bool = False
    """Whether neither an end nor an error was written."""
    is_excerpt: bool = False
    """Whether it is the end of a few lines that somebody quoted."""


class Progress(NamedTuple):
    """How far the run came and how far it was to go."""

    reached: float  # steps or epochs done
    planned: float  # steps or epochs asked for
    unit: str  # ``steps`` or ``epochs``
    # whether the rest is more than one row of the log; None if the last epoch began and nothing says that it ended
    short: bool | None
    ref: SourceRef | None  # where that stands

    def words(self) -> str:
        """``130 of 300 steps``."""
        return f"{format_scalar(self.reached)} of {format_scalar(self.planned)} {self.unit}"


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``ended.*``."""
    progress = progress_of(view)
    life = Life(view)
    end = _verdict(view, progress, life)
    out.put("ended.state", end.state, end.refs)
    out.put("ended.because", end.because, end.refs)
    if progress is not None:
        for name, value in (
            ("planned", progress.planned),
            ("reached", progress.reached),
            ("unit", progress.unit),
        ):
            out.put(f"ended.{name}", value, [progress.ref])
    out.put(
        "ended.silent_s", None if life.silent_s is None else life.silent_s // 60 * 60
    )  # whole minutes: read twice, told once
    out.put("ended.interval_s", life.interval_s)
    out.put("run.log_truncated", _truncated(view, end), end.refs)
    out.put("ended.excerpt", end.is_excerpt, end.refs)
    falls_silent.tell(view, end.state, out)
    _checkpoint(view, out)
    told: dict[bool, Failure] = {}
    for failure in after_completion(view) if end.state == "completed" else ():
        told.setdefault(bool(failure.kinds & FROM_OUTSIDE), failure)
    for outside, failure in told.items():
        name, value = ("stopped_at_exit", True) if outside else ("at_exit", failure.speaker.kind)
        out.put(f"ended.{name}", value, [failure.speaker.ref])


def _verdict(view: RunView, progress: Progress | None, life: Life) -> _End:
    """The first witness that speaks."""
    done, refs = completed(view)
    if done:
        if (hung := hung_behind(view)) is not None:
            return _End("crashed", *hung)
        return _End("completed", _told(view, refs, "it says that it completed"), refs)
    return (
        _by_failure(view)
        or _by_signal(view)
        or _by_code(view, done, refs)
        or _by_torn_traceback(view)
        or _by_step(view)
        or _by_own_stop(view)
        or _by_tracker(view, progress, life)
        or _by_last_words(view, progress)
        or _by_timed_run(view, life)
        or _by_progress(view, progress, life)
    )


def _told(view: RunView, refs: list[SourceRef], otherwise: str) -> str:
    text = next((words for ref in refs if (words := view.run.events.text_at(ref))), "")
    return f"it says: {text.strip()[:100]}" if text else otherwise


def _by_failure(view: RunView) -> _End | None:
    """The failure that came first, if training did not go on after it."""
    first = order_of(view).first
    if first is None:
        return None
    refs = [first.speaker.ref]
    if first.kinds & FROM_OUTSIDE:
        return _End("interrupted", f"it was ended from outside: {words_of(first)}", refs)
    ended_by = first.speaker.fields.get("exitcode", first.speaker.fields.get("code"))
    if first.family in {"cleanup", "host"} and isinstance(ended_by, int) and ended_by in _SIGNALS:
        return _End("interrupted", f"a process was ended by {_SIGNALS[ended_by]}", refs)
    if first.family == "cleanup" and not first.is_launchers_root and "sigabrt" not in first.kinds:
        return None  # nothing but what follows from an end
    if first.family == "host":
        state = "crashed" if "oom" in first.speaker.kind or "gone" in first.speaker.fields else "interrupted"
        return _End(state, f"it was ended: {words_of(first)}", refs)
    return _End("crashed", f"the log reports a failure: {words_of(first)}", refs)


def _by_signal(view: RunView) -> _End | None:
    """The launcher was told to end, and no process had failed before."""
    told = of_last_attempt(view, "launcher_signalled")
    if not told:
        return None
    return _End("interrupted", "it was ended from outside: the launcher got SIGTERM", [told[0].ref])


def _by_step(view: RunView) -> _End | None:
    """The step in which the program ran was cancelled, and nothing in it had failed."""
    steps = RowsOfLogs.ends(view, "slurm_step_cancelled")
    found = [event for event in of_last_attempt(view, "slurm_step_cancelled") if event in steps]
    if not found:
        return None
    return _End("interrupted", "it was ended from outside: Slurm cancelled its step", [found[0].ref])


def _by_code(view: RunView, done: bool | None, refs: list[SourceRef]) -> _End | None:
    code, code_refs = exit_code(view)
    if code in _SIGNALS:
        return _End("interrupted", f"it was ended by {_SIGNALS[code or 0]} (exit code {code})", code_refs)
    if code:
        return _End("crashed", f"it ended with exit code {code}", code_refs)
    if done is False:
        return _End("crashed", _told(view, refs, "its last words are an error"), refs)
    return None


def _by_torn_traceback(view: RunView) -> _End | None:
    """A traceback without its exception after which no row of metrics came: the log was cut while the program fell."""
    table = view.run.metrics
    for event in reversed(of_last_attempt(view, "traceback_cut")):
        line = event.ref.line or 0
        if not np.any((table.source == event.ref.source) & (table.line > line)):
            return _End("crashed", "its log shows a traceback of which the exception is missing", [event.ref])
    return None


def _by_own_stop(view: RunView) -> _End | None:
    """A stop that the run's own settings asked for: an end, or a pause that a later job goes on from."""
    given_up = of_last_attempt(view, "target_not_reached")
    if given_up:
        return _End("completed", "it stopped without reaching its target", [given_up[-1].ref])
    stops = of_last_attempt(view, "configured_stop")
    if not stops or _trained_on(view, stops[-1].ref):  # one fold or trial of several stopped
        return None
    rule = str(stops[-1].fields.get("rule", "a rule of its own"))
    pause = "minutes" in rule or "SIGTERM" in rule or "ime limit" in rule or "training_time" in rule
    return _End(
        "interrupted" if pause else "completed", f"it stopped by its own settings: {rule}", [stops[-1].ref]
    )


def _trained_on(view: RunView, ref: SourceRef) -> bool:
    """Whether rows of training follow a line of a log; those of a test that follows its end are none."""
    curve = view.curve("loss")
    if curve is None:  # a cap on an episode of which the agent goes on
        curve = view.curve("reward_mean")
    if curve is None or ref.line is None:
        return False
    return (
        distinct_of(curve.line[(curve.source == ref.source) & (curve.line > ref.line)]).size >= SURVIVED_ROWS
    )


def _by_tracker(view: RunView, progress: Progress | None, life: Life) -> _End | None:
    """What a tracker knows about the end: its server's state, or that the exit record is missing.

    A notebook that stays open after its training, and a file that was copied early, have no such record either.
    """
    found = of_last_attempt(view, "tracker_no_exit_record")
    if not found:
        return None
    text, tracker = found[-1].text, found[-1].fields["tracker"]
    refs = [found[-1].ref]
    if "state running" in text or life.goes_on:
        return _End(
            "still running", f"{tracker} has no exit record and the run wrote just now", refs, open_ended=True
        )
    if "state " in text:
        return _End("interrupted", text, refs)
    if life.silent_s is None or (progress is not None and progress.short is False):
        return None
    return _End(
        "interrupted",
        f"{tracker} has no exit record; its last sign of life is {span(life.silent_s)} old",
        refs,
        open_ended=True,
    )


def _by_last_words(view: RunView, progress: Progress | None) -> _End | None:
    """Closing words of any program at the end of a log, unless the counters contradict them."""
    for end in _logs(view):
        if end.last_words:
            stopped = "" if progress is None or not progress.short else f", after {progress.words()}"
            return _End(
                "completed",
                f"its last words: {end.last_words[:80]}{stopped}",
                [SourceRef(end.source, end.line)],
            )
    return None


def _by_timed_run(view: RunView, life: Life) -> _End | None:
    """A benchmark's run that began and whose end, which such a program always writes, is in none of its logs."""
    begun = of_last_attempt(view, "timed_run_started")
    ends = [(event.ref.source, event.ref.line or 0) for event in of_last_attempt(view, "timed_run_ended")]
    if not begun or any(_is_behind(event.ref, ends) for event in begun):
        return None
    ref = begun[-1].ref
    if life.goes_on:
        return _End("still running", life.because, [life.ref or ref], open_ended=True)
    return _End("interrupted", "its timed run began, and nothing says that it ended", [ref], open_ended=True)


def _is_behind(begun: SourceRef, ends: list[tuple[int, int]]) -> bool:
    """Whether the log in which a timed run began tells its end further down."""
    return any(source == begun.source and line > (begun.line or 0) for source, line in ends)


def _by_progress(view: RunView, progress: Progress | None, life: Life) -> _End:
    if life.goes_on:
        return _End("still running", life.because, [life.ref] if life.ref else [], open_ended=True)
    if progress is None:
        return _by_cut(view, life) or _End("unknown", "nothing says how long it was to be, nor that it ended")
    refs = [progress.ref] if progress.ref is not None else []
    if progress.short is None:
        if (cut := _by_cut(view, life)) is not None:
            return cut
        text = f"the last of {progress.words().partition(' of ')[2]} began, and nothing says that it ended"
        short = is_part(view, logs := _logs(view)) and is_short(logs[0])
        return _End("unknown", text, refs, open_ended=not short, is_excerpt=short)
    if not progress.short:
        return _End("completed", f"it reached {progress.words()}", refs)
    logs = _logs(view)
    after = next((end for end in logs if end.afterwards), None)
    if after is not None:
        return _End(
            "unknown",
            f"it reached {progress.words()}, yet a final score follows",
            [SourceRef(after.source, after.line)],
        )
    if _is_snapshot(view):
        return _End("unknown", f"saved at {progress.words()}; nothing says how it went on", refs)
    torn = next((end for end in logs if end.torn), None)
    text = f"it stops at {progress.words()}, with neither an end nor an error"
    if is_part(view, logs):
        short = is_short(logs[0])  # who quotes a few lines did not cut off the run
        text += f"; {'so short a log' if short else 'a log that begins in the middle'} may be a part of one"
        return _End("unknown", text, refs, open_ended=not short, is_excerpt=short)
    if torn is not None and not torn.text.endswith((".", "]", "}")):
        text += ", in the middle of a line"
    return _End("interrupted", text + _silence(life), refs, open_ended=True)


def _by_cut(view: RunView, life: Life) -> _End | None:
    """A log that stops within a row, within a count, or below a heading: whoever wrote it, or copied it, had more to say."""
    logs = _logs(view)
    if not logs:
        return None
    end, is_quoted = logs[0], is_part(view, logs)
    refs = [SourceRef(end.source, end.line)]
    if falls_silent.BEGINS.search(end.text):
        state = "unknown" if is_quoted else "interrupted"
        text = "its log stops where training begins, with neither a step nor an error" + _silence(life)
        return _End(state, text, refs, open_ended=True)
    if began_again(view, end):
        text = "the last launch in its log stops before its first row, with neither an end nor an error"
        return _End("interrupted", text + _silence(life), refs, open_ended=True)
    if UNDER_WAY.search(end.text) and not len(view.run.metrics):
        state = "unknown" if is_quoted else "interrupted"
        text = "its log stops with what it says it is doing, with neither an end nor an error"
        return _End(state, text + _silence(life), refs, open_ended=True)
    if falls_silent.lacks_result(view, end):
        text = (
            "its log stops behind an evaluation of which no result follows, with neither an end nor an error"
        )
        return _End("interrupted", text + _silence(life), refs, open_ended=True, is_excerpt=is_quoted)
    # Who quotes rows shows what they say, who quotes none of them shows where the log stops.
    if not end.cut_off or (is_quoted and len(view.run.metrics)):
        return None
    text = "its log stops in the middle of a row or of a count, with neither an end nor an error"
    return _End("unknown" if is_quoted else "interrupted", text + _silence(life), refs, open_ended=True)


def _silence(life: Life) -> str:
    """For how long nothing was written, if anything tells it."""
    if life.silent_s is not None:
        every = f", such signs came every {span(life.interval_s)}" if life.interval_s else ""
        return f"; its last sign of life is {span(life.silent_s)} old{every}"
    if life.file_age_s is not None and life.file_age_s <= YOUNG_S:
        return "; the file is young, as a copy or a run that goes on would be"
    return ""


def _logs(view: RunView) -> list[LogEnd]:
    """Ends of the logs that count steps or hold metrics, those that came furthest first; of all logs if none does."""
    with_rows = set(distinct_of(view.run.metrics.source).tolist())
    telling = [end for end in view.run.log_ends if end.source in with_rows or end.steps or end.epochs]
    return sorted(telling or view.run.log_ends, key=lambda end: (-(end.step or end.epoch or 0), end.source))


def _is_snapshot(view: RunView) -> bool:
    """Whether only a state that was saved with a checkpoint tells how far the run came: such a file stops early by design."""
    with_rows = {
        view.run.sources[source].ingestor for source in distinct_of(view.run.metrics.source).tolist()
    }
    return with_rows == {"trainer-state"}


def progress_of(view: RunView) -> Progress | None:
    """How far the run came of what it was to do: by its counters of steps and epochs and by its settings.

    The last epoch that was trained to its end outweighs a number of steps: such a number may count the batches of each
    device, those before accumulation, or a last batch that is dropped.
    """
    end = next((end for end in _logs(view) if end.epochs and end.epoch is not None), None)
    epochs = None if end is None else _epochs(end)
    steps = _steps_of(view)
    if steps is None or epochs is None:
        return steps or epochs
    whole = end is not None and end.epoch_done and epochs.planned > 1 and epochs.short is False
    return epochs if steps.short and whole else steps


def _steps_of(view: RunView) -> Progress | None:
    """Steps done of those that the log's own counter or the settings name."""
    step, refs = last_step(view)
    counted = next((end for end in _logs(view) if end.steps), None)
    entry = view.config("train.max_steps")
    wanted = number(view.config_value("train.max_steps"))
    of_rest = counted is not None and counted.step is not None and _counts_rest(view, counted.step)
    if (
        counted is not None
        and step is not None
        and counted.steps
        and step >= PASSED * counted.steps
        and not of_rest
    ):
        counted = None  # passed many times over, it counts the batches of an epoch
    if counted is not None and counted.steps and counted.step is not None:
        alike = step is not None and step <= counted.steps and not of_rest
        reached = max(counted.step, step) if step is not None and alike else counted.step
        return _steps(view, reached, counted.steps, SourceRef(counted.source, counted.line))
    if wanted is not None and wanted > 0 and step is not None:
        return _steps(view, step, wanted, refs[0] if refs else None if entry is None else entry.ref)
    return None


def _steps(view: RunView, reached: float, planned: float, ref: SourceRef | None) -> Progress:
    return Progress(reached, planned, "steps", planned - reached > _spacing(view), ref)


def _counts_rest(view: RunView, counted: int) -> bool:
    """Whether a counter began at 0 where the steps of the metrics went on from a checkpoint: it counts what was left to do."""
    curve = view.curve("loss")
    steps = np.empty(0) if curve is None else curve.step[curve.step != NULL_INT]
    every = _spacing(view)
    if not steps.size or steps.min() <= every:
        return False
    return bool(abs(steps.max() - steps.min() + every - counted) <= 2 * every)


def _spacing(view: RunView) -> float:
    """Usual steps between two rows: the last row may lie that far before the end."""
    curve = view.curve("loss")
    if curve is None:  # rewards, scores: the one with most rows
        curves = (view.curve(name) for name in view.run.metrics.names)
        curve = max((known for known in curves if known is not None), key=len, default=None)
    if curve is None:
        return 1.0
    steps = distinct_of(curve.step[curve.step != NULL_INT])
    return float(median_of(np.diff(steps))) if steps.size > 2 else 1.0


def _epochs(end: LogEnd) -> Progress:
    """Epochs begin at 0 or at 1; the last one counts as done if a counter within it or what closed the others says so."""
    assert end.epoch is not None
    assert end.epochs is not None
    done = end.epoch + (1 if end.first_epoch == 0 else 0)
    whole = (
        end.epoch_done if end.within_epoch is None else end.within_epoch >= FULL
    )  # rows come every so many batches
    if whole is False:
        done -= 1
    last = end.epochs if end.first_epoch else end.epochs - 1  # an unseen begin may have been 0
    short: bool | None = done < (end.epochs if end.first_epoch in {0, 1} else last)
    if whole is None and not short:
        short = None
    return Progress(min(done, end.epochs), end.epochs, "epochs", short, SourceRef(end.source, end.line))


def _truncated(view: RunView, end: _End) -> bool | None:
    """Whether the log stops in the middle: short of what was planned, with neither an end nor an error."""
    if end.state in {"completed", "crashed"} or completed(view)[0] is not None:
        return False
    return None if end.state == "unknown" and not end.open_ended else end.open_ended


def _checkpoint(view: RunView, out: FactWriter) -> None:
    """The last checkpoint, and what lies between it and the last step."""
    step, _ = last_step(view)
    saved = [entry for entry in checkpoints(view) if step is None or entry[0] <= step]
    if saved:
        at, name, ref = saved[-1]
        out.put("ended.checkpoint", name, [ref])
        out.put("ended.checkpoint_step", at, [ref])
        if step is not None:
            out.put("ended.lost", float(step - at), [ref])
        return
    unnumbered = of_last_attempt(view, "checkpoint_saved")
    if unnumbered:
        out.put(
            "ended.checkpoint",
            str(unnumbered[-1].fields.get("path", "the last one saved")),
            [unnumbered[-1].ref],
        )
