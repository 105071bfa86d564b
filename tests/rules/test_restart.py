"""The restart decision names the node to leave out and the last sound checkpoint."""

from analyzer.rules.load import load_rules
from analyzer.rules.restart import restart_of

RULES = {rule.entry.id: rule for rule in load_rules().rules}


def test_hardware_names_the_host():
    restart = restart_of(RULES["gpu-fell-off-bus"], {"failure.first.host": "node-7"})

    assert restart.decision == "restart-excluding-node"
    assert "node-7" in restart.because


def test_numeric_failure_names_the_checkpoint_before_the_drift():
    facts = {
        "signal.drift.last_good_checkpoint_step": 400,
        "signal.drift.last_good_checkpoint": "checkpoint-400",
        "signal.drift.start_step": 412,
        "signal.drift.metric": "grad_norm",
    }

    restart = restart_of(RULES["learning-rate-too-high"], facts)

    assert restart.resume_from.startswith("checkpoint-400")
    assert "412" in restart.resume_from


def test_no_checkpoint_is_invented():
    assert restart_of(RULES["learning-rate-too-high"], {}).resume_from == ""


def test_every_fault_gives_a_reason():
    silent = [
        rule.id
        for rule in RULES.values()
        if rule.severity in {"fatal", "degrading"} and not restart_of(rule, {}).because
    ]

    assert silent == []
