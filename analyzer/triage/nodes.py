"""Bad nodes: hosts that are in the failures of several jobs more often than chance would put them there.

A bare count accuses the busiest host. Two questions that chance can answer are asked instead:

    who failed first    In a job of n hosts each is equally likely to fail first (1/n). A host that came first in k
                        of its jobs is judged by the Poisson binomial distribution. Needs jobs of several hosts whose
                        logs name the first one.
    failure rate        Of N jobs K failed. A host with m jobs has k failed ones; by chance k is hypergeometric.
                        Needs jobs that did not fail, and jobs that ran elsewhere.

The smaller p counts twice (two questions), and over all hosts tested the Benjamini-Hochberg procedure keeps the share
of wrongly accused hosts below 5 %. Failures that a cause of software explains do not count against a host.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analyzer.record import dataclass, field

WRONG_SHARE = 0.05
"""Accepted share of wrongly accused hosts among the accused: a drained host costs a day, a bad one a week."""

FEWEST_FAILURES = 2
"""A host in one failure is an accident."""

MAX_HOSTS_OF_JOB = 64
"""Hosts of one job that are counted one by one; a job of 1,000 hosts says little about each."""

_RETRIED = frozenset({"restart-as-is", "restart-excluding-node"})
"""Advice that goes with causes outside the job's own code and settings."""

_OF_A_HOSTS_SET_UP = frozenset(
    {"illegal-memory-access", "oom-other-process", "host-oom-kill", "disk-full", "shm-too-small", "memlock-limit", "driver-too-old",
     "dataloader-worker-killed", "checkpoint-path-unwritable", "missing-input-path", "nccl-network-unreachable",
     "nccl-wrong-interface", "p2p-blocked-by-acs-iommu"}
)  # fmt: skip
"""Causes that ask for a fix, but of which the fix may be one of a single host: a mount, a limit, a driver."""


@dataclass(frozen=True, slots=True)
class NodeVerdict:
    """One host."""

    host: str  # its name
    jobs: int  # jobs that ran there, as far as logs say
    failures: int  # those that failed in a way that a host can cause
    first: int  # failures in which it was named as the first to fail
    p: float | None  # probability that chance does this, both questions counted; None if neither can be asked
    question: str  # the question with the smaller p: ``who failed first`` or ``failure rate``; empty if none
    bad: bool  # whether it is accused
    causes: Mapping[str, int]  # cause to number of its failures
    examples: tuple[str, ...]  # locations of up to five of them


@dataclass
class _Host:
    jobs: int = 0
    failures: int = 0
    first: int = 0
    chances: list[float] = field(default_factory=list)
    causes: dict[str, int] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)


class NodeCensus:
    """Collects which hosts were in which jobs."""

    def __init__(self) -> None:
        self._hosts: dict[str, _Host] = {}
        self._jobs = 0
        self._failures = 0

    def add(self, row: Mapping[str, Any]) -> None:
        """Count one run, if its logs name a host and its status is known."""
        hosts = row["hosts"][:MAX_HOSTS_OF_JOB]
        if not hosts or row["status"] not in {"failed", "degraded", "interrupted", "healthy"}:
            return
        failed = row["status"] == "failed" and may_be_a_hosts_fault(row)
        self._jobs += 1
        self._failures += failed
        for name in hosts:
            host = self._hosts.setdefault(name, _Host())
            host.jobs += 1
            if not failed:
                continue
            host.failures += 1
            cause = row["cause_id"] or "unexplained"
            host.causes[cause] = host.causes.get(cause, 0) + 1
            if len(host.examples) < 5:
                host.examples.append(row["location"])
            if row["first_host"] in hosts and len(hosts) > 1:
                host.first += name == row["first_host"]
                host.chances.append(1 / len(hosts))

    def verdicts(self) -> list[NodeVerdict]:
        """Hosts in at least two failures, the accused first, then by p."""
        tested = []
        for name, host in self._hosts.items():
            if host.failures < FEWEST_FAILURES:
                continue
            p, question = self._test(host)
            tested.append((name, host, p, question))
        accused = benjamini_hochberg(p for *_, p, _ in tested if p is not None)
        found = [
            NodeVerdict(
                host=name, jobs=host.jobs, failures=host.failures, first=host.first,
                p=None if p is None else float(f"{p:.3g}"), question=question, bad=p is not None and p <= accused,
                causes=dict(sorted(host.causes.items(), key=lambda item: (-item[1], item[0]))), examples=tuple(host.examples),
            )
            for name, host, p, question in tested
        ]  # fmt: skip
        return sorted(found, key=lambda v: (not v.bad, 1.0 if v.p is None else v.p, -v.failures, v.host))

    def _test(self, host: _Host) -> tuple[float | None, str]:
        asked: list[tuple[float, str]] = []
        if len(host.chances) >= FEWEST_FAILURES:
            asked.append((tail_of_poisson_binomial(host.chances, host.first), "who failed first"))
        if self._failures < self._jobs and host.jobs < self._jobs:
            p = tail_of_hypergeometric(self._jobs, self._failures, host.jobs, host.failures)
            asked.append((p, "failure rate"))
        if not asked:
            return None, ""
        p, question = min(asked)
        return min(1.0, len(asked) * p), question


def may_be_a_hosts_fault(row: Mapping[str, Any]) -> bool:
    """Whether a faulty host may stand behind a failure; what nobody explains may be one."""
    if row["cause_id"] is None:
        return True
    if row["cause_kind"] == "lifecycle":
        return False
    return row["restart"] in _RETRIED or row["cause_id"] in _OF_A_HOSTS_SET_UP


def tail_of_hypergeometric(total: int, marked: int, drawn: int, at_least: int) -> float:
    """Probability of at least so many marked ones among those drawn.

    >>> round(tail_of_hypergeometric(10, 3, 3, 3), 5)  # 1 of 120 draws
    0.00833
    """

    def log_choose(n: int, k: int) -> float:
        return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)

    most = min(marked, drawn)
    least = max(at_least, drawn - (total - marked), 0)
    whole = log_choose(total, drawn)
    terms = (
        log_choose(marked, k) + log_choose(total - marked, drawn - k) - whole for k in range(least, most + 1)
    )
    return min(1.0, math.fsum(math.exp(term) for term in terms))


def tail_of_poisson_binomial(chances: Sequence[float], at_least: int) -> float:
    """Probability of at least so many successes in trials of these chances.

    >>> tail_of_poisson_binomial([0.5, 0.5, 0.5], 3)
    0.125
    """
    counts = [1.0]
    for chance in chances:
        counts = [
            (counts[k] if k < len(counts) else 0.0) * (1 - chance) + (counts[k - 1] * chance if k else 0.0)
            for k in range(len(counts) + 1)
        ]
    return min(1.0, math.fsum(counts[at_least:]))


def benjamini_hochberg(values: Iterable[float]) -> float:
    """Largest p that is accused when the expected share of wrong accusations is ``WRONG_SHARE``; -1 if none is.

    >>> benjamini_hochberg([0.001, 0.02, 0.9]), benjamini_hochberg([0.3])
    (0.02, -1.0)
    """
    ordered = sorted(values)
    limit = -1.0
    for number, p in enumerate(ordered, start=1):
        if p <= WRONG_SHARE * number / len(ordered):
            limit = p
    return limit
