"""Contradicting settings, packages of nodes, lost work, and the exception that ended a run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from make_run import RunMaker, falling


def echoed(asked, used, *, layer="file", framework="hf-trainer"):
    maker = RunMaker("hf-trainer").config(layer=layer, learning_rate=asked)
    return maker.config(framework, path="train.log", layer="runtime_echo", learning_rate=used).plain()


def test_a_value_that_the_program_echoes_differently_is_a_conflict():
    facts = echoed(1e-4, 1e-3)

    assert facts["config.conflict.key"] == "learning_rate"
    assert (facts["config.conflict.asked"], facts["config.conflict.used"]) == (1e-4, 1e-3)


@pytest.mark.parametrize(
    "facts", [echoed(1e-4, "0.0001"), echoed(1e-4, 1e-3, layer="default"), echoed(-1, 1e-3)]
)
def test_equal_values_defaults_and_unset_ones_are_none(facts):
    assert "config.conflict.key" not in facts


@pytest.mark.parametrize(
    ("epochs", "steps", "used", "conflicts"),
    [(3, 60, 1, False), (0.5, -1, 1, False), (3, -1, 1, True), (2.5, -1, 2, True)],
)
def test_epochs_that_follow_from_a_plan_in_steps_or_are_rounded_up_contradict_nothing(
    epochs, steps, used, conflicts
):
    maker = RunMaker("hf-trainer").config(layer="file", num_train_epochs=epochs, max_steps=steps)
    maker.config("hf-trainer", path="state.json", layer="runtime_echo", num_train_epochs=used, max_steps=60)

    assert ("config.conflict.key" in maker.plain()) == conflicts


@given(st.floats(1e-6, 1e-2), st.integers(10, 60))
def test_a_schedule_that_keeps_to_its_peak_exceeds_nothing(peak, count):
    warm = [peak * (i + 1) / count for i in range(count)]
    facts = RunMaker("hf-trainer").config(learning_rate=peak).log({"learning_rate": warm}).plain()

    assert facts["config.learning_rate_exceeded"] is False


def lists(first, second, names=("node-a/requirements.txt", "node-b/requirements.txt")):
    maker = RunMaker().config("versions", path=names[0], torch=first)
    return maker.config("versions", path=names[1], torch=second).plain()


def test_lists_of_two_nodes_are_compared():
    assert lists("2.5.1", "2.6.0")["config.versions_differ_in"] == "torch (2.5.1 and 2.6.0)"
    assert lists("2.5.1", "2.5.1")["config.versions_differ"] is False


def test_files_of_different_kinds_are_not_compared():
    """What a file asks for and what a log prints may differ without any drift."""
    assert "config.versions_differ" not in lists("2.5.1", "2.6.0", ("requirements.txt", "train.log"))


def test_work_since_the_last_checkpoint_is_counted_only_after_a_failure():
    maker = RunMaker().log({"loss": falling(50), "step_time_s": [36.0] * 50}, first=10, every=10)
    maker.event("checkpoint_saved", line=205, role="info", step=200)
    assert "signal.saved_work.lost_hours" not in maker.plain()

    facts = maker.event("disk_full", line=900, role="root_candidate").plain()

    assert (facts["signal.saved_work.lost_steps"], facts["signal.saved_work.lost_hours"]) == (300, 3.0)


def raised(exception, line, **fields):
    return {"line": line, "role": "root_candidate", "exception": exception, **fields}


def test_the_exception_that_ended_the_run_is_named_and_not_one_that_was_survived():
    maker = RunMaker().log({"loss": falling(30)})
    maker.event("python_traceback", **raised("OSError", 5, message="upload failed"))
    maker.event(
        "python_traceback",
        **raised("KeyError", 900, message="'label'\nmore", file="/data/run/train.py", function="step"),
    )

    facts = maker.plain()

    assert (facts["exception.type"], facts["exception.message"]) == ("KeyError", "'label' more")
    assert (facts["exception.ended_run"], facts["exception.plain"]) == (True, True)
    assert facts["exception.place"].startswith("train.py")


@pytest.mark.parametrize(
    ("message", "misuse"),
    [
        ("An attempt has been made to start a new process before the current process has finished", True),
        ("mat1 and mat2 shapes cannot be multiplied (8x128 and 256x10)", True),
        ("The size of tensor a (4) must match the size of tensor b (3) at non-singleton dimension 1", True),
        ("expected scalar type Half but found Float", True),
        ("element 0 of tensors does not require grad and does not have a grad_fn", True),
        ("Native API failed. Native API returns: 5", False),
        ("DataLoader worker (pid 7) is killed by signal: Bus error", False),
        ("cuDNN error: CUDNN_STATUS_INTERNAL_ERROR", False),
    ],
)
def test_refused_arguments_are_told_from_reports_of_devices_and_libraries(message, misuse):
    maker = RunMaker().event("python_traceback", **raised("RuntimeError", 9, message=message))

    assert maker.plain()["exception.misuse"] is misuse


def test_an_exception_that_training_survived_ends_no_run():
    maker = RunMaker().log({"loss": falling(30)})

    facts = maker.event("python_traceback", **raised("OSError", 5, message="upload failed")).plain()

    assert facts["exception.ended_run"] is False
    assert "exception.plain" not in facts


def test_a_line_that_says_more_is_no_plain_exception():
    maker = RunMaker()
    maker.event("python_traceback", **raised("OSError", 9)).event("disk_full", line=9, role="root_candidate")

    assert maker.plain()["exception.plain"] is False


@given(st.lists(st.floats(0.1, 9.0), min_size=30, max_size=60))
def test_a_healthy_run_gives_no_fact_of_a_failure(losses):
    facts = RunMaker("hf-trainer").config(learning_rate=1e-4).log({"loss": losses}).plain()

    assert not [
        name for name in facts if name.startswith(("exception.", "signal.saved_work.", "config.conflict."))
    ]


def test_a_kind_whose_every_line_was_survived_says_so():
    maker = RunMaker().log({"loss": falling(30)}).event("missing_path", line=5, role="root_candidate")
    assert maker.plain()["event.missing_path.survived"] is True

    facts = maker.event("missing_path", line=900, role="root_candidate").plain()

    assert facts["event.missing_path.survived"] is False


def test_versions_that_several_ranks_print_are_compared():
    maker = RunMaker().event("nccl_version", path="rank_0.log", role="info", version="2.21.5")
    assert "config.versions_differ" not in maker.plain()

    facts = maker.event("nccl_version", path="rank_8.log", role="info", version="2.18.3").plain()

    assert facts["config.versions_differ_in"] == "NCCL (2.18.3 and 2.21.5)"


def test_the_rate_per_image_is_compared_with_published_schedules():
    def facts(framework, **keys):
        return RunMaker().config(framework, **keys).plain()

    assert facts("detectron2", SOLVER__BASE_LR=0.02, SOLVER__IMS_PER_BATCH=4)[
        "config.train.rate_over_schedule"
    ] == pytest.approx(4.0)
    assert facts("detectron2", SOLVER__BASE_LR=0.02, SOLVER__IMS_PER_BATCH=16)[
        "config.train.rate_over_schedule"
    ] == pytest.approx(1.0)
    other = facts("hf-trainer", learning_rate=0.02, global_batch_size=4)
    assert "config.train.rate_over_schedule" not in other
