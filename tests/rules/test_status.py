"""The one word for a run, where several things are true at once."""

from __future__ import annotations

import json
import random
import re

import pytest

import analyzer
import analyzer.pipeline
from analyzer.facts.build import Facts
from analyzer.model.signal import FactValue
from analyzer.model.wording import REPORTED
from analyzer.render.sentences import first_failure_note
from analyzer.rules.health import health
from analyzer.rules.status import judge, outcome
from analyzer.vocabulary.events import said


def diagnose(tmp_path, text):
    path = tmp_path / "train.log"
    path.write_text(text)
    return analyzer.diagnose(path)


def flat_run(end):
    rows = "".join(
        f"{{'loss': 2.30{step % 3}, 'learning_rate': 1e-5, 'epoch': {step / 100}}}\n" for step in range(60)
    )
    return rows + end


def test_a_run_that_died_has_failed_whatever_else_was_poor(tmp_path):
    head = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    main()\n'
    of_launcher = "torch.distributed.elastic.multiprocessing.api.SignalException: Process 7 got signal: 15\n"
    dx = diagnose(tmp_path, flat_run(f"{head}RuntimeError: shape mismatch in block 4\n"))
    stopped = diagnose(tmp_path, flat_run(head + of_launcher))
    alone = diagnose(tmp_path, flat_run(""))

    assert alone.status == "degraded"
    assert dx.status == "failed"
    assert (stopped.status, stopped.ended.state) == ("degraded", "interrupted"), "from outside, as by a key"


def test_a_failure_that_no_rule_explains_is_told_with_its_line(tmp_path):
    path = tmp_path / "error.json"
    path.write_text(json.dumps({"message": {"message": "RuntimeError: it did not work", "extraInfo": {}}}))
    dx = analyzer.diagnose(path)

    assert dx.status == "failed"
    assert said("worker_error") in dx.summary
    told = "the first line that reports a failure: RuntimeError: it did not work [error.json:1]"
    assert first_failure_note(dx) == told


def mlperf(key, value, **metadata):
    return f":::MLLOG {json.dumps({'time_ms': 1, 'key': key, 'value': value, 'metadata': metadata})}\n"


@pytest.mark.parametrize(
    ("end", "status", "words"),
    [
        ("success", "healthy", "no fault found in 4 evaluation scores"),
        ("aborted", "failed", "given up before it reached its target; nothing that was logged tells why"),
    ],
)
@pytest.mark.parametrize("first_rounds", [False, True])
def test_a_benchmark_run_that_logs_scores_only_is_taken_at_its_word(
    tmp_path, end, status, words, first_rounds
):
    scores = "".join(mlperf("eval_accuracy", 0.2 * n, epoch_num=n) for n in range(1, 5))
    text = scores + mlperf("run_stop", None, status=end)
    if first_rounds:
        said = [f'eval_accuracy: {{"epoch": {n}, "value": {0.2 * n}}}' for n in range(1, 5)]
        said.append(f'run_stop: {{"success": {str(end == "success").lower()}}}')
        text = "".join(f":::MLPv0.5.0 ncf 1541732933.688 (ncf.py:450) {words}\n" for words in said)
    dx = diagnose(tmp_path, text)

    assert dx.status == status
    assert words in dx.summary


@pytest.mark.parametrize(
    ("start", "end", "status"),
    [
        ([mlperf("run_start", None)], [], "interrupted"),
        ([mlperf("run_start", None)], [mlperf("run_stop", None, status="success")], "healthy"),
        ([mlperf("run_start", None)], [mlperf("run_stop", None, epoch_num=8)], "healthy"),
        ([], [], "healthy"),
        ([mlperf("init_start", None)], [], "healthy"),
    ],
)
def test_a_timed_run_whose_end_was_never_written_was_interrupted(tmp_path, start, end, status):
    scores = [mlperf("eval_accuracy", 0.1 * n, epoch_num=n) for n in range(1, 9)]
    dx = diagnose(tmp_path, "".join([*start, *scores, *end]))

    assert dx.status == status
    assert (status == "interrupted") == ("its timed run began" in dx.summary)


