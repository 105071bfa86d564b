"""The word for sound runs of kinds whose numbers move as faults do elsewhere, and for the look-alikes that are none."""

import math

import pytest

from analyzer import api
from analyzer.rules.status import outcome


def diagnose(tmp_path, text):
    log = tmp_path / "train.log"
    log.write_text(text)
    return api.diagnose(log)


def fold(heading, first=0):
    rows = "".join(
        f"step {step + first} loss {2.3 * math.exp(-step / 100) + 0.2 + step * 7 % 5 / 100:.4f}\n"
        for step in range(0, 400, 10)
    )
    return f"{heading}\n{rows}"


def test_folds_under_bare_headings_are_trainings_of_their_own(tmp_path):
    assert diagnose(tmp_path, "".join(fold(f"Fold {k}") for k in range(1, 6))).status == "healthy"


@pytest.mark.parametrize("heading", ["data fold 3 loaded", "Saved."])
def test_a_loss_that_swings_within_one_training_is_told(tmp_path, heading):
    text = "".join(fold(heading if k == 0 else "", 400 * k) for k in range(5))

    found = diagnose(tmp_path, text)

    assert found.status != "healthy"
    assert "oscillating-loss" in [finding.cause.id for finding in found.findings[:3]]


def clicks(auc, loss):
    return "".join(
        f"[epoch {at}] train logloss: {loss(at):.6f} | val logloss: {loss(at) + 0.002:.6f} | val AUC: {auc(at):.6f}\n"
        for at in range(1, 11)
    )


def slow(at):
    return 0.39 + 0.03 * math.exp(-at / 3)


def test_a_ranking_of_clicks_that_gains_two_points_steadily_has_learned(tmp_path):
    assert diagnose(tmp_path, clicks(lambda at: 0.79 - 0.03 * math.exp(-at / 3), slow)).status == "healthy"


@pytest.mark.parametrize(
    "auc",
    [
        lambda at: 0.768 + 0.012 * (at * 7 % 5 / 5),  # within its scatter
        lambda at: 0.79 - 0.004 * math.exp(-at / 3),  # less than a point
        lambda at: 0.505 + 0.002 * at,  # hardly better than a guess
        lambda at: 0.77 + 0.02 * math.exp(-at / 3),  # it loses
    ],
)
def test_a_ranking_that_gains_little_or_unsteadily_is_not_called_healthy(tmp_path, auc):
    assert diagnose(tmp_path, clicks(auc, slow)).status != "healthy"


def tuned(losses, scores):
    return "".join(
        f"epoch {at} train_loss: {0.6 * 0.5**at:.4f} val_loss: {loss:.4f} val_f1: {score:.4f}\n"
        for at, (loss, score) in enumerate(zip(losses, scores, strict=True))
    )


@pytest.mark.parametrize(
    ("losses", "scores", "status"),
    [
        ([0.35, 0.31, 0.36, 0.42], [0.84, 0.87, 0.88, 0.885], "healthy"),  # surer, and right more often
        ([0.35, 0.31, 0.44, 0.62], [0.84, 0.87, 0.88, 0.885], "degraded"),
        ([0.35, 0.31, 0.36, 0.42], [0.84, 0.87, 0.86, 0.84], "degraded"),
    ],
)
def test_a_short_fine_tuning_whose_score_still_rises_is_sound(tmp_path, losses, scores, status):
    assert diagnose(tmp_path, tuned(losses, scores)).status == status


@pytest.mark.parametrize(
    ("losses", "status"),
    [
        ([12.55, 11.81], "insufficient"),  # ten steps of a benchmark that ended as planned
        ([12.55, 7.4], "healthy"),
        ([12.55, 12.1, 11.81], "healthy"),
    ],
)
def test_two_losses_that_hardly_differ_say_nothing_even_if_the_run_ended_as_planned(tmp_path, losses, status):
    head = "[rank0]:[titan] 2026-05-19 15:04:4{} - root - INFO - "
    rows = "".join(
        f"{head.format(at)}step: {9 * at + 1:2d}  loss: {loss:8.5f}  grad_norm:  3.2500  memory: 60.99GiB(64.27%)  tps: 8,432\n"
        for at, loss in enumerate(losses)
    )
    end = f"{head.format(9)}Training completed\n"

    assert diagnose(tmp_path, rows + end).status == status


