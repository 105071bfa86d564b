"""Collectives that timed out, compared over ranks: who waited for what, who did not come, and in which phase.

A watchdog prints one line on each rank that waited: number, operation and size. The rank at fault is the one
that stands at another number, calls something else, or prints nothing. Numbers count within one process group,
so only lines of one group are compared.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from analyzer.detect.base import FactWriter, RunView, event_refs
from analyzer.detect.failures.first_failure import order_of
from analyzer.detect.failures.following import CAUSES
from analyzer.detect.failures.launcher_reports import REPORTS, is_report
from analyzer.lazy_regex import LazyRegex
from analyzer.model.ranked import distinct_of, median_of
from analyzer.model.refs import SourceRef
from analyzer.model.tables import Event
from analyzer.record import NamedTuple

# What the ranks were doing when they began to wait: saving, evaluating, preparing data, starting, or stepping.
# glog prints no year: "[E1003 18:37:01.832146912 ProcessGroupNCCL.cpp:607]"; October has four digits, June three.
_GLOG = LazyRegex(r"\[[EWIF](?P<month>1?\d)(?P<day>\d\d) (?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)\.")

_STACKS = {
    "preprocessing": "preprocessing",
    "saving": "saving",
    "evaluation": "evaluation",
    "evaluation_gather": "evaluation",
}

TOLERANCE_S = 60.0
"""A watchdog looks every few seconds and the phase's own line may come a little early or late."""


def phase_before(view: RunView, out: FactWriter, *, waited: bool) -> None:
    """Facts ``during_phase``, ``gap_s`` and ``gap_equals_timeout``."""
    bars = view.events("dataset_work_at_timeout")
    if bars:
        out.put("during_phase", "preprocessing", [bars[0].ref])
        return
    started = _open_phase(view)
    if started is not None:
        out.put("during_phase", str(started.fields["phase"]), [started.ref])
        _gap(view, started, out)
        return
    if not waited:
        return
    for event in view.events("python_traceback", "traceback_cut", "hang_stack_dump"):
        phase = _STACKS.get(str(event.fields.get("phase", "")))
        if phase is not None:
            out.put("during_phase", phase, [event.ref])
            return
    table = view.run.metrics
    if len(table):
        out.put("during_phase", "steps", [SourceRef(int(table.source[-1]), int(table.line[-1]))])
    else:
        out.put("during_phase", "startup")


def _open_phase(view: RunView) -> Event | None:
    """The last phase that began and after which its own file logs no metric and no end of it."""
    table = view.run.metrics
    ends = [event for event in view.events("checkpoint_saved") if "uccessfully saved" in event.text]
    last: dict[int, Event] = {}
    for event in view.events("phase_started"):
        if event.fields.get("phase") is not None and (event.ref.line or 0) > 0:
            last[event.ref.source] = event
    first_timeout = {event.ref.source: event.ref.line or 0 for event in reversed(view.events("nccl_timeout"))}
    for source, event in sorted(last.items()):
        line = event.ref.line or 0
        if line > first_timeout.get(source, line):
            continue
        rows = table.line[table.source == source]
        over = any(end.ref.source == source and (end.ref.line or 0) > line for end in ends)
        if not over and not bool((rows > line).any()):
            return event
    return None


def _gap(view: RunView, started: Event, out: FactWriter) -> None:
    """How long after the start of the phase the first watchdog spoke."""
    if started.time_s is None:
        return
    stamps = [
        stamp for event in view.events("nccl_timeout") if (stamp := _stamp(event, started.time_s)) is not None
    ]
    if not stamps:
        return
    gap_s = min(stamps) - started.time_s
    if gap_s < 0:  # clocks of different zones
        return
    out.put("gap_s", gap_s, [started.ref])
    timeouts = {event.fields.get("timeout_ms") for event in view.events("nccl_timeout")}
    known = [float(value) / 1000 for value in timeouts if isinstance(value, int)]
    if known:
        timeout_s = float(median_of(known))
        out.put(
            "gap_equals_timeout", abs(gap_s - timeout_s) <= max(TOLERANCE_S, 0.1 * timeout_s), [started.ref]
        )


