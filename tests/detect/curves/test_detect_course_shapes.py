"""Spikes, drift, schedules and repeated trouble: what a user would miss if it were measured wrongly."""

from __future__ import annotations

import math

import numpy as np
import pytest
from make_run import NAN, RunMaker, falling, norms


def with_checkpoints(maker, every, last):
    for step in range(every, last + 1, every):
        maker.event("checkpoint_saved", line=10 * step + 5, role="info", step=step, path_=f"ckpt/step{step}")
    return maker


def test_a_spike_that_comes_back_is_told_from_one_that_costs_steps():
    quick, slow = np.array(falling(400)), np.array(falling(400))
    quick[200:206] *= 3.0
    slow[200:260] *= np.linspace(3.0, 1.2, 60)

    short = RunMaker().log({"loss": quick}, every=10).plain()
    long = RunMaker().log({"loss": slow}, every=100).plain()

    assert short["signal.spike.step"] == 2001
    assert short["signal.spike.recovered"] is True
    assert short["signal.spike.slow"] is False
    assert short["signal.spike.recovery_steps"] <= 100
    assert long["signal.spike.slow"] is True


def test_a_way_back_of_a_five_hundredth_of_the_run_costs_nothing():
    loss = np.array(falling(10_000))
    loss[200:220] *= np.linspace(3.0, 1.2, 20)

    assert RunMaker().log({"loss": loss}, every=32).plain()["signal.spike.slow"] is False
    assert RunMaker().log({"loss": loss[:2000]}, every=32).plain()["signal.spike.slow"] is True


@pytest.mark.parametrize("begins", [True, False])
def test_the_level_rises_where_a_part_of_the_loss_begins(begins):
    loss, part = np.array(falling(200)), np.zeros(200)
    loss[60:] += 1.5 * loss[0]
    part[60 if begins else 0 :] = 0.5

    facts = RunMaker().log({"loss": loss, "second_stage_loss": part}).plain()

    assert facts["signal.spike.seen"] is not begins
    assert facts["signal.stretch.seen"] is not begins


def test_a_mean_that_begins_anew_with_every_pass_is_no_spike():
    rng = np.random.default_rng(3)
    batches = [(0.9 * math.exp(-at / 5) + 0.2) * (1 + 0.5 * rng.standard_normal(120)) for at in range(12)]
    means = np.concatenate([np.cumsum(one) / np.arange(1, 121) for one in batches])
    spiked = means.copy()
    spiked[780:840] *= np.linspace(5.0, 1.2, 60)  # in the middle of a pass

    assert RunMaker().log({"loss": means}).plain()["signal.spike.seen"] is False
    assert RunMaker().log({"loss": spiked}).plain()["signal.spike.seen"] is True


@pytest.mark.parametrize(
    ("column", "planned"), [("stage", True), ("curriculum/level", True), ("queue_length", False)]
)
def test_a_stage_that_begins_with_a_higher_loss_is_a_planned_change(column, planned):
    loss = np.concatenate([falling(150, 3.0, 0.6), falling(150, 4.0, 0.7)])
    facts = RunMaker().log({"loss": loss, column: [0.0] * 150 + [1.0] * 150}).plain()

    assert (facts.get("signal.schedule.change_what") == column) is planned


def test_a_rise_that_stays_has_not_recovered():
    loss = np.array(falling(300))
    loss[200:] = 6.0

    facts = RunMaker().log({"loss": loss}).plain()

    assert facts["signal.spike.seen"] is True
    assert facts["signal.spike.recovered"] is False


def test_the_order_of_update_norm_and_gradient_norm_is_kept():
    loss, grad, update = np.array(falling(200)), np.array(norms(200)), np.array(norms(200, 0.1, seed=3))
    loss[120:125] *= 3.0
    grad[119:124] *= 8.0
    update[117:122] *= 4.0

    facts = RunMaker().log({"loss": loss, "grad_norm": grad, "update_norm": update}).plain()

    assert facts["signal.spike.with_gradient"] is True
    assert facts["signal.spike.update_first"] is True


def test_the_end_of_a_dip_is_no_spike():
    rng = np.random.default_rng(5)
    stands = 0.16 * np.exp(0.01 * rng.standard_normal(900))
    dip = np.concatenate([stands[:400], 0.5 * stands[400:420], stands[420:]])
    # From as low a level to as high a one, but after a course that had come down to it.
    spike = np.concatenate([np.geomspace(0.5, 0.08, 400), 0.08 * np.ones(20), stands[420:]])

    assert RunMaker().log({"loss": list(dip)}).plain()["signal.spike.seen"] is False
    assert RunMaker().log({"loss": list(spike)}).plain()["signal.spike.seen"] is True


