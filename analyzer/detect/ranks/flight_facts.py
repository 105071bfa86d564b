"""Facts from the flight recorder: which rank all others wait for, and how it differs.

The recorder says what each host issued and each device finished, so it names the rank at fault where logs only
show who waited (``flight_waits``), and the collective that differs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import prod

from analyzer.detect.base import FactWriter, RunView
from analyzer.model.refs import SourceRef
from analyzer.model.replay import CommTable
from analyzer.model.traces import FlightDump
from analyzer.record import NamedTuple, dataclass, field

# Collectives of one number and group that differ between ranks: another operation, type or size.
EQUAL_SIZES = (
    "all_reduce",
    "allreduce",
    "broadcast",
    "reduce",
    "_broadcast_oop",
    "_all_gather_base",
    "_allgather_base",
    "_reduce_scatter_base",
    "barrier",
)
"""Operations whose tensors must have as many elements on every rank; of others the sizes may differ by design."""


class Call(NamedTuple):
    """One collective of one rank."""

    rank: int
    op: str
    dtype: str
    elements: int | None
    ref: SourceRef


class Mismatch(NamedTuple):
    """One number of one group at which ranks differ."""

    group: str  # name of the group
    description: str  # what the program calls it
    seq: int  # number of the collective
    aspect: str  # operation, type or size
    odd_ranks: tuple[int, ...]  # ranks that differ from the majority, empty if there is no majority
    odd: str  # what those do
    usual: str  # what the majority does
    refs: tuple[SourceRef, ...]  # where both stand


def mismatches(table: CommTable) -> Iterator[Mismatch]:
    """Differing collectives, by group and number; sends and receives are left out."""
    calls: dict[tuple[str, int], dict[int, Call]] = {}
    descriptions: dict[str, str] = {}
    for index in range(len(table)):
        rank, seq, op = table.integer("rank", index), table.integer("seq", index), table.text("op", index)
        group = table.text("pg", index)
        if rank is None or seq is None or op is None or group is None:
            continue
        if op.startswith(("send", "recv", "coalesced")):
            continue
        call = Call(rank, op, table.text("dtype", index) or "", _elements(table, index), table.ref(index))
        # A ring that wrapped, or a coalesced group, may show a number twice; the first is the collective itself.
        calls.setdefault((group, seq), {}).setdefault(rank, call)
        descriptions.setdefault(group, table.text("pg_desc", index) or "")
    for (group, seq), by_rank in sorted(calls.items(), key=lambda item: (item[0][1], item[0][0])):
        yield from _compared(group, descriptions[group], seq, list(by_rank.values()))


def _elements(table: CommTable, index: int) -> int | None:
    sizes = table.sizes("in_sizes", index)
    if not sizes:
        return None
    return sum(prod(each) if isinstance(each, tuple | list) else int(each) for each in sizes)


def _compared(group: str, description: str, seq: int, calls: Sequence[Call]) -> Iterator[Mismatch]:
    if len(calls) < 2:
        return
    views = [("operation", [call.op for call in calls])]
    if len(set(views[0][1])) == 1:
        views.append(("type", [call.dtype for call in calls]))
        if calls[0].op in EQUAL_SIZES and all(call.elements is not None for call in calls):
            views.append(("size", [f"{call.op} of {call.elements} elements" for call in calls]))
    for aspect, said in views:
        counts = Counter(said)
        if len(counts) < 2:
            continue
        usual, count = counts.most_common(1)[0]
        has_majority = 2 * count > len(calls)
        odd = [call for call, words in zip(calls, said, strict=True) if words != usual]
        example = next(call for call, words in zip(calls, said, strict=True) if words == usual)
        words = next(words for words in said if words != usual)
        yield Mismatch(
            group, description, seq, aspect, tuple(sorted(call.rank for call in odd)) if has_majority else (),
            words, usual, (odd[0].ref, example.ref),
        )  # fmt: skip
        return


MAX_NAMED = 32
"""Ranks listed by number; a reader looks at the first ones."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.flight.*``."""
    dumps = view.run.flight
    found = list(mismatches(view.run.collectives_trace))
    if not dumps and not found:
        return
    if dumps:
        places = {dump.rank: SourceRef(dump.source) for dump in dumps if dump.rank is not None}
        waits = waits_of(dumps)
        refs = list(places.values())
        out.put("ranks", len(places), refs)
        out.put("waiting_ranks", len(waits.waiting), [places[rank] for rank in sorted(waits.waiting)])
        out.put("ranks_without_dump", len(waits.no_dump), refs)
        if len(waits.no_dump) <= MAX_NAMED:
            out.put("without_dump", _listed(waits.no_dump) or None, refs)
        out.put("stuck", bool(waits.waiting), refs)
        _at_fault(waits, places, out)
        _unmatched(view, dumps, waits, out)
    _mismatch(found, out, compared=len(dumps) > 1 or bool(found))