@pytest.mark.parametrize(
    ("losses", "status"), [([0.69, 0.66], "insufficient"), ([0.69, 0.6, 0.5], "healthy")]
)
def test_two_evaluations_without_a_training_loss_say_nothing_even_if_the_run_ended_as_planned(
    tmp_path, losses, status
):
    rows = "".join(
        f"{{'eval_loss': {loss}, 'eval_runtime': 9.5, 'epoch': {at + 1}.0}}\n"
        for at, loss in enumerate(losses)
    )
    end = "{'train_runtime': 95.5, 'train_samples_per_second': 10.5, 'epoch': 3.0}\n"

    assert diagnose(tmp_path, rows + end).status == status


def mixed(right, held_out):
    return "".join(
        f"Epoch {at}: train_loss {1.2 + 1.1 * math.exp(-at / 10):.4f} train_acc {right(at):.4f}"
        f" val_loss {0.35 + 1.8 * math.exp(-at / 10):.4f} val_acc {held_out(at):.4f}\n"
        for at in range(40)
    )


def hard(at):
    return 0.55 - 0.35 * math.exp(-at / 10)


@pytest.mark.parametrize(
    ("held_out", "status"),
    [
        (lambda at: 0.93 - 0.7 * math.exp(-at / 10), "healthy"),  # mixup
        (lambda at: 0.72 - 0.1 * math.exp(-at / 10), "insufficient"),  # right that often at once
        (lambda at: 0.93 - 0.7 * math.exp(-at / 10) - 0.006 * max(at - 20, 0), "insufficient"),  # it loses
    ],
)
def test_training_samples_that_are_made_hard_and_teach_the_easy_ones_are_sound(tmp_path, held_out, status):
    assert diagnose(tmp_path, mixed(hard, held_out)).status == status


@pytest.mark.parametrize(
    ("name", "fall", "status"),
    [
        ("contrastive loss", 1.6, "healthy"),
        ("info_nce_loss", 1.0, "healthy"),
        ("xent loss", 1.0, "insufficient"),  # cross-entropy of classes
        ("train loss", 1.0, "insufficient"),  # of what no name says, no floor is known
        ("contrastive loss", 0.2, "degraded"),  # hardly told apart
    ],
)
def test_a_loss_that_tells_pairs_apart_may_settle_far_above_zero(tmp_path, name, fall, status):
    rows = "".join(
        f"Epoch {at}: {name} {4.6 + fall * math.exp(-at / 8) + at * 7 % 5 / 500:.4f}\n"
        for at in range(1, 101)
    )

    assert diagnose(tmp_path, rows).status == status


@pytest.mark.parametrize(
    ("first", "last", "pace", "status"),
    [
        (0.70, 0.72, 1, "healthy"),  # a detector that is trained on
        (0.02, 0.04, 1, "insufficient"),  # one that began at random, and hardly moves
        (0.02, 0.04, 2, "insufficient"),  # its losses move, and it finds next to nothing
        (0.02, 0.34, 2, "healthy"),
        (0.72, 0.30, 1, "insufficient"),  # it lost what it knew
    ],
)
def test_a_detector_that_finds_half_at_once_was_trained_before(tmp_path, first, last, pace, status):
    rows = "".join(
        f"{at},{0.76 - 0.006 * pace * at:.4f},{0.52 - 0.006 * pace * at:.4f},{first + (last - first) * at / 15:.4f},"
        f"{0.9 - 0.003 * pace * at:.4f},{0.6 - 0.003 * pace * at:.4f}\n"
        for at in range(1, 16)
    )
    table = tmp_path / "results.csv"
    table.write_text(
        "epoch,train/box_loss,train/cls_loss,metrics/mAP50(B),val/box_loss,val/cls_loss\n" + rows
    )

    assert api.diagnose(table).status == status


def boosted(course, held_out, every=50):
    best = max if held_out(19) > held_out(0) else min
    rows = [(course(at), held_out(at), best(map(held_out, range(at + 1)))) for at in range(20)]
    return "".join(
        f"{every * at}:\tlearn: {learn:.7f}\ttest: {test:.7f}\tbest: {kept:.7f} (7)\ttotal: {at}s\tremaining: 9s\n"
        for at, (learn, test, kept) in enumerate(rows)
    )


@pytest.mark.parametrize("scale", [0.4, 0.8, 3.0])
def test_a_score_of_boosted_trees_that_rises_is_no_loss(tmp_path, scale):
    text = boosted(
        lambda at: 0.1 + scale * (1 - math.exp(-at / 5)),
        lambda at: 0.1 + 0.8 * scale * (1 - math.exp(-at / 5)),
    )
    assert diagnose(tmp_path, text).status not in {"failed", "degraded"}