def _stamp(event: Event, near_s: float) -> float | None:
    """Time of a watchdog line; the year of a glog stamp is that of a known moment of the run."""
    if event.time_s is not None:
        return event.time_s
    match = _GLOG.search(event.text[:200])
    if match is None:
        return None
    part = {name: int(value) for name, value in match.groupdict().items()}
    if not (1 <= part["month"] <= 12 and 1 <= part["day"] <= 31):
        return None
    year = time.gmtime(near_s).tm_year
    date = np.datetime64(f"{year}-{part['month']:02d}-01") + np.timedelta64(part["day"] - 1, "D")
    return (
        float(date.astype("datetime64[s]").astype(np.int64))
        + part["hour"] * 3600
        + part["minute"] * 60
        + part["second"]
    )


P2P = ("SEND", "RECV", "COALESCED")
TIMEOUTS = ("nccl_timeout", "gloo_timeout", "hccl_timeout", "coordination_timeout", "barrier_missing_rank", "recorder_missing_ranks",
            "desync_report", "watchdog_stuck", "peer_timed_out")  # fmt: skip
"""Kinds by which one library or another says that ranks waited in vain."""

LEFT_WAITING = ("gloo_timeout", "gloo_error", "connection_lost")
"""What a rank of gloo says that waited: the first ones time out and end, the others lose them."""

UNEVEN = ("ALLTOALL", "GATHER", "SCATTER", "UNKNOWN")
"""Operations whose sizes may differ between ranks by design."""

MANY_RANKS = 3
"""Ranks that must be known before the silence of one of them says anything."""

MAX_LISTED = 10_000

ALL_RANKS = LazyRegex(r"0(?:\D|$)")
"""How torch names the process group of all ranks: it is made first."""

_MISSING = (("recorder_missing_ranks", "missing"), ("desync_report", "lagging"), ("desync_report", "never"), ("barrier_missing_rank", "missing"),
            ("horovod_stall", "missing"))  # fmt: skip
"""Reports in which torch or Horovod itself names the ranks that did not come."""


