"""A launch that began anew within one log, against spikes, explosions and bad rows that look like it."""

from __future__ import annotations

from courses_by_row import by_epoch, facts
from make_run import RunMaker


def test_a_course_that_begins_anew_is_told_from_a_spike():
    course = [2.3, 1.6, 1.1, 0.8, 0.6, 0.5]
    anew = by_epoch([*course, *course, 0.45])
    spike = by_epoch([*course, 2.3, 0.5, 0.45, 0.4, 0.38, 0.36, 0.35])
    broke = by_epoch([*course, 1.95, 1.91, 1.90, 1.91, 1.93, 1.9])  # three rows fall by their scatter
    norms = [0.9, 0.8, 0.6, 0.5, 0.4, 0.4]
    same_gradients = by_epoch([*course, *course, 0.45], grad_norm=[*norms, *norms, 0.4])
    thrown = by_epoch([*course, *course, 0.45], grad_norm=[*norms, 13.0, *norms[1:], 0.4])

    assert same_gradients["signal.progress.began_anew"] is True
    assert thrown["signal.progress.began_anew"] is False
    assert broke["signal.progress.began_anew"] is False
    assert anew["signal.progress.began_anew"] is True
    assert spike["signal.progress.began_anew"] is False
    assert "signal.progress.began_anew" not in by_epoch([*course, *course])  # one log, twice


def test_epochs_that_are_counted_from_the_first_again_are_of_another_launch():
    course = [2.3, 1.6, 1.1, 0.8, 0.6, 0.5]
    losses = [*course, *course, 0.45]
    appended = facts({"loss": losses, "epoch": [*range(6), *range(7)]})

    assert appended["signal.progress.epochs_began_anew"] is True
    assert by_epoch(losses)["signal.progress.epochs_began_anew"] is False
    assert "signal.progress.epochs_began_anew" not in by_epoch(course)


def test_training_that_begins_anew_repeats_its_first_rows():
    start = [1.68, 0.58, 0.21, 0.25, 0.12, 0.15, 0.09, 0.12]
    lost = facts({"loss": [*start, 0.05, 0.1, 0.06, *start, 0.07, 0.05]})
    spike = facts({"loss": [*start, 0.05, 0.1, 0.06, 1.6, 0.1, 0.08, 0.07, 0.09, 0.05, 0.06, 0.05, 0.06]})
    swings = facts({"loss": [237.0, 196.0, 136.0, 152.0, 191.0, 172.0, 114.0, 80.0, 62.0, 39.0]})

    assert lost["signal.progress.began_anew"] is True
    assert spike["signal.progress.began_anew"] is False
    assert swings["signal.progress.began_anew"] is False


def test_a_spike_that_takes_three_rows_to_go_is_no_training_begun_anew():
    slow = [0.72, 0.7, 0.69, 0.69, 0.65, 0.6, 0.48, 0.44]
    spike = by_epoch([*slow, 0.75, 0.53, 0.5, 0.41, 0.4, 0.39, 0.38, 0.37, 0.36, 0.35])
    again = by_epoch([*slow, *slow, 0.42, 0.4])

    assert spike["signal.progress.began_anew"] is False
    assert again["signal.progress.began_anew"] is True


def test_a_leap_that_held_out_loss_does_not_share_is_bad_rows_and_no_training_begun_anew():
    course = [3.5, 2.8, 2.5, 2.3, 3.8, 2.8, 2.2, 2.1]
    kept = by_epoch(course, eval_loss=[3.3, 2.7, 2.4, 2.2, 2.6, 2.3, 2.2, 2.1])
    lost = by_epoch(course, eval_loss=[3.3, 2.7, 2.4, 2.2, 3.3, 2.7, 2.4, 2.2])

    assert kept["signal.progress.began_anew"] is False
    assert lost["signal.progress.began_anew"] is True


def test_a_leap_of_the_first_updates_of_a_long_log_is_no_training_begun_anew():
    stroke = [1.7, 0.33, 0.38, 0.21, 0.2, 0.32, 0.31, 2.1, 1.1, 0.6, 0.45, 0.4, 0.38, 0.36]
    settled = [0.3 - 0.0002 * row for row in range(600)]

    assert by_epoch([*stroke, *settled[:60]])["signal.progress.began_anew"] is True
    assert by_epoch([*stroke, *settled])["signal.progress.began_anew"] is False


def test_held_out_and_training_loss_that_leap_back_together_were_learned_twice():
    train = [0.9, 0.6, 0.93, 0.62, 0.45, 0.35, 0.3]
    lost = by_epoch(train, eval_loss=[0.7, 0.5, 0.7, 0.52, 0.4, 0.34, 0.31])
    hard_evaluation = by_epoch(
        [0.9, 0.6, 0.5, 0.43, 0.38, 0.35, 0.3], eval_loss=[0.7, 0.5, 0.72, 0.52, 0.4, 0.34, 0.31]
    )
    restarted_rate = by_epoch(
        [0.9, 0.6, 0.5, 0.66, 0.45, 0.35, 0.3], eval_loss=[0.7, 0.5, 0.42, 0.55, 0.4, 0.34, 0.31]
    )
    bad_rows = by_epoch(train, eval_loss=[0.7, 0.5, 0.53, 0.48, 0.4, 0.34, 0.31])

    assert lost["signal.gap.back_at_first"] is True
    assert hard_evaluation["signal.gap.back_at_first"] is False
    assert restarted_rate["signal.gap.back_at_first"] is False
    assert bad_rows["signal.gap.back_at_first"] is False


def test_what_was_lost_between_two_evaluations_shows_in_the_rows_between_them():
    rows = [
        2.3,
        1.2,
        0.9,
        0.8,
        0.5,
        0.4,
        0.3,
        0.25,
        1.6,
        1.2,
        0.9,
        0.7,
        0.4,
        0.3,
        0.25,
        0.2,
        0.2,
        0.19,
        0.18,
        0.17,
    ]
    run = RunMaker("lightning").log({"loss": rows})
    run.log({"eval_loss": [0.9, 0.4, 0.95, 0.35, 0.2]}, first=3, every=4)

    assert run.plain()["signal.gap.back_at_first"] is True


def test_jobs_one_below_the_other_do_not_run_away_where_the_last_one_learns():
    first = [90.0, 52.0, 33.0, 25.0, 19.0, 15.0, 12.0, 9.0, 8.0, 7.5, 7.0, 6.5]
    steps = [*range(1, 13), *range(1, 11)]
    learns = [84.0, 80.0, 69.0, 61.0, 50.0, 41.0, 36.0, 33.0, 31.0, 30.0]
    stands = [84.0, 80.0, 83.0, 82.0, 79.0, 83.0, 81.0, 80.0, 82.0, 81.0]
    others = (RunMaker().log({"loss": [*first, *last]}, steps=steps).plain() for last in (learns, stands))
    again, broke = (found.get("signal.progress.rose_and_stays") for found in others)

    assert again is not True
    assert broke is True