@pytest.mark.parametrize(
    ("end", "status"), [("\n", "healthy"), ("", "healthy"), ("\nstep 201 lo", "interrupted")]
)
def test_a_log_that_stops_within_a_row_was_interrupted(tmp_path, end, status):
    rows = [
        f"step {n} loss {1 + 4 * 0.97**n + n % 3 / 100:.3f} grad_norm 0.{n % 7 + 1}" for n in range(1, 201)
    ]
    dx = diagnose(tmp_path, "\n".join(rows) + end)

    assert dx.status == status
    assert (status == "interrupted") == ("stops in the middle of a row" in dx.summary)


@pytest.mark.parametrize(("gain", "status"), [(0.1, "healthy"), (0.01, "insufficient")])
def test_scores_alone_are_enough_if_they_rise_clearly(tmp_path, gain, status):
    scores = "".join(mlperf("eval_accuracy", 0.1 + gain * n, epoch_num=n) for n in range(1, 9))

    assert diagnose(tmp_path, scores).status == status


def test_rewards_count_where_losses_have_no_level(tmp_path):
    rows = "".join(
        f"epoch: 0|step: {step}|ppo_ep: 1|act_loss: 0.{step % 7}|cri_loss: 0.25|unsuper_loss: 0.0\n"
        f"average reward score: {step / 40 + (step % 3) / 10}\n"
        for step in range(40)
    )
    dx = diagnose(tmp_path, rows)

    assert (dx.status, dx.summary.partition(" (")[0]) == ("healthy", "no fault found in 40 rewards")


@pytest.mark.parametrize(("other", "status"), [("reward", "healthy"), ("accuracy", "insufficient")])
def test_a_loss_that_leaps_where_the_policy_finds_new_rewards_is_no_doubt(tmp_path, other, status):
    loss = [5 * 0.97 ** (n % 150) + 40 * (n >= 150) * 0.8 ** (n - 150) + n % 5 / 50 for n in range(300)]
    rows = "".join(
        f"step: {2000 * n} loss: {loss[n]:.4f} {other}: {n / 300 + n % 3 / 100:.4f}\n" for n in range(300)
    )

    assert diagnose(tmp_path, rows).status == status


@pytest.mark.parametrize("last", [3.98, 4.05])
def test_a_short_curve_that_did_not_fall_is_not_called_healthy(tmp_path, last):
    rows = "".join(f"step {n} loss {4.0 + (last - 4.0) * n / 9:.3f}\n" for n in range(10))
    dx = diagnose(tmp_path, rows)

    assert dx.status == "insufficient"
    assert "improved by more than its noise" in dx.summary


def test_the_host_that_wrote_of_a_time_limit_has_not_failed(tmp_path):
    line = "slurmstepd: error: *** JOB 7 ON node-a CANCELLED AT 2024-05-27T21:42:11 DUE TO TIME LIMIT ***\n"
    dx = diagnose(tmp_path, flat_run(line))

    assert dx.first_failure is not None
    assert first_failure_note(dx) == ""


@pytest.mark.parametrize(
    ("zeros", "still", "rl", "failed"),
    [
        (0.87, 0.97, False, True),
        (0.87, 0.97, True, False),
        (0.6, 0.5, False, False),
        (0.1, 1.0, False, False),
    ],
)
def test_a_run_without_loss_and_gradient_has_failed(zeros, still, rl, failed):
    seen = outcome({"signal.loss_zero.share": zeros, "signal.grad_norm.zero_share": still, "run.rl": rl})

    assert bool(seen.failed) is failed


@pytest.mark.parametrize(("gained", "failed"), [(0.016, False), (0.001, True)])
def test_a_loss_of_zero_throughout_is_not_the_loss_if_held_out_answers_get_better(gained, failed):
    facts = {
        "signal.exact.loss_zero": True,
        "signal.loss_zero.share": 1.0,
        "signal.generalisation.score_kept": True,
        "signal.generalisation.accuracy_gained": gained,
    }

    assert bool(outcome(facts).failed) is failed


