"""The headline is the deepest statement that holds at least a half."""

from analyzer import diagnose
from analyzer.rules.causes import catalogue
from analyzer.rules.load import load_rules
from analyzer.rules.score import rank
from analyzer.rules.tree import headline_of


def _items(**probabilities):
    items = [(catalogue()[name.replace("_", "-")], p) for name, p in probabilities.items()]
    return sorted(items, key=lambda item: -item[1])


def test_a_cause_with_a_half_is_the_headline():
    found = headline_of(_items(learning_rate_too_high=0.6, loss_divergence=0.2), 0.2)

    assert (found.level, found.id, found.probability) == ("cause", "learning-rate-too-high", 0.6)


def test_causes_of_one_class_that_share_the_weight_give_the_class():
    found = headline_of(_items(oom_activations=0.4, oom_fragmentation=0.3, gpu_out_of_memory=0.1), 0.2)

    assert (found.level, found.id) == ("class", "gpu-out-of-memory")
    assert round(found.probability, 6) == 0.8
    assert [candidate.id for candidate in found.candidates] == ["oom-activations", "oom-fragmentation"]
    assert found.untold == 0.1


def test_where_nothing_holds_a_half_the_answer_stays_open_and_says_so():
    found = headline_of(_items(rendezvous_port_in_use=0.3, disk_full=0.2), 0.5)

    assert (found.level, found.id, found.other) == ("open", "", 0.5)
    assert [candidate.id for candidate in found.candidates] == ["rendezvous-port-in-use", "disk-full"]


def test_a_cause_is_one_hypothesis_however_many_rules_it_has():
    facts = {"event.unknown_option.seen": True}
    for items in rank(load_rules(()).rules, facts).kinds.values():
        causes = [item.rule.entry.id for item in items]

        assert len(causes) == len(set(causes))


def test_a_remark_that_explains_nothing_leads_over_no_fault(tmp_path):
    log = tmp_path / "train.csv"
    log.write_text("step,loss\n" + "".join(f"{10 * n},0.0\n" for n in range(1, 60)))
    found = [finding.cause.id for finding in diagnose(log).findings]

    assert "metric-not-logged" in found[1:]
    assert found[0] != "metric-not-logged"
