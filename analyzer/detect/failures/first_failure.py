"""Facts about the first failure of a run and about what only follows from it (``failure.*``)."""

from __future__ import annotations

from analyzer.detect.base import FactWriter, RunView, event_refs
from analyzer.detect.failures.failure_order import Failure, FailureOrder, earlier
from analyzer.detect.failures.following import CAUSES
from analyzer.detect.failures.launcher_reports import REPORTS, is_report
from analyzer.model.refs import SourceRef
from analyzer.model.tables import Event

LAST_LINES = 2
"""A failure in the last lines of a log: a launcher or shell adds one line at most where it says nothing of the failure."""


def order_of(view: RunView) -> FailureOrder:
    """The failures of a run in order, computed once."""
    return view.once(FailureOrder)


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``failure.*``."""
    order = order_of(view)
    if order.survived:
        out.put("survived", order.survived)
    if order.failures:
        out.put("seen", value=True, refs=_refs(order.failures))
        out.put("root_seen", bool(order.roots), _refs(order.roots))
    ranks = {failure.rank for failure in order.failures if failure.rank is not None}
    if ranks:
        out.put("ranks", len(ranks))
    if order.first is not None:
        _first(order, order.first, out, alone=max(len(ranks), view.run.layout.world_size or 1) == 1)
        _at_end(view, order.first, out)
        _followers(order, order.first, out)
    _launcher(view, order, out)


def _refs(failures: list[Failure]) -> list[SourceRef]:
    return event_refs(failure.speaker for failure in failures[:3])


def _first(order: FailureOrder, first: Failure, out: FactWriter, *, alone: bool) -> None:
    refs = [first.speaker.ref]
    out.put("first.kind", first.speaker.kind, refs)
    out.put("first.family", first.family, refs)
    out.put("first.rank", first.rank, refs)
    out.put("first.host", first.host, refs)
    # the only process there is says nothing by its number
    where = [] if first.rank is None or (alone and first.rank == 0) else [f"rank {first.rank}"]
    where += [f"on {first.host}"] if first.host is not None else []
    out.put("first.where", " ".join(where) or None, refs)
    others = [
        failure.time_s
        for failure in order.failures
        if failure.time_s is not None and failure.rank != first.rank and failure.rank is not None
    ]
    if first.time_s is not None and first.rank is not None and others:
        out.put("first.lead_s", min(others) - first.time_s, refs)


def _at_end(view: RunView, first: Failure, out: FactWriter) -> None:
    """Whether nothing to speak of follows the last line of the first failure's kind in its log."""
    ref = max((event.ref for event in view.events(first.speaker.kind)), key=lambda ref: ref.line or 0)
    ends = [end.line for end in view.run.log_ends if end.source == ref.source]
    if ends and ref.line is not None:
        out.put("first.at_end", ends[0] - ref.line < LAST_LINES, [ref])


def _had_own_error(event: Event) -> bool:
    """Whether a launcher's report tells of a process that ended by itself: an exception exits with 1 to 127."""
    code = event.fields.get("exitcode")
    return not (isinstance(code, int) and code < 0)


def _only_lost_peers(order: FailureOrder, rank: int | None) -> bool:
    """Whether the log of a rank is at hand, and its own error is that others were gone."""
    own = [failure for failure in order.failures if failure.rank == rank and not is_report(failure.events)]
    return bool(own) and all(failure.family == "peers" for failure in own)


def _followers(order: FailureOrder, first: Failure, out: FactWriter) -> None:
    """Ranks of which every failure follows from the first one, and ranks that failed in the same way."""
    by_rank: dict[int, list[Failure]] = {}
    for failure in order.failures:
        if failure.rank is not None and failure.rank != first.rank:
            by_rank.setdefault(failure.rank, []).append(failure)
    kinds = first.kinds - {"python_traceback"} - REPORTS or first.kinds
    alike = {rank for rank, found in by_rank.items() if any(kinds & failure.kinds for failure in found)}
    own = {
        rank
        for rank, found in by_rank.items()
        if any(
            event.kind in REPORTS and _had_own_error(event) for failure in found for event in failure.events
        )
        and not _only_lost_peers(order, rank)
    }
    followers = {
        rank
        for rank, found in by_rank.items()
        if rank not in alike | own and all(order.follows(failure) is True for failure in found)
    }
    if (
        first.family != "peers"
    ):  # after a timeout the rank that the launcher had to kill may be the one at fault
        out.put("followers", len(followers) or None)
    out.put("alike", len(alike) or None)


def _launcher(view: RunView, order: FailureOrder, out: FactWriter) -> None:
    """Whom the launcher calls the root, and whether that rank really failed first.

    A rank that ended with an error of its own may have been first after all, unless a clock says otherwise.
    """
    named = [event for event in view.events("torchrun_failure") if event.rank is not None]
    if not named:
        return
    rank = named[0].rank
    out.put("launcher.rank", rank, [named[0].ref])
    first = order.first
    if first is None or first.family not in CAUSES or first.rank is None:
        return
    rivals = [failure for failure in order.roots if failure.rank == rank]
    if first.rank == rank:
        out.put("launcher.misreported", value=False, refs=[named[0].ref])
    elif all(earlier(first, rival) is True for rival in rivals) and (
        rivals or not _had_own_error(named[0]) or _only_lost_peers(order, rank)
    ):
        out.put("launcher.misreported", value=True, refs=[first.speaker.ref, named[0].ref])