def short_run(losses):
    return "".join(
        f"{{'loss': {loss}, 'learning_rate': 1e-05, 'epoch': {at / 10}}}\n" for at, loss in enumerate(losses)
    )


def test_a_loss_that_is_zero_at_once_is_no_learning(tmp_path):
    sudden = diagnose(tmp_path, short_run([2.7, 2.6, 2.5, 0.0, 0.0]))
    learned = diagnose(tmp_path, short_run([0.5, 0.1, 0.01, 0.0001, 0.0]))

    assert sudden.status == "failed"
    assert learned.status != "failed"


def test_a_training_loss_that_rises_is_not_called_healthy(tmp_path):
    losses = [1.40, 1.41, 1.43, 1.45, 1.47, 1.49, 1.51, 1.53, 1.56, 1.58, 1.60, 1.61]
    rising = diagnose(tmp_path, short_run(losses))

    assert rising.status == "insufficient"
    assert "improved by more than its noise" in rising.summary


@pytest.mark.parametrize(
    ("shape", "probability", "status"),
    [
        ("no-progress", 0.8, "insufficient"),
        ("no-progress", 0.5, "healthy"),
        ("healthy", 0.9, "healthy"),
        ("spike-recovers", 0.9, "healthy"),
        (None, None, "healthy"),
    ],
)
def test_curves_of_an_ill_shape_are_not_called_healthy(shape, probability, status):
    facts = {"signal.loss.points": 200, "signal.loss.falls": True, "signal.progress.learned": True}
    if shape is not None:
        facts |= {"classifier.shape": shape, "classifier.probability": probability}
    verdict = judge((), outcome(facts), health(facts), facts)

    assert verdict.status == status
    assert ("80%" in verdict.text) == (status == "insufficient")


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({}, "healthy"),
        ({"fall_share": 0.03}, "insufficient"),  # as a loss that stands still loses as well
        ({"kept": False}, "insufficient"),
        ({"learned": False}, "insufficient"),  # within its scatter
        ({"hardly": True}, "insufficient"),  # a model that began at random has more to lose
        ({"still": True}, "insufficient"),
    ],
)
def test_a_shape_that_stands_still_does_not_weigh_against_a_loss_that_fell(more, status):
    course = {"fall_share": 0.07, "learned": True, "kept": True, "hardly": False, "still": False} | more
    facts = {f"signal.progress.{name}": value for name, value in course.items()}
    facts |= {"signal.loss.points": 430, "classifier.shape": "no-progress", "classifier.probability": 0.8}

    assert judge((), outcome(facts), health(facts), facts).status == status


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"signal.trace.traces": 1, "signal.trace.window_s": 0.4}, "nothing slow was seen in the trace"),
        ({"signal.trace.traces": 1}, "the trace holds too little of a device"),
    ],
)
def test_a_trace_alone_does_not_make_a_run_healthy(facts, words):
    verdict = judge((), outcome(facts), health(facts), facts)

    assert (verdict.status, "points of a training" in verdict.text) == ("insufficient", False)
    assert words in verdict.text


@pytest.mark.parametrize(("bad_every", "status"), [(3, "insufficient"), (0, "healthy")])
def test_a_part_of_the_loss_that_is_not_finite_forbids_healthy_where_no_norm_is_logged(
    tmp_path, bad_every, status
):
    rows = (
        f"step {step} loss {0.3 + 2.3 * 0.975**step:.4f}"
        f" aux_loss {'nan' if bad_every and step % bad_every == 0 else f'0.{600 - step}'} lr 0.001\n"
        for step in range(100)
    )
    found = diagnose(tmp_path, "".join(rows) + "training finished\n")

    assert found.status == status
    assert ("aux_loss is not finite at 34 of 100 points" in found.summary) is (status == "insufficient")


