"""Who waits for whom, from the counters of the flight recorder of every rank.

Two counters of each rank and group decide: the last collective that its host issued (``enqueued``) and the last one
that its device finished (``completed``). A rank stands at its first unfinished collective, ``completed + 1``:

- a member that has not issued that one is waited for;
- if all have issued it and some have finished it, the rank's own device has stopped;
- if all have issued it and none has finished it, they are stuck in it together: they differ in what they issued, a
  member without a dump is missing, or the link between them fails.

A rank at fault is one that is waited for, or whose device has stopped, and that neither waits for anybody nor is
stuck together with others: all others only stand behind it. Groups with sends and receives are left out, their numbers differ by design.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from analyzer.model.traces import FlightDump
from analyzer.record import NamedTuple, dataclass, field

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
