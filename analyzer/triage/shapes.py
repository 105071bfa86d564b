"""New failure shapes: failures that no rule explains, put together by what their last words have in common.

Equal templates come first; then templates of one shape are joined if most of their words agree in order, as in
"shard <n> of corpus-a is empty" and "shard <n> of corpus-b is empty". The order of the runs plays no part, so that
every engine gives the same groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analyzer.record import dataclass, field

ALIKE = 0.7
"""Share of words that have to agree: a message of ten words may hold three names of its own."""

FEWEST_WORDS = 4
"""Shorter messages have to be equal; of three words two agree by accident."""

MAX_TEMPLATES = 5_000
"""Distinct templates kept; a fleet with more has no shapes but noise. The rest is counted as one."""

MAX_JOINED = 500
"""Templates of one shape that are compared with each other, the most frequent first; the rest stay as they are."""


@dataclass(frozen=True, slots=True)
class FailureShape:
    """One shape."""

    shape: str  # how and when the runs ended
    template: str  # the most frequent template
    variants: int  # number of templates joined
    runs: int  # number of runs
    users: int  # how many users are known to be hit
    example: str  # last words of one run
    location: str  # where that run lies
    place: str  # the file in which they stand


@dataclass
class _Group:
    runs: int = 0
    users: set[str] = field(default_factory=set)
    example: tuple[str, str, str] = ("", "", "")


class ShapeCensus:
    """Collects the last words of unexplained failures."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str], _Group] = {}
        self.left_out = 0

    def add(self, row: Mapping[str, Any]) -> None:
        """Count a run, if it has last words."""
        if not row.get("template"):
            return
        key = (row["shape"], row["template"])
        if key not in self._groups and len(self._groups) >= MAX_TEMPLATES:
            self.left_out += 1
            return
        group = self._groups.setdefault(key, _Group())
        group.runs += 1
        if row["user"]:
            group.users.add(row["user"])
        example = (row["location"], row["last_words"], row["last_words_place"] or "")
        if not group.example[0] or example < group.example:
            group.example = example

    def shapes(self) -> list[FailureShape]:
        """The shapes, the most frequent first."""
        by_shape: dict[str, list[tuple[str, _Group]]] = {}
        for (shape, template), group in self._groups.items():
            by_shape.setdefault(shape, []).append((template, group))
        found = [made for shape, items in by_shape.items() for made in _join(shape, items)]
        return sorted(found, key=lambda made: (-made.runs, made.template, made.shape))


def _join(shape: str, items: list[tuple[str, _Group]]) -> list[FailureShape]:
    ordered = sorted(items, key=lambda item: (-item[1].runs, item[0]))
    clusters: list[list[tuple[str, _Group]]] = []
    for number, item in enumerate(ordered):
        words = item[0].split()
        near = None
        if number < MAX_JOINED:
            near = next((cluster for cluster in clusters if alike(cluster[0][0].split(), words)), None)
        if near is None:
            clusters.append([item])
        else:
            near.append(item)
    return [_shape(shape, cluster) for cluster in clusters]


def _shape(shape: str, cluster: list[tuple[str, _Group]]) -> FailureShape:
    location, words, place = min(group.example for _, group in cluster)
    return FailureShape(
        shape=shape,
        template=cluster[0][0],
        variants=len(cluster),
        runs=sum(group.runs for _, group in cluster),
        users=len(set().union(*(group.users for _, group in cluster))),
        example=words,
        location=location,
        place=place,
    )


def alike(one: list[str], other: list[str]) -> bool:
    """Whether two templates have as many words and most of them agree, place by place.

    >>> alike("shard <n> of corpus-a is empty".split(), "shard <n> of corpus-b is empty".split())
    True
    >>> alike("no space left".split(), "no module found".split())
    False
    """
    if len(one) != len(other) or len(one) < FEWEST_WORDS:
        return False
    return sum(a == b for a, b in zip(one, other, strict=True)) >= ALIKE * len(one)
