"""Collectives of one number and group that differ between ranks: another operation, type or size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

from analyzer.model.refs import SourceRef
from analyzer.model.replay import CommTable

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
    """One number of one group at which ranks differ.

    Attributes:
        group: Name of the group.
        description: What the program calls it.
        seq: Number of the collective.
        aspect: operation, type or size.
        odd_ranks: Ranks that differ from the majority, empty if there is no majority.
        odd: What those do.
        usual: What the majority does.
        refs: Where both stand.
    """

    group: str
    description: str
    seq: int
    aspect: str
    odd_ranks: tuple[int, ...]
    odd: str
    usual: str
    refs: tuple[SourceRef, ...]


def mismatches(table: CommTable) -> Iterator[Mismatch]:
    """Differing collectives, by group and number; sends and receives are left out."""
    calls: dict[tuple[str, int], dict[int, Call]] = {}
    descriptions: dict[str, str] = {}
    for index in range(len(table)):
        rank, seq, op = table.integer("rank", index), table.integer("seq", index), table.text("op", index)
        group = table.text("pg", index)
        if rank is None or seq is None or op is None or group is None or _is_p2p(op):
            continue
        call = Call(rank, op, table.text("dtype", index) or "", _elements(table, index), table.ref(index))
        # A ring that wrapped, or a coalesced group, may show a number twice; the first is the collective itself.
        calls.setdefault((group, seq), {}).setdefault(rank, call)
        descriptions.setdefault(group, table.text("pg_desc", index) or "")
    for (group, seq), by_rank in sorted(calls.items(), key=lambda item: (item[0][1], item[0][0])):
        yield from _compared(group, descriptions[group], seq, list(by_rank.values()))


def _is_p2p(op: str) -> bool:
    return op.startswith(("send", "recv", "coalesced"))


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
