"""Look-alikes around Xid, ECC and illegal addresses: which part failed, or that software did."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.rules.load import load_rules
from analyzer.rules.score import rank

RULES = load_rules()

HARDWARE = {
    "gpu-fell-off-bus", "gpu-ecc-uncorrected", "gpu-ecc-contained", "nvlink-fault", "gsp-rpc-timeout", "gpu-hardware-fault",
    "xid-cleanup-aftermath", "lemon-node", "pcie-link-degraded", "nic-hardware-fault", "node-failure",
}  # fmt: skip
GROUP = HARDWARE | {"illegal-memory-access", "attention-kernel-bug"}

ENDED = {"run.completed": False, "event.gpu_xid.seen": True}
ROOT = {"failure.root_seen": True, "failure.first.family": "hardware"}


def xid(kind, code):
    return {f"event.{kind}.seen": True, f"event.{kind}.code": code, "event.gpu_xid.code": code, **ROOT}


MEMBERS = {
    "gpu-fell-off-bus": xid("xid_off_bus", 79),
    "gpu-ecc-uncorrected": xid("xid_memory", 48),
    "gpu-ecc-contained": {**xid("xid_memory_contained", 94), "event.xid_row_remap.seen": True},
    "nvlink-fault": xid("xid_nvlink", 74),
    "gsp-rpc-timeout": xid("xid_gsp", 119),
    "gpu-hardware-fault": xid("xid_device", 62),
    "xid-cleanup-aftermath": {
        "event.gpu_xid.code": 45,
        "event.gpu_xid.count": 8,
        "event.xid_cleanup.seen": True,
        "event.xid_cleanup.count": 8,
        "failure.root_seen": False,
    },
    "illegal-memory-access": {
        "event.xid_application.seen": True,
        "event.xid_application.code": 31,
        "event.gpu_xid.code": 31,
        "event.illegal_memory_access.seen": True,
        "lifecycle.lemon_failures": 1,
        "lifecycle.failures_elsewhere": 2,
    },
    "lemon-node": {
        "event.xid_application.seen": True,
        "event.gpu_xid.code": 31,
        "lifecycle.lemon_host": "node-a",
        "lifecycle.lemon_failures": 3,
        "lifecycle.failures_elsewhere": 0,
    },
}

CONSEQUENCES = {
    "event.nccl_timeout.seen": True,
    "event.nccl_timeout.is_consequence": True,
    "event.sigterm.seen": True,
    "event.communicator_abort.seen": True,
    "event.xid_recovery.seen": True,
    "run.world_size": 64,
    "signal.loss.falls": True,
}


def shares(facts):
    """Cause to share, and the causes that lead their kind of symptom."""
    kinds = rank(RULES.in_question(facts), facts).kinds.values()
    first = {items[0].rule.entry.id for items in kinds}
    return {item.rule.entry.id: item.probability for items in kinds for item in items}, first


@pytest.mark.parametrize("cause", MEMBERS)
@given(extra=st.sets(st.sampled_from(sorted(CONSEQUENCES))))
def test_each_member_wins_on_its_own_evidence(cause, extra):
    facts = {**ENDED, **MEMBERS[cause], **{name: CONSEQUENCES[name] for name in extra}}
    found, first = shares(facts)

    assert cause in first
    assert found[cause] >= 0.5
    assert not [rival for rival in GROUP - {cause} if found.get(rival, 0.0) >= 0.5]


def test_a_code_that_nobody_knows_names_no_part():
    found, _first = shares({**ENDED, "event.gpu_xid.code": 999, **ROOT})

    assert not [cause for cause in GROUP if found.get(cause, 0.0) >= 0.6]


def test_a_page_fault_alone_blames_neither_the_gpu_nor_the_node():
    found, _first = shares({**ENDED, "event.xid_application.seen": True, "event.gpu_xid.code": 31})

    assert not [cause for cause in HARDWARE if found.get(cause, 0.0) >= 0.3]


@pytest.mark.parametrize(
    "cause", ["gpu-fell-off-bus", "gpu-ecc-uncorrected", "nvlink-fault", "gsp-rpc-timeout"]
)
def test_the_clean_up_that_follows_stays_below(cause):
    clean_up = {"event.gpu_xid.count": 9, "event.xid_cleanup.seen": True, "event.xid_cleanup.count": 8}
    found, first = shares({**ENDED, **MEMBERS[cause], **clean_up})

    assert cause in first
    assert found["xid-cleanup-aftermath"] < 0.05


@pytest.mark.parametrize("cause", ["gpu-fell-off-bus", "gpu-hardware-fault", "nvlink-fault"])
def test_a_fault_of_a_node_asks_to_leave_the_node_out(cause):
    rule = next(rule for rule in RULES.rules if rule.entry.id == cause)

    assert rule.restart_advice == "restart-excluding-node"
    assert rule.restart_because
