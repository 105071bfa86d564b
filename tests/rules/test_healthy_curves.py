"""Noise is no fault: healthy curves of many shapes must not be accused of anything."""

from __future__ import annotations

import numpy as np
import pytest
from make_run import RunMaker

from analyzer import diagnose
from analyzer.rules.health import health
from analyzer.rules.load import load_rules
from analyzer.rules.score import rank

REPORTED = 0.3


def pretraining(t, rng):
    return (2.5 + 8.0 * np.exp(-20.0 * t) + np.exp(-3.0 * t)) * np.exp(0.02 * rng.standard_normal(t.size))


def step_decay(t, rng):
    level = np.where(t < 0.3, 2.3 * np.exp(-3.0 * t) + 0.8, np.where(t < 0.6, 0.55, 0.4))
    return level * np.exp(0.08 * rng.standard_normal(t.size))


def fine_tuning(t, rng):
    return (1.1 + 0.9 * np.exp(-6.0 * t)) * np.exp(0.2 * rng.standard_normal(t.size))


def converged_start(t, rng):
    return rng.uniform(0.4, 2.4) * np.exp(0.1 * rng.standard_normal(t.size))


def image_classifier(t, rng):
    return (4.6 * np.exp(-5.0 * t) + 0.02) * np.exp(0.1 * rng.standard_normal(t.size))


def adversarial(t, rng):
    return 0.7 + 0.5 * rng.standard_normal(t.size) ** 2


def heavy_tails(t, rng):
    return (1.5 * np.exp(-t) + 0.2) * np.exp(0.5 * rng.standard_t(3, t.size))


def regression(t, rng):
    return (0.5 * np.exp(-4.0 * t) + 1e-4) * np.exp(0.3 * rng.standard_normal(t.size))


def policy(t, rng):
    return 0.02 * rng.standard_normal(t.size)


SHAPES = (
    pretraining, step_decay, fine_tuning, converged_start, image_classifier, adversarial, heavy_tails, regression, policy,
)  # fmt: skip