def _listed(ranks: Collection[int]) -> str:
    """Ranks in words.

    >>> _listed({15, 10}), _listed({*range(14), 15}), _listed(range(0, 100, 2))[-14:]
    ('10 and 15', '0-13 and 15', '62 and 18 more')
    """
    ordered = sorted(ranks)
    spans: list[list[int]] = []
    for rank in ordered[:MAX_NAMED]:
        if spans and rank == spans[-1][-1] + 1:
            spans[-1].append(rank)
        else:
            spans.append([rank])
    words = [
        word
        for span in spans
        for word in ([f"{span[0]}-{span[-1]}"] if len(span) > 2 else [str(rank) for rank in span])
    ]
    if len(ordered) > MAX_NAMED:
        words.append(f"{len(ordered) - MAX_NAMED} more")
    *others, last = words or [""]
    return f"{', '.join(others)} and {last}" if others else last


def _at_fault(waits: Waits, places: dict[int, SourceRef], out: FactWriter) -> None:
    refs = list(places.values())
    origins = waits.origins
    if not origins:
        if waits.together:
            # The fault lies in what was issued, with a rank without a dump, or with the link.
            out.put("circular", value=False, refs=refs)
            out.put("same_everywhere", value=True, refs=[places[rank] for rank in sorted(waits.together)])
        elif waits.missed:
            out.put("circular", value=True, refs=[places[rank] for rank in sorted(waits.missed)])
        return
    out.put("circular", value=False, refs=refs)
    out.put("same_everywhere", value=False, refs=refs)
    late = sorted(rank for rank in origins if rank not in waits.stopped)
    first = waits.missed.get(late[0]) if late else None
    if first is not None and _few_ahead(first, late):
        out.put("few_ahead", value=True, refs=[places[rank] for rank in late if rank in places])
    elif late:
        out.put("few_ahead", value=False, refs=refs)
    stopped = sorted(rank for rank in origins if rank in waits.stopped)
    where = [places[rank] for rank in sorted(origins) if rank in places]
    out.put("faulty_count", len(origins), where)
    out.put("faulty_ranks", _listed(origins), where)
    out.put("never_issued", bool(late), where)
    out.put("device_stopped", bool(stopped), [places[rank] for rank in stopped if rank in places] or where)
    if late:
        out.put("host_still", not waits.waiting.intersection(late), where)
        _describe(late[0], first, out, where)
    elif stopped:
        _describe(stopped[0], waits.stopped[stopped[0]], out, where)


def _few_ahead(group: Group, late: Sequence[int]) -> bool:
    """Whether most members of a group are behind: then the few that went on differ, not the many."""
    return 2 * len(set(late) & set(group.counters)) > len(group.counters) and len(group.counters) > 2


def _describe(rank: int, group: Group | None, out: FactWriter, refs: list[SourceRef]) -> None:
    if group is None or rank not in group.counters:
        return
    own = group.counters[rank]
    issued = max(counters.enqueued for counters in group.counters.values())
    out.put("group", group.description or group.name, refs)
    out.put("behind_by", issued - own.enqueued, refs)


def _unmatched(view: RunView, dumps: Sequence[FlightDump], waits: Waits, out: FactWriter) -> None:
    """A receive whose sender has nothing under way, where the groups of collectives show no fault."""
    if waits.origins or waits.missed:
        return
    table = view.run.collectives_trace
    idle = {dump.rank for dump in dumps} - waits.waiting
    members = {group.name: group.ranks for dump in dumps for group in dump.groups}
    for index in range(len(table)):
        op, name = table.text("op", index) or "", table.text("pg", index) or ""
        head, _, numbers = op.partition(" ")
        sender = numbers.rpartition("<-")[2]
        if head != "recv" or not sender.isdigit() or table.text("state", index) == "completed":
            continue
        ranks = members.get(name, ())
        peer = ranks[int(sender)] if int(sender) < len(ranks) else None
        if peer in idle:
            out.put("unmatched_receive", op, [table.ref(index)])
            out.put("unmatched_sender", peer, [table.ref(index)])
            return


def _mismatch(found: Sequence[Mismatch], out: FactWriter, *, compared: bool) -> None:
    if not compared:
        return
    for aspect in ("operation", "type", "size"):
        refs = [ref for mismatch in found if mismatch.aspect == aspect for ref in mismatch.refs]
        out.put(f"different_{aspect}", bool(refs), refs)
    if found:
        first = found[0]
        out.put("mismatch_seq", first.seq, first.refs)
        out.put("mismatch_group", first.description or first.group, first.refs)
        out.put("mismatch", f"{first.odd} beside {first.usual}", first.refs)
        out.put("mismatch_op", first.usual.partition(" of ")[0], first.refs)
        out.put("mismatch_ranks", _listed(first.odd_ranks) or None, first.refs)


MAX_MEMBERS = 1 << 16