@pytest.mark.parametrize(
    ("worse", "within_noise", "gained", "doubted"),
    [
        (1.4, False, False, True),
        (1.02, False, False, False),
        (1.4, True, False, False),
        (1.4, False, True, False),
        (1.6, False, True, True),
    ],
)
def test_a_held_out_loss_that_only_rises_is_doubted(worse, within_noise, gained, doubted):
    found = health(
        {
            "signal.generalisation.turned": True,
            "signal.generalisation.never_fell": True,
            "signal.generalisation.worse_than_best": worse,
            "signal.generalisation.within_noise": within_noise,
            "signal.gap.score_gained": gained,
            "signal.gap.right": 0.0,
        }
    )
    assert ("held-out-fell" in found.ids) is doubted


@pytest.mark.parametrize(
    ("facts", "doubt"),
    [
        ({"signal.stall.constant_end": True, "signal.stall.equal_points_at_end": 50}, "repeats one number"),
        ({"signal.stall.constant_end": False}, None),
        ({"signal.loss_scale.first": 65536.0, "signal.loss_scale.last": 1.0}, "fell from 65536 to 1"),
        ({"signal.loss_scale.first": 1.0, "signal.loss_scale.last": 1.0}, None),
        ({"signal.loss_scale.first": 128.0, "signal.loss_scale.last": 0.25}, "fell from 128 to 0.25"),
        ({"signal.loss_scale.first": 128.0, "signal.loss_scale.last": 64.0}, None),
        ({"signal.stall.error_rate_stuck": True}, "stays near 100 %"),
    ],
)
def test_what_ends_where_no_sound_run_does_is_doubted(facts, doubt):
    words = [said for said, _ in health(facts).doubts]

    assert bool(words) is (doubt is not None)
    assert doubt is None or doubt in words[0]


@pytest.mark.parametrize(("over_guess", "doubted"), [(1.0, True), (0.85, True), (0.5, False), (None, False)])
def test_one_test_of_health_tells_a_loss_near_that_of_a_guess(over_guess, doubted):
    facts = {"signal.chance.classes": 10}
    if over_guess is not None:
        facts |= {
            "signal.chance.loss_over_uniform": over_guess,
            "signal.chance.training": over_guess > 0.97,
            "signal.chance.many_right": False,
        }
    found = health(facts)

    assert [test for test in found.ids if "chance" in test] == ["off-chance"] * doubted
    assert len([said for said in found.passed if "guess" in said]) == (over_guess == 0.5)


@pytest.mark.parametrize(
    ("rows", "ends", "status"),
    [
        (["Step 100/300 loss: 2.31", "Step 101/300 loss: 2.02", "Step 102/300 loss: 1.71"], "", "insufficient"),
        (["Epoch 1/300 loss: 2.31", "Epoch 2/300 loss: 2.02", "Epoch 3/300 loss: 1.71"], "", "insufficient"),
        (["Epoch 1/3 loss: 2.31", "Epoch 2/3 loss: 2.02", "Epoch 3/3 loss: 1.71"], "", "healthy"),
        (["Epoch 1/300 loss: 2.31", "Epoch 2/300 loss: 2.02", "Epoch 3/300 loss: 1.71"], "training finished", "healthy"),
        (["loss: 2.31", "loss: 2.02", "loss: 1.71"], "", "healthy"),
    ],
)  # fmt: skip
def test_rows_that_stop_in_the_middle_of_what_was_planned_are_not_called_healthy(
    tmp_path, rows, ends, status
):
    found = diagnose(tmp_path, "\n".join([*rows, ends, ""]))

    assert found.status == status
    assert ("with neither an end nor an error" in found.summary) is (status == "insufficient")


@pytest.mark.parametrize(("last", "doubted"), [(-25000.0, True), (-0.8, False)])
def test_a_loss_without_a_bottom_is_doubted_although_its_first_point_alone_is_above_zero(
    tmp_path, last, doubted
):
    falls = [0.7, *(last * (0.01 + 0.99 * epoch / 29) for epoch in range(1, 30))]

    assert ("below" in diagnose(tmp_path, short_run(falls)).summary) is doubted