def test_heavy_tailed_noise_has_no_spikes():
    noise = np.exp(0.4 * np.random.default_rng(0).standard_t(2, 1000))

    assert RunMaker().log({"loss": 1.5 * noise}).plain()["signal.spike.seen"] is False


def test_drift_begins_long_before_the_nan_and_names_the_checkpoint_before_it():
    loss, grad = np.array(falling(1000)), np.array(norms(1000))
    grad[600:900] *= np.exp(np.linspace(0.0, 3.0, 300))
    loss[900:] = NAN
    grad[900:] = NAN

    facts = with_checkpoints(RunMaker().log({"loss": loss, "grad_norm": grad}), 100, 1000).plain()

    assert facts["signal.drift.metric"] == "the gradient norm"
    assert 590 <= facts["signal.drift.start_step"] <= 680
    assert facts["signal.drift.last_good_checkpoint_step"] == 600
    assert facts["signal.drift.last_good_checkpoint"] == "ckpt/step600"
    assert facts["signal.drift.lead_steps"] >= 200


def test_a_loss_scale_that_falls_first_is_the_drift():
    loss, scale = np.array(falling(1000)), np.full(1000, 65536.0)
    scale[700:900] = 65536.0 / 2.0 ** (np.arange(200) // 12)
    loss[880:] = NAN

    facts = with_checkpoints(
        RunMaker("deepspeed").log({"loss": loss, "loss_scale": scale}), 100, 1000
    ).plain()

    assert facts["signal.drift.metric"] == "the loss scale"
    assert facts["signal.drift.last_good_checkpoint_step"] == 700


def test_without_drift_the_checkpoint_before_the_breakdown_is_the_last_good_one():
    loss = np.array(falling(500))
    loss[450:] = NAN

    facts = with_checkpoints(RunMaker().log({"loss": loss, "grad_norm": norms(500)}), 100, 500).plain()

    assert facts["signal.drift.seen"] is False
    assert "signal.drift.start_step" not in facts
    assert facts["signal.drift.last_good_checkpoint_step"] == 400


def test_a_checkpoint_saved_while_the_weights_were_broken_is_not_good():
    loss = [*falling(20), *[NAN] * 20]

    facts = with_checkpoints(RunMaker().log({"loss": loss}), 30, 40).plain()

    assert "signal.drift.last_good_checkpoint_step" not in facts


def test_checkpoint_folders_of_the_run_count_as_saved():
    maker = RunMaker().log({"loss": [*falling(400), *[NAN] * 50]})
    maker.file("checkpoint-300/trainer_state.json", "trainer-state")

    assert maker.plain()["signal.drift.last_good_checkpoint"] == "checkpoint-300"


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ([2.1, 9.0, 90.0, 1100.0], True),
        ([10.0, 300.0, 1e5], True),
        ([2.1, 1.9, 2.0, 1.8], False),
        ([2.1, 2.2, 30.0], None),
        ([2.0 * 1.8**i for i in range(12)], True),
        ([1e160 * 10.0**i for i in range(12)], True),
    ],
)
def test_divergence_is_seen_in_few_points_too(loss, expected):
    assert RunMaker().log({"loss": loss}).plain().get("signal.loss.diverged") is expected


@pytest.mark.parametrize(
    ("rates", "planned", "scheduler", "spent"),
    [
        ([1.0 - n / 9 for n in range(10)], 100, None, True),
        ([4e-5, 3e-5, 3e-5, 2e-5, 1e-5, 0.0], 60, None, True),  # of one digit
        ([0.5 * (1 + math.cos(math.pi * n / 9)) for n in range(10)], 100, "cosine", True),
        ([1.0 - n / 9 for n in range(10)], 12, None, False),  # it ends with the run
        ([1.0 - n / 12 for n in range(10)], 100, None, False),  # it is still above nothing
        ([0.1**n for n in range(10)], 100, None, False),  # by decades, as a plateau asks for
        ([0.5 * (1 + math.cos(math.pi * n / 9)) for n in range(10)], 100, "cosine_with_restarts", False),
    ],
)
def test_a_schedule_that_is_spent_before_half_of_the_plan(rates, planned, scheduler, spent):
    asked = {"lr_scheduler_type": scheduler} if scheduler else {}
    maker = RunMaker("hf-trainer").log({"learning_rate": rates, "loss": falling(len(rates))})

    assert ("signal.schedule.spent_at" in maker.config(max_steps=planned, **asked).plain()) is spent


def test_a_schedule_that_ended_early_and_one_that_never_decayed():
    gone = [max(1e-3 * (1 - i / 40), 0.0) for i in range(100)]
    flat = [1e-3] * 100

    early = RunMaker().log({"loss": falling(100), "learning_rate": gone}).plain()
    never = (
        RunMaker()
        .log({"loss": falling(100), "learning_rate": flat})
        .config(learning_rate=1e-3, lr_scheduler_type="cosine")
        .plain()
    )

    assert early["signal.schedule.ended_early"] is True
    assert early["signal.schedule.ended_step"] == 41
    assert never["signal.schedule.never_decayed"] is True
    assert "signal.schedule.ended_step" not in never