def test_an_error_of_boosted_trees_is_their_loss(tmp_path):
    falls = boosted(lambda at: 0.3 + 0.5 * math.exp(-at / 5), lambda at: 0.4 + 0.4 * math.exp(-at / 5))
    assert diagnose(tmp_path, falls).status == "healthy"
    parts = boosted(lambda at: 0.02 + 0.5 * math.exp(-at / 3), lambda at: 0.4 + 0.02 * at)
    assert diagnose(tmp_path, parts).status != "healthy"


def test_a_table_of_boosted_trees_names_its_loss(tmp_path):
    log = tmp_path / "learn_error.tsv"
    log.write_text(
        "iter\tMultiClass\n" + "".join(f"{at}\t{0.4 + math.exp(-at / 9):.6f}\n" for at in range(60))
    )
    assert api.diagnose(log).status == "healthy"


@pytest.mark.parametrize(
    ("right", "healthy"),
    [
        (lambda at: 0.992 - 0.02 * math.exp(-at / 3), True),  # digits
        (lambda at: 0.971 + 0.0004 * (at * 7 % 5), False),  # as often as the commonest label
        (lambda at: 0.93 - 0.02 * math.exp(-at / 3), False),
        (lambda at: 0.99 - 0.002 * at, False),
    ],
)
def test_answers_that_are_nearly_all_right_show_without_a_loss_that_it_learned(tmp_path, right, healthy):
    text = "".join(
        f"Epoch {at} train_acc: {right(at) + 0.004:.4f} val_acc: {right(at):.4f}\n" for at in range(20)
    )
    assert (diagnose(tmp_path, text).status == "healthy") is healthy


def spiked(level, peaks, after=1.0):
    return "".join(
        f"step {10 * at} loss {peaks.get(at) or level(at) * (after if at > max(peaks) else 1.0):.4f}\n"
        for at in range(3000)
    )


def settled(at):
    return 0.0966 * (1 + (at * 37 % 19 - 9) / 60) + math.exp(-at / 6)


@pytest.mark.parametrize(("after", "named"), [(1.0, False), (2.4, True)])
def test_single_rows_that_leap_and_come_back_leave_no_dead_network(tmp_path, after, named):
    dx = diagnose(tmp_path, spiked(settled, {700: 8.6, 1500: 4.6, 2100: 5.9}, after))
    assert any(found.cause.id == "loss-divergence" for found in dx.findings) is named
    assert not any(found.cause.id == "dead-network" for found in dx.findings)


@pytest.mark.parametrize(("rival", "healthy"), [("", True), (" D/loss {:.3f}", False)])
def test_a_maker_without_a_judge_plays_against_nobody(tmp_path, rival, healthy):
    text = "".join(
        f"Iteration [{100 * at}/6000], G/loss: {0.2 + 2 * math.exp(-at / 12):.4f}{rival.format(0.6)}\n"
        for at in range(60)
    )
    assert (diagnose(tmp_path, text).status == "healthy") is healthy


CLOSED = "epoch,step,train_loss,val_loss,{}\n0,9,,0.61,\n0,9,0.72,,\n1,19,,0.42,\n1,19,0.45,,\n"


@pytest.mark.parametrize(
    ("name", "end", "state"),
    [
        ("test_loss", "1,20,,,0.43\n", "completed"),
        ("train_runtime", "1,20,,,93.5\n", "completed"),
        ("test_loss", "", "unknown"),
        ("test_loss", "1,19,,,0.43\n1,19,,,0.44\n", "unknown"),  # it tests as it goes
        ("lr", "1,20,,,0.001\n", "unknown"),
    ],
)
def test_what_a_trainer_writes_once_behind_its_rows_is_its_end(tmp_path, name, end, state):
    log = tmp_path / "metrics.csv"
    log.write_text(CLOSED.format(name) + end)
    assert api.diagnose(log).ended.state == state


@pytest.mark.parametrize(("gain", "healthy"), [(2.0, True), (0.4, False), (-2.0, False)])
def test_a_ratio_of_signal_to_noise_that_gains_two_decibels_has_learned(tmp_path, gain, healthy):
    text = "".join(
        f"INFO: <epoch:{at}, iter: {500 * at}> psnr: {30 + gain * (1 - math.exp(-at / 3)) + at % 3 / 50:.4f}\n"
        for at in range(1, 17)
    )

    assert (diagnose(tmp_path, text).status == "healthy") is healthy