@pytest.mark.parametrize(("last", "rises", "status"), [(-0.8, True, "healthy"), (-0.8, False, "insufficient"), (-40.0, True, "insufficient")])  # fmt: skip
def test_cross_entropy_less_an_overlap_may_fall_through_zero_while_the_overlap_rises(
    tmp_path, last, rises, status
):
    left = [0.8**epoch for epoch in range(30)]
    overlap = [0.85 * (1 - part) if rises else 0.2 + 0.01 * (n % 2) for n, part in enumerate(left)]
    rows = "".join(
        f"epoch: {n}\ntrain loss : {last + (0.1 - last) * left[n]:.4f}\nvalidation loss: {last + 0.05 + (0.1 - last) * left[n]:.4f}\n"
        f"Average global foreground Dice: [{overlap[n]:.4f}]\n"
        for n in range(30)
    )

    assert diagnose(tmp_path, rows).status == status


def test_a_fault_that_is_possible_forbids_healthy_although_the_reward_rises(tmp_path):
    rows = "".join(
        f"step {step}: rlhf_reward={2 + 0.3 * step:.2f} kl={1 + 2.2 * step:.2f} entropy={50 - 0.45 * step:.2f}\n"
        for step in range(100)
    )
    found = diagnose(tmp_path, rows + "training finished\n")
    mild = diagnose(tmp_path, "".join(re.sub(r"kl=\S+", "kl=2.5", row) for row in rows.splitlines(True)))

    assert found.status != "healthy"
    assert {finding.cause.id for finding in found.findings} & {"rl-kl-explosion", "rl-reward-hacking"}
    assert "rl-kl-explosion" not in {f.cause.id for f in mild.findings if f.probability >= REPORTED}


def test_a_training_that_got_nowhere_in_many_rows_is_not_called_healthy_because_it_ended(tmp_path):
    noise = random.Random(3)
    losses = "".join(f"step {step} loss {2.3 + abs(noise.gauss(0, 0.9)):.3f}\n" for step in range(60))

    assert diagnose(tmp_path, losses + "Training finished.\n").status == "insufficient"


@pytest.mark.parametrize(("course", "status"), [("straight", "insufficient"), ("bent", "healthy")])
def test_a_loss_that_falls_little_and_at_its_end_as_fast_as_at_first_is_doubted(tmp_path, course, status):
    dice = random.Random(3)
    left = [
        14 - 3.4 * n / 600 if course == "straight" else 14 - 3.4 * (1 - 2.7 ** (-n / 90)) for n in range(600)
    ]
    dx = diagnose(
        tmp_path, "".join(f"step {10 * n} loss {v + dice.gauss(0, 0.3):.4f}\n" for n, v in enumerate(left))
    )

    assert dx.status == status


def test_a_few_rows_that_end_far_above_the_first_ones_are_not_healthy_because_all_steps_were_made(tmp_path):
    def ended(losses):
        rows = [
            {"loss": value, "epoch": 0.5 * (at + 1), "step": 10 * (at + 1)} for at, value in enumerate(losses)
        ]
        state = {"log_history": rows, "global_step": 60, "max_steps": 60, "num_train_epochs": 3}
        (tmp_path / "trainer_state.json").write_text(json.dumps(state))
        return analyzer.diagnose(tmp_path).status

    assert ended([2.0, 3.4, 2.0, 3.5, 2.1, 3.4]) != "healthy"
    assert ended([1.31, 1.12, 1.05, 1.02, 1.0, 1.01]) == "healthy"


@pytest.mark.parametrize(("unit", "status"), [(1.0, "healthy"), (280.0, "insufficient")])
def test_an_accuracy_that_counts_answers_is_no_sign_of_health(tmp_path, unit, status):
    """Right answers were summed and never divided: the run may be sound, but what it is judged by is not."""
    rows = "".join(
        f"epoch {n} train_loss {1.1 * 0.8**n:.4f} val_loss {1.05 * 0.82**n + 0.1:.4f} val_acc {unit * (1 - 0.6 * 0.8**n):.4f}\n"
        for n in range(25)
    )

    assert diagnose(tmp_path, rows + "Training finished\n").status == status


