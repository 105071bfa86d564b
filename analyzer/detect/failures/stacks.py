"""Stacks that somebody took of several processes: which few of them stand elsewhere than the others."""

from __future__ import annotations

from analyzer.detect.base import FactWriter, RunView, event_refs
from analyzer.model.tables import Event

ENOUGH = 3
"""Of two processes none is the odd one."""


def _place(event: Event) -> str:
    """Where a process stands: what it does, if that is known, else its line; generated code has any name."""
    phase = event.fields.get("phase")
    where = f"{event.fields.get('file', '')}:{event.fields.get('line', '')}"
    return str(phase).replace("_", " ") if phase else where


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.stacks.*``."""
    taken = view.events("stack_taken")
    groups: dict[str, list[Event]] = {}
    for event in taken:
        groups.setdefault(_place(event), []).append(event)
    if len(taken) < ENOUGH:
        return
    out.put("processes", len(taken), event_refs(taken[:1]))
    few, *others = sorted(groups, key=lambda place: len(groups[place]))
    if len(others) == 1 and 2 * len(groups[few]) < len(taken):
        refs = event_refs([groups[few][0], groups[others[0]][0]])
        out.put("apart", len(groups[few]), refs)
        out.put("apart_at", few, refs)
        out.put("others_at", others[0], refs)
