"""Statements about single modules: hooks, autograd's anomaly mode, sampling, generated text."""

from __future__ import annotations

from analyzer.detect.base import FactWriter, RunView, event_refs
from analyzer.detect.curves.numerics.bad_points import ANOMALIES, anomaly_overcome, loss_points, went_on_well
from analyzer.detect.curves.numerics.onset import find_onset
from analyzer.lazy_regex import LazyRegex
from analyzer.model.tables import Event

NEAR_LIMIT = 1e4
"""Warning line for fp16: the next square or sum of a few such values passes 65504."""

HOOKS = ("nonfinite_hook", "nan_detector", "module_absmax")
# Functions whose derivative is infinite or undefined somewhere in their domain; LogSoftmax, for one, is not among them.
_UNSAFE = LazyRegex(
    r"(?:sqrt|rsqrt|log|log2|log10|log1p|pow|div|reciprocal|norm|linalgvectornorm|linalgnorm|acos|asin|atan2|xlogy|cdist|std|var"
    # Factorisations of a singular matrix, or of one whose eigenvalues coincide
    r"|solve|linalgsolveex|triangularsolve|inverse|linalginvex|svd|linalgsvd|symeig|linalgeigh|cholesky|linalgcholeskyex)"
    r"backward\d*"
)


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.module.*``, ``signal.anomaly.*``, ``signal.attention.*``, sampling and generation."""
    _hooks(out.below("module."), view)
    _anomaly(out.below("anomaly."), view)
    _sampling(out, view)
    _masked_rows(out, view)


def _hooks(out: FactWriter, view: RunView) -> None:
    reports = view.events(*HOOKS)
    if not reports:
        _trace(out, view)
        return
    bad = [event for event in reports if event.kind != "module_absmax"]
    forward = [event for event in bad if not _is_backward(event)]
    backward = [event for event in bad if _is_backward(event)]
    # A forward report names the origin; backward hooks fire from the last layer on and name what comes after it.
    if bad:
        first = (forward or backward)[0]
        out.put("first_nonfinite", _module(first), [first.ref])
        out.put("first_nonfinite_pass", "forward" if forward else "backward", [first.ref])
    if forward:
        overcome = went_on_well(view, tuple(forward))
        out.put("forward_nonfinite", overcome is not True, event_refs(forward[:1]))
    if backward:
        out.put("gradients_nonfinite", value=True, refs=event_refs(backward))
    measured = [(_largest(event), event) for event in reports if _largest(event) is not None]
    if measured:
        value, event = max(measured, key=lambda item: item[0] or 0.0)
        out.put("activation_absmax", value, [event.ref])
        out.put(
            "activations_near_limit",
            (value or 0.0) > NEAR_LIMIT or bool(forward),
            [event.ref, *event_refs(forward[:2])],
        )
    elif forward:
        out.put("activations_near_limit", value=True, refs=event_refs(forward))


def _trace(out: FactWriter, view: RunView) -> None:
    """Without a printed report, what a replay trace says of the forward pass."""
    if not len(view.run.replay):
        return
    from analyzer.detect.replay.replay_numeric import first_course, harmful, measured  # noqa: PLC0415  (few runs have one)

    course, did_harm = view.once(first_course), view.once(harmful)
    if course is None or course.origin is None or did_harm is None or course.direction == "bwd":
        return
    out.put("forward_nonfinite", did_harm, [view.once(measured).ref(course.origin.row)])


def _is_backward(event: Event) -> bool:
    return event.fields.get("pass") == "backward" or "gradient" in event.text.lower()


def _module(event: Event) -> str | None:
    module = event.fields.get("module")
    return module if isinstance(module, str) else None


def _largest(event: Event) -> float | None:
    """Largest magnitude that a forward report names."""
    if _is_backward(event):
        return None
    names = ("value", "input_max", "input_min") if event.kind != "nonfinite_hook" else ()
    values = [abs(float(v)) for name in names if isinstance(v := event.fields.get(name), int | float)]
    return max(values, default=None)


def _anomaly(out: FactWriter, view: RunView) -> None:
    reports = view.events(*ANOMALIES)
    if not reports or (view.events("autograd_misuse") and not view.events("autograd_anomaly")):
        return  # in this mode any error of a backward pass is told with its forward call
    refs = event_refs(view.events("autograd_anomaly") or reports)
    out.put("seen", value=True, refs=refs)
    # The error names the function for certain; the warning may be repeated for outer functions.
    named = [
        event
        for event in (*view.events("autograd_anomaly"), *reports)
        if isinstance(event.fields.get("function"), str)
    ]
    if named:
        function = str(named[0].fields["function"])
        out.put("function", function, [named[0].ref])
        out.put("compiled", function.startswith("CompiledFunction"), [named[0].ref])
        out.put("unsafe_math", _UNSAFE.fullmatch(function.lower()) is not None, [named[0].ref])
    out.put("false_alarm", anomaly_overcome(view), refs[-2:])
    out.put("reports", len(view.events("autograd_anomaly")) or len(reports), refs)


def _sampling(out: FactWriter, view: RunView) -> None:
    failed = view.events("sampling_nonfinite")
    if failed:
        out.put("sampling_error.seen", value=True, refs=event_refs(failed))
        onset = view.once(find_onset)
        bad_before = onset is not None and (
            onset.ref.source != failed[0].ref.source or (onset.ref.line or 0) < (failed[0].ref.line or 0)
        )
        if onset is not None:
            out.put("sampling_error.after_nonfinite", bad_before, [failed[0].ref, onset.ref])
        elif view.once(loss_points) is not None:
            out.put("sampling_error.after_nonfinite", value=False, refs=event_refs(failed))
    repeated = view.events("generation_repeats")
    if repeated:
        out.put("generation.repeats_one_token", value=True, refs=event_refs(repeated))


def _masked_rows(out: FactWriter, view: RunView) -> None:
    """A user's own check of the attention mask, printed."""
    checks = view.events("fully_masked_attention_row")
    if not checks:
        return
    counts = [event.fields.get("rows") for event in checks]
    out.put("attention.fully_masked_rows", any(count != 0 for count in counts), event_refs(checks))
