"""Tasks that are learned one after the other: the list of their scores, what is lost, and the look-alikes."""

import pytest
from log_reading import read_text
from make_run import RunMaker

from analyzer.detect import run_detectors
from analyzer.facts.build import build_facts

STREAM = "Top1_Acc_Exp/eval_phase/test_stream/Task000/Exp00{} = {:.4f}\n"
FORGETS = "ExperienceForgetting/eval_phase/test_stream/Task000/Exp00{} = {:.4f}\n"


def forgotten(text):
    return build_facts(run_detectors(read_text(text))).plain.get("signal.tasks.forgotten")


def listed(*scores, row=" - Task {}: {:.4f}\n"):
    return "".join(row.format(at, score) for at, score in enumerate(scores, 1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Accuracy by task:\n" + listed(0.0, 0.0125, 0.0, 0.9875), True),
        ("Accuracy by task:\n" + listed(0.0, 0.0125, 0.9875), False),  # trained together, two are hard
        ("Accuracy by task:\n" + listed(0.0, 0.0125, 0.0, 0.9875, 0.0), False),  # the newest is not known
        ("Success rate by task:\n" + listed(0.0, 0.0125, 0.0, 0.9875), False),  # which no agent begins above
        (listed(0.0, 0.0125, 0.0, 0.9875, row="success rate on task {}: {}\n"), False),
        ("Accuracy by task:\n" + listed(0.3, 0.95) + "\n" * 50 + "Accuracy by task:\n" + listed(0.0, 0.0125, 0.9875), True),
        ("Success rate by task:\n" + listed(0.75, 0.0, 0.0) + "\n" * 50 + "Success rate by task:\n" + listed(0.0, 0.875, 0.0), True),
        ("Accuracy by task:\n" + listed(0.0125, 0.75, 0.0, 0.875), False),  # trained together, two are hard
        ("Accuracy by task:\n" + listed(0.9125, 0.9375, 0.0, 0.0), False),  # two are still to come
        ("Loss by task:\n" + listed(0.0, 0.0125, 0.9875), None),
        ("Accuracy by task:\n" + listed(0.95, 0.1) + "\n" * 50 + listed(0.5125, 0.975, row="Accuracy on task {}: {}\n"), True),
        (listed(0.95, 0.1, row="acc on task {}: {}\n") + listed(0.8125, 0.975, row="acc on task {}: {}\n"), False),
        (listed(96.5, 12.0, row="Test on task {}: loss = 0.31, acc = {}\n") + listed(51.5, 97.5, row="Test on task {}: loss = 1.25, acc = {}\n"), True),
        (listed(0.0, 0.0, 0.975, row="Task {} - Epoch 4 - acc: {}\n"), None),
        ("".join(FORGETS.format(at, 0.925) + STREAM.format(at, 0.0125) for at in range(3)), True),
        ("".join(FORGETS.format(at, 0.0625) + STREAM.format(at, 0.875) for at in range(3)), False),
    ],
)  # fmt: skip
def test_earlier_tasks_that_are_lost(text, expected):
    assert forgotten(text) is expected


@pytest.mark.parametrize(
    ("values", "expected"), [([0.0, 0.55, 0.875], True), ([0.0, 0.05, 0.0625], False), ([0.0, 55, 87], True)]
)
def test_what_a_run_says_of_forgetting(values, expected):
    assert RunMaker().log({"stream_forgetting": values}).plain()["signal.tasks.forgotten"] is expected


@pytest.mark.parametrize(("values", "expected"), [([0.0, -0.75], True), ([0.0, 0.125], False)])
def test_backward_transfer_says_it_below_zero(values, expected):
    assert RunMaker().log({"bwt": values}).plain()["signal.tasks.forgotten"] is expected


@pytest.mark.parametrize(("mean", "expected"), [([0.245, 0.2475], True), ([0.245, 0.475], False)])
def test_a_mean_that_is_worth_one_task_whatever_is_learned(mean, expected):
    maker = RunMaker().log({"train_acc": [0.5, 0.9375], "top1_acc_stream/eval_phase/test_stream": mean})
    maker.event("task_scores", role="info", tasks=2, highest=3, newest=0.0, earlier=0, at_zero=0, lost=0)

    assert maker.plain()["signal.tasks.forgotten"] is expected
