"""How the program was launched: on how many hosts, and with a command that reached it as a whole."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.detect.base import FactWriter, RunView, number
from analyzer.detect.failures.following import RowsOfLogs
from analyzer.model.refs import SourceRef
from analyzer.model.tables import Event

_NODES = frozenset({"num_nodes", "nnodes", "num_machines"})
_OF_THE_SHELL = frozenset({"option_cut_off", "command_not_found"})


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``run.hosts``, where NCCL reports an error, and ``config.option_cut_off``."""
    if view.events("nccl_error"):
        out.put("run.hosts", *_hosts(view))
    for event in view.events("option_cut_off"):
        if _printed_above(view, event):
            option = next((value for value in event.fields.values() if isinstance(value, str)), None)
            out.put("config.option_cut_off", option, [event.ref])
            return


def _hosts(view: RunView) -> tuple[int | None, Sequence[SourceRef | None]]:
    """The largest number that is stated, else 2 and more if lines bear as many names of hosts, else 1 if the store is local."""
    stated = view.events("hosts_stated")
    counts: list[tuple[int, SourceRef | None]] = [
        (n, e.ref) for e in stated if isinstance(n := e.fields.get("nodes"), int) and n > 0
    ]
    counts.extend(
        (int(value), entry.ref)
        for entry in view.run.config.entries
        if entry.word in _NODES and (value := number(entry.value)) is not None and value >= 1
    )
    if counts:
        most, ref = max(counts, key=lambda count: count[0])
        return most, [ref]
    named = {
        host: event.ref
        for kind in view.run.events.kinds()
        for event in view.events(kind)
        if isinstance(host := event.fields.get("host"), str)
    }
    if len(named) > 1:
        return len(named), list(named.values())[:2]
    local = [event.ref for event in stated if event.fields.get("local") or event.fields.get("standalone")]
    return (1, local[:1]) if local else (None, [])


def _printed_above(view: RunView, event: Event) -> bool:
    """Whether the program that the shell ran before this line had printed something, so that its command ended early.

    In a log with rows these are its rows: what stands above the first of them is of no training. A file of errors alone
    has none; there any other line of a program tells.
    """
    source, line = event.ref.source, event.ref.line or 0
    first = view.once(RowsOfLogs).first_line(source)
    if first is not None:
        return first < line
    others = (
        other.ref
        for kind in view.run.events.kinds()
        if kind not in _OF_THE_SHELL
        for other in view.events(kind)
    )
    echoed = (entry.ref for entry in view.run.config.entries if entry.ref is not None)
    return any(
        ref.source == source and 0 < (ref.line or 0) < line for refs in (others, echoed) for ref in refs
    )
