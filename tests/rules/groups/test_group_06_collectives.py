"""Look-alikes of a collective that timed out or a connection that closed: each cause stands first on its own evidence.

The table gives what detectors would emit for such a run. With the deciding facts left out nothing may be
confidently wrong: the class leads, or the share is split.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pytest

from analyzer.rules.load import load_rules
from analyzer.rules.score import Ranking, rank

WATCHDOG = {
    "event.nccl_timeout.seen": True,
    "event.nccl_timeout.op": "ALLREDUCE",
    "event.nccl_timeout.seq": 6463,
    "event.nccl_timeout.timeout_ms": 1_800_000,
    "event.nccl_timeout.ran_ms": 1_800_017,
    "signal.collective.timed_out": True,
    "signal.collective.ranks_timed_out": 7,
    "run.last_step": 4000,
    "failure.seen": True,
    "failure.root_seen": False,
}
LOST = {
    "event.nccl_error.seen": True,
    "event.nccl_error.error": "ncclRemoteError",
    "run.last_step": 4000,
    "failure.root_seen": False,
}
SAME = {
    "signal.collective.same_everywhere": True,
    "signal.collective.different_count": False,
    "signal.collective.different_op": False,
    "signal.collective.different_size": False,
}

# cause -> facts that all of the group share, facts that decide
MEMBERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "nccl-timeout": (WATCHDOG, SAME),
    "nccl-timeout-rank-desync": (
        WATCHDOG,
        {"signal.collective.same_everywhere": False, "signal.collective.different_count": True},
    ),
    "mismatched-collective": (
        WATCHDOG,
        {"signal.collective.same_everywhere": False, "signal.collective.different_op": True, "signal.collective.different_count": False},
    ),
    "rank-dependent-graph": (
        {**WATCHDOG, "signal.collective.op": "ALLREDUCE", "signal.collective.is_barrier": False},
        {
            "signal.collective.same_everywhere": False, "signal.collective.different_op": False,
            "signal.collective.different_count": False, "signal.collective.different_size": True,
        },
    ),
    "pipeline-p2p-mismatch": (
        {**WATCHDOG, "event.nccl_timeout.op": "RECV", "signal.collective.is_p2p": True, "config.parallel.pipeline": 4},
        {"event.mismatched_collective.seen": True, "event.mismatched_collective.aspect": "SIZE_OR_SYNTAX_MISMATCH"},
    ),
    "nccl-timeout-slow-rank": (
        {**WATCHDOG, "event.nccl_timeout.numel": 1, **SAME},
        {"signal.collective.during_phase": "saving", "signal.collective.gap_s": 1804.0, "signal.collective.gap_equals_timeout": True},
    ),
    "straggler-rank-timeout": (
        WATCHDOG,
        {
            "signal.straggler.rank": 5, "signal.straggler.ratio": 1.4, "signal.straggler.persistent": True,
            "signal.straggler.ranks_agree": False, "signal.collective.during_phase": "steps",
        },
    ),
    "rank-host-stall": (
        {**WATCHDOG, **SAME},
        {
            "signal.collective.missing_ranks": 1, "signal.collective.missing_rank": 5,
            "signal.collective.missing_rank_silent": True, "signal.collective.during_phase": "steps",
        },
    ),
    "eval-entry-deadlock": (
        {"signal.silence.before_end_s": 7200.0, "signal.silence.median_steps": 720.0, "run.last_step": 900},
        {"signal.collective.during_phase": "evaluation", "signal.gpu.utilization_mean": 99.0},
    ),
    "nccl-remote-rank-crash": (LOST, {"event.connection_lost.seen": True}),
    "nccl-network-fault": (
        {"event.nccl_error.seen": True, "run.last_step": 4000, "failure.root_seen": False},
        {"event.infiniband_error.seen": True, "event.infiniband_error.code": 12},
    ),
}  # fmt: skip

CLASSES = frozenset({"nccl-timeout", "nccl-remote-rank-crash", "training-stall"})
CONFIDENT = 0.6


@lru_cache(maxsize=1)
def _rules() -> Any:
    return load_rules()


def _ranked(facts: dict[str, Any]) -> Ranking:
    return rank(_rules().in_question(facts), facts)


def _first(ranking: Ranking, kind: str) -> tuple[str, float]:
    best = ranking.kinds[kind][0]
    return best.rule.entry.id, best.probability


def _kind(cause: str) -> str:
    return "crash" if cause in {"nccl-remote-rank-crash", "nccl-network-fault"} else "hang"


@pytest.mark.parametrize("cause", sorted(MEMBERS))
def test_each_member_stands_first_on_its_own_evidence(cause: str) -> None:
    common, deciding = MEMBERS[cause]
    leader, share = _first(_ranked({**common, **deciding}), _kind(cause))
    assert leader == cause
    assert share >= 0.5


@pytest.mark.parametrize("cause", sorted(MEMBERS))
def test_without_the_deciding_facts_no_cause_is_confidently_named(cause: str) -> None:
    ranking = _ranked(MEMBERS[cause][0])
    for item in ranking.kinds.get(_kind(cause), []):
        assert item.rule.entry.id in CLASSES or item.probability < CONFIDENT


@pytest.mark.parametrize("cause", sorted(MEMBERS))
def test_an_earlier_failure_takes_the_lead_from_every_member(cause: str) -> None:
    common, deciding = MEMBERS[cause]
    earlier = {
        "event.cuda_oom.seen": True, "event.cuda_oom.is_first_failure": True, "event.nccl_timeout.is_consequence": True,
        "event.nccl_error.is_consequence": True, "failure.root_seen": True, "failure.first.kind": "cuda_oom",
        "failure.first.family": "memory", "failure.first.rank": 3,
    }  # fmt: skip
    ranking = _ranked({**common, **deciding, **earlier})
    leader, share = _first(ranking, "oom")
    assert leader == "gpu-out-of-memory"
    assert share >= 0.5
    decided_by_library = cause in {"mismatched-collective", "rank-dependent-graph", "pipeline-p2p-mismatch"}
    rivals = [item.probability for item in ranking.kinds.get(_kind(cause), [])]
    assert decided_by_library or all(share < 0.5 for share in rivals)


@pytest.mark.parametrize("known", [SAME, {}, {"signal.collective.same_everywhere": True}])
def test_the_class_leads_when_nothing_else_is_known(known: dict[str, Any]) -> None:
    assert _first(_ranked({**WATCHDOG, **known}), "hang")[0] == "nccl-timeout"