def test_of_few_rows_half_without_a_rate_tell_that_a_schedule_ended_unless_the_column_has_one_digit():
    def ended(rates):
        return "signal.schedule.ended_early" in RunMaker().log({"learning_rate": rates}).plain()

    assert ended([0.003, *[0.0] * 9])
    assert not ended([0.003, 0.0025, 0.002, 0.0015, 0.001, 0.0005, 0.0])
    assert not ended([0.00001, *[0.0] * 9])  # printed with five digits


def test_a_rate_that_leaps_above_its_peak_and_stays_is_told_from_a_warm_up_and_from_cycles():
    def leaps(rates):
        return RunMaker().log({"learning_rate": rates}).plain().get("signal.schedule.leaps")

    falling_rate = [0.07 * math.cos(i / 20) for i in range(20)]

    assert leaps([*falling_rate, *[0.66] * 10]) == pytest.approx(9.43, abs=0.01)
    assert leaps([0.001 * i for i in range(1, 20)]) is None
    assert leaps([*falling_rate, *falling_rate, *falling_rate]) is None
    assert leaps([*falling_rate, *[0.66] * 5, *falling_rate]) is None


def test_a_rate_that_is_printed_with_few_digits_has_not_ended():
    printed = [round(1e-4 * (1 - i / 100), 5) for i in range(100)]  # 0.0001 ... 0.00001, 0.0

    assert "signal.schedule.ended_early" not in RunMaker().log({"learning_rate": printed}).plain()


def test_a_level_that_shifts_with_the_sequence_length_is_planned():
    loss = np.array(falling(200, scatter=0.005))
    loss[100:] += 1.0
    lengths = [512.0] * 100 + [2048.0] * 100

    facts = RunMaker().log({"loss": loss, "seqlen": lengths}).plain()

    assert facts["signal.schedule.shifts_loss"] is True
    assert facts["signal.schedule.change_step"] == 101
    assert facts["signal.schedule.shift_ratio"] > 1.2
    assert facts["signal.schedule.accounts_for_rise"] is True


def test_a_break_at_the_same_step_in_every_launch():
    maker = RunMaker()
    broken = [*falling(90), NAN, NAN]
    for attempt, first in enumerate((1, 41, 41)):
        part = broken if first == 1 else broken[40:]
        maker.attempt(f"run{attempt}.log", 1000.0 * attempt).log(
            {"loss": part}, path=f"run{attempt}.log", first=first
        )

    facts = maker.plain()

    assert facts["signal.repeat.same_step"] is True
    assert facts["signal.repeat.step"] == 91


@pytest.mark.parametrize(("first", "told"), [(1, None), (41, True)])
def test_another_job_that_begins_at_its_first_step_with_a_high_loss_is_no_break_at_that_step(first, told):
    """Jobs one below the other whose loss begins high: the step of the counter is that of another job."""
    broken = [*falling(80), *[90.0] * 40]
    maker = RunMaker()
    for attempt in range(2):
        path = f"job{attempt}.log"
        steps = list(range(41, 161)) if first != 1 else [*range(81, 161), *range(1, 41)]
        maker.attempt(path, 1000.0 * attempt).log({"loss": broken}, path=path, steps=steps)

    assert maker.plain().get("signal.repeat.same_step") is told


def test_a_launch_that_passes_the_step_refutes_it():
    maker = RunMaker().attempt("a.log", 0.0).log({"loss": [*falling(90), NAN, NAN]}, path="a.log")
    maker.attempt("b.log", 1000.0).log({"loss": falling(200)[40:]}, path="b.log", first=41)

    facts = maker.plain()

    assert facts["signal.repeat.passed"] is True
    assert facts["signal.repeat.same_step"] is False


def test_growth_is_seen_in_two_points_if_it_is_tenfold():
    steep = (
        RunMaker()
        .log({"loss": [2.2, 2.0, 178.0, NAN, NAN], "grad_norm": [0.3, 0.4, 123.0, NAN, NAN]})
        .plain()
    )
    quiet = (
        RunMaker().log({"loss": [2.2, 2.0, 2.6, NAN, NAN], "grad_norm": [0.3, 0.4, 0.9, NAN, NAN]}).plain()
    )

    assert steep["signal.loss.growth_before_onset"] == pytest.approx(89.0)
    assert steep["signal.grad_norm.growth_before_onset"] > 100
    assert "signal.loss.growth_before_onset" not in quiet
    assert "signal.grad_norm.growth_before_onset" not in quiet
