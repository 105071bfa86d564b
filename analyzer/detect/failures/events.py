"""Recognised log lines as facts: seen, how often, when, and what the first of each kind said.

A kind that does not occur gives no fact at all: a quiet logger proves nothing.
"""

from __future__ import annotations

from analyzer.detect.base import FactWriter, RunView, event_refs
from analyzer.detect.curves.numerics.scale_course import step_of
from analyzer.detect.failures.first_failure import order_of
from analyzer.detect.failures.following import RowsOfLogs
from analyzer.model.tables import Event
from analyzer.vocabulary.events import EVENT_FACTS, event_specs

ERROR_ROLES = ("root_candidate", "symptom")
"""Roles of lines that report a fault; what follows from it, teardown and advice are no error of their own."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``event.<kind>.*``."""
    last_errors = _last_errors(view)
    for kind in view.run.events.kinds():
        spec = event_specs().get(kind)
        if spec is None:
            continue
        rows = view.events(kind)
        of_kind = out.below(f"{kind}.")
        refs = event_refs(rows)
        steps = [step for event in rows if (step := _step(view, event)) is not None]
        of_kind.put("seen", value=True, refs=refs)
        of_kind.put("count", len(rows), refs)
        of_kind.put("first_step", min(steps, default=None), refs[:1])
        of_kind.put("last_step", max(steps, default=None), refs[-1:])
        if any(event.role in ERROR_ROLES for event in rows):
            of_kind.put("is_last_error", kind in last_errors, refs[-1:])
        ranks = {event.rank for event in rows if event.rank is not None}
        of_kind.put("ranks", len(ranks) or None, refs)
        _place_in_order(view, kind, of_kind)
        # Of several exceptions the first that ended the run and reports no lost peer speaks; an interrupt may well be it.
        ended = {event.ref for failure in order_of(view).of(kind) for event in failure.events} or {
            event.ref for event in rows
        }
        speakers = (e for e in rows if e.role in {"root_candidate", "teardown"} and e.ref in ended)
        speaker = next(speakers, rows[0])
        for name, value in speaker.fields.items():
            if name not in EVENT_FACTS and spec.field_type(name):
                of_kind.put(name, value, [speaker.ref])


def _place_in_order(view: RunView, kind: str, out: FactWriter) -> None:
    """Whether the kind is the first failure, or only a consequence of it; left out where nothing tells."""
    order = order_of(view)
    failures = order.of(kind)
    if kind in order.survived_kinds:
        out.put("survived", value=True, refs=event_refs(view.events(kind)[-1:]))
    elif not failures and (errors := [event for event in view.events(kind) if event.role in ERROR_ROLES]):
        rows = view.once(RowsOfLogs)
        went_on = all(rows.went_on(event.ref.source, event.ref.line or 0) for event in errors)
        out.put("survived", value=went_on, refs=event_refs(errors[-1:]))
    if not failures or order.first is None:
        return
    out.put("survived", value=False, refs=[failures[0].speaker.ref])
    refs = [order.first.speaker.ref]
    if kind in order.first.kinds:
        out.put("is_first_failure", value=True, refs=refs)
        out.put("is_consequence", value=False, refs=refs)
        return
    verdicts = {order.follows(failure) for failure in failures}
    if False in verdicts:
        out.put("is_consequence", value=False, refs=refs)
    elif None not in verdicts:
        out.put("is_consequence", value=True, refs=refs)
        out.put("is_first_failure", value=False, refs=refs)


def _step(view: RunView, event: Event) -> int | None:
    """Step of an error; other lines (banners, saves) have one only if they name it."""
    return step_of(view, event) if event.role in ERROR_ROLES else event.step


def _last_errors(view: RunView) -> frozenset[str]:
    """Kinds of the last error line of each file: a traceback and what its message says stand on one line."""
    errors = view.run.events.with_roles(ERROR_ROLES)
    last_line: dict[int, int] = {}
    for event in errors:
        last_line[event.ref.source] = max(last_line.get(event.ref.source, 0), event.ref.line or 0)
    return frozenset(event.kind for event in errors if (event.ref.line or 0) == last_line[event.ref.source])