class Counters(NamedTuple):
    """Counters of one rank in one group."""

    enqueued: int
    completed: int

    @property
    def waits_at(self) -> int | None:
        """Number of the first collective that was issued and is not finished, None if there is none."""
        return self.completed + 1 if self.completed < self.enqueued else None


class Group(NamedTuple):
    """One process group over all dumps."""

    name: str  # name that all ranks share
    description: str  # what the program calls it
    members: tuple[int, ...]  # global ranks
    counters: Mapping[int, Counters]  # by rank, of the members whose counters are known


@dataclass
class Waits:
    """What the counters of all ranks say together."""

    groups: list[Group]  # groups whose counters can be compared
    # ranks with a collective that was issued and is not finished
    waiting: set[int] = field(default_factory=set)
    # ranks that stand at a collective which another member has not issued
    blocked: set[int] = field(default_factory=set)
    # rank that has not issued what another one stands at, to the smallest group in which it is missed
    missed: dict[int, Group] = field(default_factory=dict)
    # rank to the group that shows that its device has stopped
    stopped: dict[int, Group] = field(default_factory=dict)
    # ranks that are stuck in a collective which all known members have issued and none has finished
    together: set[int] = field(default_factory=set)
    no_dump: set[int] = field(default_factory=set)  # members of groups of which there is no dump

    @property
    def origins(self) -> set[int]:
        """Ranks at fault: see the module."""
        late = set(self.missed) - self.together
        return (late | set(self.stopped)) - self.blocked


def comparable_groups(dumps: Sequence[FlightDump]) -> list[Group]:
    """Groups with the counters of all ranks; a rank that does not tie a counter to a name itself is tied by its peers.

    Ranks number their groups in the order in which they create them; members of one group mostly agree.
    """
    by_rank = {dump.rank: dump for dump in dumps if dump.rank is not None}
    members: dict[str, tuple[int, ...]] = {}
    descriptions: dict[str, str] = {}
    uneven: set[str] = set()
    numbers: dict[str, Counter[int]] = {}
    seen_in: dict[str, list[int]] = {}
    for rank, dump in sorted(by_rank.items()):
        for group in dump.groups:
            if group.ranks:
                members.setdefault(group.name, group.ranks[:MAX_MEMBERS])
            descriptions.setdefault(group.name, group.description)
            if group.point_to_point:
                uneven.add(group.name)
        for name, number in dump.numbers:
            numbers.setdefault(name, Counter())[number] += 1
            seen_in.setdefault(name, []).append(rank)
    found = []
    for name, counts in numbers.items():
        if name in uneven:
            continue
        ranks = members.get(name) or tuple(seen_in[name])
        counters = _counters(name, ranks, by_rank, counts.most_common(1)[0][0])
        if len(counters) > 1:
            found.append(Group(name, descriptions.get(name, ""), ranks, counters))
    return found


def _counters(
    name: str, members: Sequence[int], by_rank: Mapping[int, FlightDump], usual: int
) -> dict[int, Counters]:
    found = {}
    for rank in members:
        dump = by_rank.get(rank)
        if dump is None:
            continue
        number = dict(dump.numbers).get(name, usual)
        taken = {other for known, other in dump.numbers if known != name}
        status = next((status for status in dump.statuses if status.number == number), None)
        if status is None or status.enqueued is None or status.completed is None or number in taken:
            continue
        found[rank] = Counters(status.enqueued, status.completed)
    return found


def waits_of(dumps: Sequence[FlightDump]) -> Waits:
    """Compare the counters of all ranks."""
    waits = Waits(comparable_groups(dumps))
    for dump in dumps:
        if dump.rank is not None and any(
            s.enqueued is not None and s.completed is not None and s.completed < s.enqueued
            for s in dump.statuses
        ):
            waits.waiting.add(dump.rank)
    # The smallest groups first: a rank is described by the one in which it was missed most plainly.
    for group in sorted(waits.groups, key=lambda group: (len(group.members), group.name)):
        _compare(waits, group)
    members = {rank for dump in dumps for group in dump.groups for rank in group.ranks}
    waits.no_dump = members - {dump.rank for dump in dumps if dump.rank is not None}
    return waits


def _compare(waits: Waits, group: Group) -> None:
    """Where the members of one group stand; a group may have 100,000, of which few stand at different numbers."""
    counters = group.counters
    first_issued = min(own.enqueued for own in counters.values())
    last_finished = max(own.completed for own in counters.values())
    furthest = max((own.waits_at for own in counters.values() if own.waits_at is not None), default=None)
    if furthest is None:
        return
    for rank, own in counters.items():
        number = own.waits_at
        if own.enqueued < furthest:
            waits.missed.setdefault(rank, group)
        if number is None:
            continue
        if first_issued < number:
            waits.blocked.add(rank)
        elif last_finished >= number:
            waits.stopped.setdefault(rank, group)
        else:
            waits.together.add(rank)