@pytest.mark.parametrize(("end", "named"), [("", True), ("KeyboardInterrupt\n", False)])
def test_a_run_that_merely_stops_and_learned_nothing_names_what_others_turned_out_to_be(tmp_path, end, named):
    """Whoever pressed a key knows why; a log that stops says nothing, and its curves are all there is."""
    levels = [3.2, 2.1, *[1.95, 1.9, 1.97, 1.88] * 6]
    rows = "".join(
        f"2024-01-01 10:{n:02d}:00 INFO Epoch [{n}/150], Loss: {level:.4f}, train_acc: 0.15{n % 7}, val_loss: {level + 0.02:.4f}, val_acc: 0.15{n % 5}\n"
        for n, level in enumerate(levels, start=1)
    )
    dx = diagnose(tmp_path, rows + end)

    assert dx.status == "interrupted"
    assert any("likeness" in line.id for found in dx.findings for line in found.evidence) is named


def test_like_runs_that_were_sound_clear_of_an_accusation_and_those_that_were_not_withhold_health(
    tmp_path, monkeypatch
):
    def told(losses, sound):
        rows = "".join(f"epoch {n + 1} loss {t:.4f} val_loss {v:.4f}\n" for n, (t, v) in enumerate(losses))
        build = analyzer.pipeline.build_facts

        def with_share(*args):
            facts = build(*args)
            plain = {**facts.plain, "likeness.sound": sound}
            return Facts({**facts, "likeness.sound": FactValue(sound, ())}, plain)

        with monkeypatch.context() as patch:
            patch.setattr(analyzer.pipeline, "build_facts", with_share)
            return diagnose(tmp_path, rows)

    turned = [(0.8 + 2.0 * 0.9**n, 1.6 + 0.4 * 0.7**n + 0.006 * n) for n in range(30)]
    falling = [(0.8 + 2.0 * 0.9**n, 0.9 + 2.0 * 0.9**n) for n in range(30)]
    accused, cleared = told(turned, 0.1), told(turned, 0.99)

    assert (accused.status, cleared.status) == ("degraded", "insufficient")
    assert accused.findings[0].cause.id == "overfitting"
    assert any("99% were sound" in line.because for line in cleared.findings[0].speaks_against())
    assert told(falling, 0.8).status == "healthy"
    assert "with such numbers 70% had a fault" in told(falling, 0.3).summary


@pytest.mark.parametrize(
    ("last", "stopped"),
    [
        ("Starting training... (24 layers)", True),
        ("  Number of trainable parameters = 4,194,304", True),
        ("Epoch 1:   0%|          | 0/250 [00:00<?, ?it/s]", True),
        ("開始訓練 (20 epochs)", True),
        ("WARNING: tokenized 4,000 samples only", False),
    ],
)
def test_a_log_that_stops_where_training_begins_lacks_its_rest(tmp_path, last, stopped):
    lines = ["loading the data", "building the model", "learning rate: 0.001", "batch size: 32", last]
    dx = diagnose(tmp_path, "\n".join(lines) + "\n")

    assert ("log-truncated" in [finding.cause.id for finding in dx.findings]) == stopped
    assert dx.status == "insufficient"


@pytest.mark.parametrize(("epochs", "status"), [(240, "insufficient"), (60, "healthy")])
def test_four_rows_of_a_run_of_hundreds_of_epochs_tell_only_how_it_began(tmp_path, epochs, status):
    rows = [f"[Epoch 0][Batch {n}], CrossEntropy={18.2 - 1.1 * n:.3f}" for n in range(4)]
    dx = diagnose(tmp_path, f"Namespace(batch_size=32, epochs={epochs}, lr=0.001)\n" + "\n".join(rows) + "\n")

    assert dx.status == status