def healthy_run(shape, seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(25, 600))
    t = np.linspace(0.0, 1.0, count)
    rate = 1e-4 * np.minimum(t / 0.05, 1.0) * 0.5 * (1.0 + np.cos(np.pi * t))
    columns = {"loss": shape(t, rng), "learning_rate": np.maximum(rate, 0.0)}
    if shape is policy:
        columns["reward"] = -200.0 * np.exp(-3.0 * t) + 20.0 * rng.standard_normal(count)
    if rng.random() < 0.7:
        columns["grad_norm"] = np.exp(0.3 * rng.standard_normal(count)) * (0.3 + rng.uniform(0.0, 1.2) * t)
    if rng.random() < 0.3:
        columns["weight_norm"] = 20.0 + 10.0 * t
    if rng.random() < 0.3:
        columns["epoch"] = t * rng.integers(1, 4)
    maker = RunMaker("hf-trainer").log(columns, every=int(rng.choice([1, 10, 100])))
    if rng.random() < 0.5 and shape in {pretraining, fine_tuning, image_classifier}:
        evaluations = int(rng.integers(3, 30))
        clean = np.interp(np.linspace(0.0, 1.0, evaluations), t, np.minimum.accumulate(columns["loss"]))
        loss = (clean + 0.05) * np.exp(0.01 * rng.standard_normal(evaluations))
        maker.log({"eval_loss": loss}, first=count // evaluations, every=max(count // evaluations, 1))
    if rng.random() < 0.5:
        maker.config(
            learning_rate=1e-4,
            max_grad_norm=float(rng.choice([0.0, 1.0])),
            max_steps=count,
            lr_scheduler_type="cosine",
        )
    return maker


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_healthy_curves_are_not_accused(shape):
    rules = load_rules().rules
    for seed in range(12):
        ranking = rank(rules, healthy_run(shape, seed).plain())
        accused = [
            (items[0].rule.slug, round(items[0].probability, 2))
            for items in ranking.kinds.values()
            if items[0].probability >= REPORTED and items[0].rule.severity != "advisory"
        ]
        assert not accused, f"seed {seed}: {accused}"


def _epochs(folder, accuracies):
    losses = 0.55 + 0.4 * np.exp(-np.arange(len(accuracies)) / 4)
    rows = [
        f'{{"epoch": {i + 1}, "train_loss": {loss:.4f}, "val_loss": {loss + 0.01:.4f}, "val_acc": {right:.4f}}}'
        for i, (loss, right) in enumerate(zip(losses, accuracies, strict=True))
    ]
    (folder / "log.jsonl").write_text("\n".join(rows) + "\n")
    return diagnose(folder)


def test_a_loss_that_falls_is_not_health_where_answers_hardly_get_better(tmp_path):
    gains, stands = tmp_path / "gains", tmp_path / "stands"
    for folder in (gains, stands):
        folder.mkdir()
    few = _epochs(stands, np.linspace(0.55, 0.58, 14))

    assert _epochs(gains, np.linspace(0.55, 0.86, 14)).status == "healthy"
    assert few.status == "insufficient"
    assert "0.58 are right at best" in few.summary


def test_a_loss_that_smoothed_labels_hold_up_is_no_doubt_and_one_at_the_floor_of_bounded_outputs_is(tmp_path):
    def judged(name, end):
        (tmp_path / name).mkdir()
        losses = end + (2.303 - end) * np.exp(-0.45 * np.arange(20))
        right = 0.97 - 0.87 * np.exp(-0.5 * np.arange(20))
        rows = [
            f'{{"epoch": {i}, "train_loss": {x:.4f}, "test_loss": {x - 0.01:.4f}, "test_acc1": {100 * share:.2f}}}'
            for i, (x, share) in enumerate(zip(losses, right, strict=True))
        ]
        (tmp_path / name / "log.jsonl").write_text("\n".join(rows) + "\n")
        return diagnose(tmp_path / name)

    assert (
        judged("smoothed", 0.63).status == "healthy"
    )  # ten classes, a tenth of each label spread over all: 0.5 at least
    assert judged("bounded", 1.5).status != "healthy"  # no output between 0 and 1 costs less than 1.46


def test_batches_that_swing_are_no_doubt_where_held_out_loss_falls(tmp_path):
    noise = np.exp(0.8 * np.random.default_rng(3).standard_normal(240))
    level = 0.3 + 0.9 * np.exp(-np.arange(240) / 60)

    def judged(name, held_out):
        (tmp_path / name).mkdir()
        rows = [f'{{"step": {i}, "loss": {x:.4f}}}' for i, x in enumerate(level * noise, 1)]
        rows += [f'{{"step": {20 * i}, "eval_loss": {x:.4f}}}' for i, x in enumerate(held_out, 1)]
        (tmp_path / name / "log.jsonl").write_text("\n".join(rows) + "\n")
        return diagnose(tmp_path / name)

    assert judged("falls", level[19::20]).status == "healthy"
    assert judged("stands", np.full(12, 1.0) + 0.01 * np.arange(12) % 0.03).status != "healthy"


def test_a_loss_in_raw_units_or_one_that_settled_early_is_no_proof_of_health(tmp_path):
    def judged(name, losses):
        (tmp_path / name).mkdir()
        rows = [f'{{"epoch": {i}, "train_loss": {x:.5g}}}' for i, x in enumerate(losses, 1)]
        (tmp_path / name / "log.jsonl").write_text("\n".join(rows) + "\n")
        return diagnose(tmp_path / name)

    course = np.exp(-np.arange(14) / 2)
    early = judged("early", 0.8 + 0.5 * course)

    assert judged("low", 0.1 + 1.2 * course).status == "healthy"
    assert early.status == "insufficient"
    assert "a score on held-out data" in early.summary
    assert judged("raw", 6e4 + 4e4 * np.linspace(1, 0, 14)).status == "insufficient"
    assert judged("raw, learned", 2e3 + 4e4 * course).status == "healthy"


def test_texts_known_by_heart_and_held_out_losses_that_lost_their_gain_are_no_health():
    texts = {
        "signal.progress.last": 0.02, "signal.progress.score_points": 0, "run.rl": False,
        "config.model.vocab_size": 32000, "config.train.epochs": 20.0,
    }  # fmt: skip
    parted = {
        "signal.gap.opened": True,
        "signal.gap.last_ratio": 4.5,
        "signal.progress.score_points": 0,
        "signal.gap.right": 0.0,
    }
    far = {**parted, "signal.generalisation.worse_than_best": 3.4}
    learned = {
        "signal.gap.never_generalised": True,
        "signal.progress.fall_share": 0.7,
        "signal.gap.right": 0.0,
    }

    assert "more-than-by-heart" in health(texts).ids
    for one in ({"config.train.epochs": 2.0}, {"signal.progress.last": 0.4}, {"config.model.vocab_size": 10}):
        assert "more-than-by-heart" not in health({**texts, **one}).ids
    assert "gap-closed" in health(far).ids
    assert "gap-closed" not in health({**far, "signal.generalisation.worse_than_best": 1.2}).ids
    # A task that is solved long after its loss has parted: the answers count.
    solved = {"signal.progress.score_points": 40, "signal.gap.score_last": 0.0, "signal.gap.last_ratio": 9.0}
    assert "gap-closed" not in health({**far, **solved}).ids
    assert "agrees" in health(learned).ids
    assert "agrees" not in health({**learned, "signal.progress.fall_share": 0.2}).ids


@pytest.mark.parametrize(
    ("lost", "gained", "loss_gained", "doubted"),
    [
        (0.045, 0.035, 0.036, True),  # nearer to where it began than to its best
        (0.01, 0.035, 0.036, False),
        (0.045, 0.035, 0.4, False),  # a score of few samples scatters while the loss falls by two fifths
        (0.001, 0.0, None, None),  # no held-out loss beside it
    ],
)
def test_a_held_out_score_that_gives_back_more_than_it_gained_is_not_called_healthy(
    lost, gained, loss_gained, doubted
):
    facts = {
        "signal.generalisation.accuracy_points": 39,
        "signal.generalisation.accuracy_best": 0.905,
        "signal.generalisation.accuracy_lost": lost,
        "signal.generalisation.accuracy_gained": gained,
        "signal.gap.held_out_gained": loss_gained,
    }

    assert ("answers-gain" in health(facts).ids) is bool(doubted)


def test_answers_that_cost_many_times_a_guess_at_first_are_a_doubt_also_where_few_are_right(tmp_path):
    def ended(first):
        losses = [first, *[2.2 + first * 0.1 * 0.7**n for n in range(30)]]
        rows = [f"{n},{loss},{0.1 + 0.008 * n}\n" for n, loss in enumerate(losses)]
        (tmp_path / "log.csv").write_text("epoch,loss,accuracy\n" + "".join(rows))
        return diagnose(tmp_path).status

    assert ended(298.0) != "healthy"


def test_a_lone_test_far_from_training_is_not_passed_over():
    tested = {
        "signal.eval.points": 1,
        "signal.eval.loss_last": 1.25,
        "signal.loss.last": 0.125,
        "signal.generalisation.accuracy_gap": 0.2,
    }
    assert "lone-test-near-training" in health(tested).ids
    near = (
        {"signal.eval.loss_last": 0.5},
        {"signal.generalisation.accuracy_gap": 0.05},
        {"signal.eval.points": 8},
    )
    for one in near:
        assert "lone-test-near-training" not in health({**tested, **one}).ids