@pytest.mark.parametrize("right", [True, False])
def test_a_loss_of_zero_is_no_failure_where_all_held_out_answers_are_right(right):
    facts = {"signal.exact.loss_zero": True, "signal.exact.zero_and_right": right}

    assert bool(outcome(facts).failed) is not right


@pytest.mark.parametrize("gained", [0.9, 0.1])
def test_a_loss_that_prints_zero_is_no_failure_where_most_of_the_held_out_loss_went(gained):
    facts = {
        "signal.loss_zero.sudden": True,
        "signal.gap.held_out_gained": gained,
        "signal.exact.all_finite": True,
    }

    assert bool(outcome(facts).failed) is (gained < 0.5)


def course(row, rows=60):
    return "".join(
        row.format(at=at, loss=0.4 + 1.9 * math.exp(-at / 15) + 0.02 * (at * 7 % 5)) for at in range(rows)
    )


@pytest.mark.parametrize(
    ("row", "healthy"),
    [
        ("step {at} loss {loss:.4f}\n", True),
        (
            "step {at} loss {loss:.4f}\n[stage two loss 49.5 (real loss 0.0, fake loss 100.0)], [its rate 0.09]\n",
            False,
        ),
    ],
)
def test_a_log_of_which_a_good_part_was_not_read_is_not_called_healthy(tmp_path, row, healthy):
    assert (diagnose(tmp_path, course(row)).status == "healthy") is healthy


@pytest.mark.parametrize("every", [0, 4])
def test_a_loss_that_is_nothing_time_and_again_is_not_called_healthy(tmp_path, every):
    rows = course("step {at} loss {loss:.4f}\n").splitlines()
    shown = [f"step {at} loss 0.0" if every and at % every == 0 else row for at, row in enumerate(rows)]

    assert (diagnose(tmp_path, "\n".join(shown) + "\n").status == "healthy") is (every == 0)


@pytest.mark.parametrize(("last", "healthy"), [(60, True), (1, False)])
def test_a_part_of_the_loss_that_is_gone_after_its_first_row_withholds_healthy(tmp_path, last, healthy):
    rows = course("step {at} loss {loss:.4f} edge_loss\n").splitlines()
    shown = "".join(
        f"{row} {0.2 + 0.5 * math.exp(-at / 15) if at < last else 0.0:.4f}\n" for at, row in enumerate(rows)
    )

    assert (diagnose(tmp_path, shown).status == "healthy") is healthy


@pytest.mark.parametrize(("scale", "healthy"), [(1.0, True), (0.002, False)])
def test_a_detector_that_finds_next_to_nothing_to_the_end_is_not_called_healthy(tmp_path, scale, healthy):
    rows = [
        f"epoch {at} loss {2.0 + 6 * math.exp(-at / 5):.3f} val_loss {2.2 + 6 * math.exp(-at / 5):.3f} val_mAP {scale * (0.5 - 0.5 * math.exp(-at / 5)):.5f}"
        for at in range(1, 21)
    ]

    assert (diagnose(tmp_path, "\n".join(rows) + "\n").status == "healthy") is healthy


def test_a_healthy_run_is_not_told_what_would_tell_more_of_a_fault(tmp_path):
    rows = "".join(
        f"step {at} reward {200 - 190 * math.exp(-at / 12):.3f} loss {0.01 + at / 15 + at * 7 % 5 / 10:.4f}\n"
        for at in range(40)
    )
    found = diagnose(tmp_path, rows)

    assert found.status == "healthy"
    assert "metric-not-logged" not in [finding.cause.id for finding in found.findings]


@pytest.mark.parametrize(
    ("last", "healthy"), [((0.27, 0.89), True), ((0.39, 0.87), False), ((0.39, 0.9), True)]
)
def test_held_out_data_that_lost_more_than_they_gained_withhold_healthy(tmp_path, last, healthy):
    rows = [(0.44, 0.31, 0.86), (0.25, 0.28, 0.885), (0.13, *last)]
    text = "".join(f"epoch {at} loss {a} val_loss {b} val_acc {c}\n" for at, (a, b, c) in enumerate(rows, 1))

    assert (diagnose(tmp_path, text).status == "healthy") is healthy
