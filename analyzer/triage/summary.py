"""What an operator needs to know of a fleet, collected one run at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from analyzer.record import dataclass, field
from analyzer.triage.nodes import NodeCensus, NodeVerdict

GROUPINGS = ("cause", "node", "user", "model")
UNEXPLAINED = "unexplained"
UNKNOWN = "unknown"
EXAMPLES = 5
NAMED = 50
"""Runs named one by one in a summary; the dataset holds all."""


@dataclass
class Tally:
    """Runs that have something in common."""

    name: str  # what they have in common
    title: str = ""  # the same in words
    runs: int = 0  # number of runs
    failed: int = 0  # failed ones among them
    gpu_hours: float = 0.0  # GPU-hours of the failed ones for which they are known
    hours_unknown: int = 0  # failed ones for which they are not
    causes: Counter[str] = field(default_factory=Counter)  # cause to number of failed runs
    users: set[str] = field(default_factory=set)  # known users
    examples: list[str] = field(default_factory=list)  # locations of some

    def add(self, row: Mapping[str, Any]) -> None:
        """Count a run."""
        self.runs += 1
        if row["user"]:
            self.users.add(row["user"])
        if len(self.examples) < EXAMPLES:
            self.examples.append(row["location"])
        if row["status"] == "failed":
            self.failed += 1
            self.causes[row["cause_id"] or UNEXPLAINED] += 1
            if row["gpu_hours"] is None:
                self.hours_unknown += 1
            else:
                self.gpu_hours += row["gpu_hours"]

    def to_dict(self) -> dict[str, Any]:
        """Plain data in a fixed order."""
        return {
            "name": self.name,
            "title": self.title,
            "runs": self.runs,
            "failed": self.failed,
            "gpu_hours": round(self.gpu_hours, 3),
            "hours_unknown": self.hours_unknown,
            "causes": dict(sorted(self.causes.items(), key=lambda item: (-item[1], item[0]))),
            "users": sorted(self.users)[:EXAMPLES],
            "user_count": len(self.users),
            "examples": self.examples,
        }


@dataclass
class _Shared:
    """Runs with one fingerprint."""

    cause: str
    title: str
    text: str
    place: str
    restart: str
    tally: Tally
    hosts: Counter[str] = field(default_factory=Counter)


class FleetSummary:
    """Collects rows, which come in order of their location."""

    def __init__(self) -> None:
        self.runs = 0
        self.statuses: Counter[str] = Counter()
        self.restarts: Counter[str] = Counter()
        self.problems: list[dict[str, str]] = []
        self.unreadable: list[dict[str, str]] = []
        self.all_failed = Tally("failed")
        self.degraded = Tally("degraded")
        self.baselines = 0
        self.top_probability = 0.0
        self._causes: dict[str, Tally] = {}
        self._groups: dict[str, dict[str, Tally]] = {grouping: {} for grouping in GROUPINGS[1:]}
        self._shared: dict[str, _Shared] = {}
        self._days: dict[str, Counter[str]] = {}
        self._matrix: dict[str, Counter[str]] = {}
        self._nodes = NodeCensus()
        self._shapes = ShapeCensus()

    def add(self, record: Mapping[str, Any]) -> None:
        """Count a run with its findings."""
        row = record["run"]
        self.runs += 1
        self.statuses[row["status"] or "not diagnosed"] += 1
        if row["outcome"] != "diagnosed":
            named = self.problems if row["outcome"] == "failed" else self.unreadable
            if len(named) < NAMED:
                named.append({"location": row["location"], "problem": row["problem"]})
            return
        self.baselines += row["baseline"] is not None
        for finding in record["findings"]:
            if finding["severity"] in {"fatal", "degrading"}:
                self.top_probability = max(self.top_probability, finding["probability"] or 0.0)
        self._nodes.add(row)
        self._shapes.add(row)
        self._group(row)
        if row["status"] == "failed":
            self.all_failed.add(row)
        elif row["status"] == "degraded":
            self.degraded.add(row)
        if row["status"] in {"failed", "degraded"} or row["cause_id"]:
            self._count_cause(row)

    def _group(self, row: Mapping[str, Any]) -> None:
        names = {
            "node": row["hosts"] or [UNKNOWN],
            "user": [row["user"] or UNKNOWN],
            "model": [row["model"] or UNKNOWN],
        }
        for grouping, values in names.items():
            for name in values:
                self._groups[grouping].setdefault(name, Tally(name)).add(row)

    def _count_cause(self, row: Mapping[str, Any]) -> None:
        cause = row["cause_id"] or UNEXPLAINED
        title = row.get("cause_title") or "No rule names a cause that is at least possible"
        self._causes.setdefault(cause, Tally(cause, title)).add(row)
        if row["end_s"] is not None:
            day = datetime.fromtimestamp(row["end_s"], UTC).strftime("%Y-%m-%d")
            self._days.setdefault(day, Counter())[cause] += 1
        for host in row["hosts"]:
            self._matrix.setdefault(host, Counter())[cause] += 1
        if row["fingerprint"] and row["status"] == "failed":
            shared = self._shared.setdefault(
                row["fingerprint"],
                _Shared(
                    cause,
                    title,
                    row["evidence_text"] or "",
                    row["evidence_place"] or "",
                    row["restart"] or "",
                    Tally(cause),
                ),
            )
            shared.tally.add(row)
            shared.hosts.update(row["hosts"])

    def causes(self) -> list[Tally]:
        """Causes, the most frequent first."""
        return sorted(self._causes.values(), key=lambda tally: (-tally.runs, tally.name))

    def wasted(self) -> list[Tally]:
        """Causes of failed runs by the GPU-hours that are known to be lost."""
        failed = [tally for tally in self._causes.values() if tally.failed]
        return sorted(failed, key=lambda tally: (-tally.gpu_hours, -tally.failed, tally.name))

    def grouped(self, grouping: str) -> list[Tally]:
        """Runs by cause, node, user or model; most failures first."""
        if grouping == "cause":
            return self.causes()
        tallies = self._groups[grouping].values()
        return sorted(tallies, key=lambda tally: (-tally.failed, -tally.runs, tally.name))

    def shared_failures(self) -> list[dict[str, Any]]:
        """Groups of at least two runs with one root failure, the largest first."""
        groups = [
            {
                "fingerprint": fingerprint,
                "cause": shared.cause,
                "title": shared.title,
                "runs": shared.tally.runs,
                "users": sorted(shared.tally.users),
                "hosts": len(shared.hosts),
                "gpu_hours": round(shared.tally.gpu_hours, 3),
                "restart": shared.restart,
                "place": shared.place,
                "text": shared.text,
                "examples": shared.tally.examples,
            }
            for fingerprint, shared in self._shared.items()
            if shared.tally.runs > 1
        ]
        return sorted(groups, key=lambda group: (-int(str(group["runs"])), str(group["fingerprint"])))

    def nodes(self) -> list[NodeVerdict]:
        """Hosts in several failures, the accused first."""
        return self._nodes.verdicts()

    def bad_nodes(self) -> frozenset[str]:
        """Names of the accused hosts."""
        return frozenset(verdict.host for verdict in self.nodes() if verdict.bad)

    def shapes(self) -> list[FailureShape]:
        """Failures that no rule explains."""
        return self._shapes.shapes()

    def days(self) -> dict[str, dict[str, int]]:
        """Day (UTC) of a run's last record to causes."""
        return {day: dict(sorted(causes.items())) for day, causes in sorted(self._days.items())}

    def matrix(self) -> dict[str, dict[str, int]]:
        """Host to causes of the runs on it."""
        ordered = sorted(self._matrix.items(), key=lambda item: (-item[1].total(), item[0]))
        return {host: dict(sorted(causes.items())) for host, causes in ordered}

    def to_dict(self) -> dict[str, Any]:
        """Plain data, the same for every engine."""
        return {
            "schema": "analyzer.triage-summary/1",
            "runs": self.runs,
            "statuses": dict(sorted(self.statuses.items())),
            "failed": self.all_failed.to_dict(),
            "degraded": self.degraded.to_dict(),
            "causes": [tally.to_dict() for tally in self.causes()],
            "wasted_gpu_hours": [
                {
                    "cause": tally.name,
                    "gpu_hours": round(tally.gpu_hours, 3),
                    "unknown_runs": tally.hours_unknown,
                }
                for tally in self.wasted()
            ],
            "restart": dict(sorted(self.restarts.items())),
            "same_root_failure": self.shared_failures(),
            "unexplained": [asdict(shape) for shape in self.shapes()],
            "nodes": [asdict(verdict) for verdict in self.nodes()],
            "by": {
                grouping: [tally.to_dict() for tally in self.grouped(grouping)[:NAMED]]
                for grouping in GROUPINGS[1:]
            },
            "days": self.days(),
            "baselines": self.baselines,
            "unreadable": self.unreadable,
            "not_diagnosed": self.problems,
        }


ALIKE = 0.7
"""Share of words that have to agree: a message of ten words may hold three names of its own."""

FEWEST_WORDS = 4
"""Shorter messages have to be equal; of three words two agree by accident."""

MAX_TEMPLATES = 5_000
"""Distinct templates kept; a fleet with more has no shapes but noise."""

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

    def add(self, row: Mapping[str, Any]) -> None:
        """Count a run, if it has last words."""
        if not row.get("template"):
            return
        key = (row["shape"], row["template"])
        if key not in self._groups and len(self._groups) >= MAX_TEMPLATES:
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