class Wait(NamedTuple):
    """What one rank waited for when its watchdog spoke."""

    rank: int
    group: str
    seq: int | None
    op: str
    size: tuple[object, ...]
    event: Event


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.collective.*``."""
    timed_out = view.events(*TIMEOUTS)
    if timed_out:
        out.put("timed_out", value=True, refs=event_refs(timed_out))
    waits = _waits(view)
    main = _main_group(waits)
    if main:
        _operation(main, waits, out)
        _compare(main, out)
    elif view.events("nccl_timeout"):
        _alone(view.events("nccl_timeout")[0], out)
    _who_is_missing(view, waits, main, out)
    _unused_parameters(view, out)
    phase_before(view, out, waited=bool(timed_out))


def _number(event: Event, name: str) -> int | None:
    value = event.fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _group(event: Event) -> str:
    return str(event.fields.get("group", "")).replace(" ", "")


def _member(event: Event) -> int | None:
    """Global rank, or the rank within the group if only that is known."""
    return event.rank if event.rank is not None else _number(event, "group_rank")


def _waits(view: RunView) -> list[Wait]:
    """The oldest operation that each rank waited for in each group."""
    # Newer watchdogs name the group in a second line, with the same number.
    groups = {
        (_member(event), _number(event, "seq")): _group(event) for event in view.events("collective_status")
    }
    named = {*groups.values(), *(_group(event) for event in view.events("nccl_timeout"))} - {""}
    # Only some ranks may have come to the line that names the group.
    unnamed = next(iter(named)) if len(named) == 1 and ALL_RANKS.match(next(iter(named))) else ""
    oldest: dict[tuple[int, str], Wait] = {}
    for event in view.events("nccl_timeout"):
        rank, seq = _member(event), _number(event, "seq")
        if rank is None or (seq is None and not event.fields.get("op")):
            continue  # it only says that the rank waited
        group = _group(event) or groups.get((rank, seq), "") or unnamed
        size = (event.fields.get("numel"), event.fields.get("shape"))
        wait = Wait(rank, group, seq, str(event.fields.get("op", "")), size, event)
        known = oldest.get((rank, group))
        if known is None or (seq is not None and known.seq is not None and seq < known.seq):
            oldest[rank, group] = wait
    return list(oldest.values())


def _main_group(waits: Sequence[Wait]) -> list[Wait]:
    """The waits of the group in which most ranks timed out, the first of several."""
    counts = Counter(wait.group for wait in waits)
    if not counts:
        return []
    group = counts.most_common(1)[0][0]
    return sorted((wait for wait in waits if wait.group == group), key=lambda wait: wait.rank)


def _operation(main: Sequence[Wait], waits: Sequence[Wait], out: FactWriter) -> None:
    refs = event_refs(wait.event for wait in main)
    op = Counter(wait.op for wait in main).most_common(1)[0][0]
    chosen = next(wait for wait in main if wait.op == op)
    out.put("ranks_timed_out", len({wait.rank for wait in waits}), refs)
    out.put("group", chosen.group or None, refs[:1])
    _alone(chosen.event, out)


def _alone(event: Event, out: FactWriter) -> None:
    """What a single watchdog line says."""
    refs = [event.ref]
    op = str(event.fields.get("op", ""))
    out.put("op", op or None, refs)
    out.put("seq", _number(event, "seq"), refs)
    timeout_ms = _number(event, "timeout_ms")
    out.put("timeout_s", timeout_ms / 1000 if timeout_ms is not None else None, refs)
    if event.fields.get("numel") is not None:
        out.put("is_barrier", _number(event, "numel") == 1, refs)
    if op:
        out.put("is_p2p", op.startswith(P2P), refs)


def _compare(main: Sequence[Wait], out: FactWriter) -> None:
    """Whether the ranks of one group waited for the same thing."""
    if len(main) < 2 or any(wait.seq is None for wait in main):
        return
    refs = event_refs(wait.event for wait in main)
    if len({wait.seq for wait in main}) > 1:
        out.put("same_everywhere", value=False, refs=refs)
        out.put("different_count", value=True, refs=_extremes(main))
        return
    is_p2p = any(wait.op.startswith(P2P) for wait in main)
    ops = {wait.op for wait in main}
    sizes = {wait.size for wait in main}
    same_op = len(ops) == 1 or is_p2p
    comparable = same_op and not is_p2p and not main[0].op.startswith(UNEVEN)
    out.put("different_op", not same_op, refs)
    if comparable:
        out.put("different_size", len(sizes) > 1, refs)
    out.put("same_everywhere", same_op and (not comparable or len(sizes) == 1), refs)
    out.put("different_count", value=False, refs=refs)


def _extremes(main: Sequence[Wait]) -> list[SourceRef]:
    ordered = sorted(main, key=lambda wait: wait.seq or 0)
    return [ordered[0].event.ref, ordered[-1].event.ref]


def _who_is_missing(view: RunView, waits: Sequence[Wait], main: Sequence[Wait], out: FactWriter) -> None:
    named, refs = _named_by_torch(view)
    if not named and main:
        named, refs = _behind(view, main, out)
    if named and len(named) == 1:
        out.put("lagging_rank", next(iter(named)), refs)
    if not named:
        waited = [wait.event for wait in waits] or _waited_in_gloo(view)
        named, refs = _without_watchdog(view, waited), event_refs(waited)
    if not named:
        return
    out.put("missing_ranks", len(named), refs)
    elsewhere = [event for event in view.events("gloo_error") if event.rank in named]
    if waits and named <= {event.rank for event in elsewhere}:
        out.put("missing_in_other_call", value=True, refs=event_refs(elsewhere))
    if len(named) > 1:
        return
    rank = next(iter(named))
    out.put("missing_rank", rank, refs)
    hosts = {event.fields.get("host") for event in view.run.events if event.rank == rank}
    host = next((host for host in sorted(map(str, hosts - {None, ""}))), "")
    out.put("missing_where", f"rank {rank}" + (f" on {host}" if host else ""), refs)
    _missing_log(view, rank, refs, out)


def _missing_log(view: RunView, rank: int, waited: Sequence[SourceRef], out: FactWriter) -> None:
    """Whether the rank that is missing left a log without an error."""
    failures = [f for f in order_of(view).failures if f.rank == rank]
    failures = [f for f in failures if f.family in CAUSES or not is_report(f.events)]
    causes = [failure for failure in failures if failure.family in CAUSES]
    if causes:
        out.put("missing_rank_silent", value=False, refs=[causes[0].speaker.ref])
    elif not failures and _left_a_log(view, rank):
        out.put("missing_rank_silent", value=True, refs=waited[:3])


def _left_a_log(view: RunView, rank: int) -> bool:
    """Whether anything of the rank is known: a file of its name in which nothing was recognised counts too."""
    own = (event for event in view.run.events if event.kind not in REPORTS)
    if any(event.rank == rank for event in own) or bool((view.run.metrics.rank == rank).any()):
        return True
    named = re.compile(
        rf"(?i)(?<![a-z])rank[-_=.]?0*{rank}(?!\d)|(?:^|/)attempt_\d+/{rank}/std(?:out|err)\.log$"
    )
    return any(named.search(source.path) for source in view.run.sources)


def _numbers(text: object) -> set[int]:
    return {int(number) for number in re.findall(r"\d{1,7}", str(text))[:MAX_LISTED]}


def _named_by_torch(view: RunView) -> tuple[set[int], list[SourceRef]]:
    for kind, name in _MISSING:
        for event in view.events(kind):
            if event.fields.get(name) is not None and (found := _numbers(event.fields[name])):
                return found, [event.ref]
    return set(), []


def _behind(view: RunView, main: Sequence[Wait], out: FactWriter) -> tuple[set[int], list[SourceRef]]:
    """Ranks that had not even enqueued the operation for which the others waited, by their own words."""
    seq = Counter(wait.seq for wait in main).most_common(1)[0][0]
    waiting = {wait.rank for wait in main}
    found: dict[int, Event] = {}
    for event in view.events("collective_status"):
        rank, enqueued = _member(event), _number(event, "enqueued")
        other_group = main[0].group and _group(event) and _group(event) != main[0].group
        if rank is None or enqueued is None or seq is None or rank in waiting or other_group:
            continue
        if 0 <= enqueued < seq:
            found[rank] = event
    if not found or len(found) >= len(waiting):
        return set(), []
    if seq is not None and any((_number(event, "enqueued") or 0) < seq - 1 for event in found.values()):
        # The others completed the operation before; a rank that never began it counts differently.
        out.put("different_count", value=True, refs=event_refs(found.values()))
    return set(found), list(event_refs(found.values()))


def _waited_in_gloo(view: RunView) -> list[Event]:
    """Lines of ranks that waited in vain where no watchdog speaks."""
    return list(view.events(*LEFT_WAITING)) if view.events("gloo_timeout") else []


def _without_watchdog(view: RunView, waited: Sequence[Event]) -> set[int]:
    """The rank that does not say that it waited; nothing if several are silent: their lines may just be lost."""
    timed_out = {member for event in waited if (member := _member(event)) is not None}
    known = {event.rank for event in view.run.events if event.rank is not None}
    known |= {int(rank) for rank in distinct_of(view.run.metrics.rank) if rank >= 0}
    world_size = view.run.layout.world_size
    if world_size is not None and world_size <= MAX_LISTED:
        known |= set(range(world_size))
    elif timed_out:
        known |= set(range(min(max(timed_out), MAX_LISTED)))
    silent = known - timed_out
    return silent if len(known) >= MANY_RANKS and len(silent) == 1 else set()


def _unused_parameters(view: RunView, out: FactWriter) -> None:
    lists: Mapping[int, Event] = {
        event.rank: event for event in view.events("ddp_no_gradient") if event.rank is not None
    }
    if len(lists) >= 2:
        texts = {str(event.fields.get("parameters", "")) for event in lists.values()}
        out.put("unused_parameters_differ", len(texts) > 1, event_refs(lists.values()))
