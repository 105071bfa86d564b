"""A log that stops where its ranks were to meet."""

import pytest

import analyzer


@pytest.mark.parametrize(
    "below", ["", "4 ranks are here\nbuilding the loaders\n"], ids=["nobody-came", "they-met"]
)
def test_a_log_that_stops_where_ranks_meet_is_told_as_one(tmp_path, below):
    text = f"GPU available: True, used: True\ninitializing distributed: GLOBAL_RANK: 0, MEMBER: 1/4\n{below}"
    (tmp_path / "train.log").write_text(text, encoding="utf-8")
    dx = analyzer.diagnose(tmp_path)

    borne_out = [
        evidence
        for found in dx.findings
        for evidence in found.evidence
        if evidence.id == "stops-there" and evidence.verdict
    ]
    assert dx.status == "insufficient"
    assert bool(borne_out) == (not below)


ENDED = """Traceback (most recent call last):
  File "fit.py", line 12, in <module>
    run(settings["schedule"])
KeyError: 'schedule'
"""
NODE_LEFT = "WARNING:torch.distributed.elastic.rendezvous.dynamic_rendezvous:The node 'b_7_0' has failed to {} the rendezvous 'job-2' due to an error of type Rendezvous{}Error.\n"


def test_a_node_that_no_longer_reaches_its_rendezvous_lost_it_and_had_met(tmp_path):
    text = (
        ENDED
        + NODE_LEFT.format("send a keep-alive heartbeat to", "Timeout")
        + NODE_LEFT.format("shutdown", "Closed")
    )
    (tmp_path / "train.log").write_text(text, encoding="utf-8")
    first = analyzer.diagnose(tmp_path).findings[0]

    assert first.cause.id == "user-code-exception"


@pytest.mark.parametrize("words", ["shutdown", "send a keep-alive heartbeat to"])
def test_a_node_that_leaves_its_rendezvous_names_no_lost_peer_for_sure(tmp_path, words):
    rows = "".join(f"Epoch {at}/9 train_loss: {2 * 0.8**at:.4f}\n" for at in range(1, 10))
    (tmp_path / "train.log").write_text(rows + NODE_LEFT.format(words, "Connection"), encoding="utf-8")
    dx = analyzer.diagnose(tmp_path)

    assert all(finding.probability < 0.6 for finding in dx.findings)
    assert words != "shutdown" or dx.status == "healthy"


def test_a_node_whose_rendezvous_timed_out_did_not_meet(tmp_path):
    text = "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError\n"
    (tmp_path / "train.log").write_text(text, encoding="utf-8")
    first = analyzer.diagnose(tmp_path).findings[0]

    assert first.cause.id == "rendezvous-timeout"


@pytest.mark.parametrize("name", ["RANK", "WORLD_SIZE"])
def test_a_program_that_no_launcher_started_misses_what_one_would_have_set(tmp_path, name):
    text = f"ValueError: Error initializing torch.distributed using env:// rendezvous: environment variable {name} expected, but not set\n"
    (tmp_path / "train.log").write_text(ENDED.replace("KeyError: 'schedule'\n", text), encoding="utf-8")
    first = analyzer.diagnose(tmp_path).findings[0]

    assert first.cause.id == "invalid-config-argument"
