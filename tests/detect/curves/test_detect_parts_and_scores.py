"""Losses that were logged in parts, several trainings in one log, and scores beside the evaluation loss."""

from __future__ import annotations

import numpy as np
import pytest
from courses_by_row import by_epoch
from make_run import NAN, RunMaker, falling

from analyzer.model.tables import NULL_INT

TRAIN = falling(60, 2.0, 0.3)


class TestParts:
    def test_the_sum_of_the_parts_is_the_loss(self):
        parts = {"train/box_loss": [1.5, 1.0], "train/cls_loss": [2.0, 1.0], "train/dfl_loss": [1.0, 0.5]}
        facts = RunMaker().log(parts, steps=None).plain()

        assert facts["signal.loss.first"] == 4.5
        assert facts["signal.loss.last"] == 2.5

    def test_held_out_parts_too(self):
        facts = RunMaker().log({"val/box_loss": [1.0, 0.5], "val/obj_loss": [1.0, 0.25]}, steps=None).plain()

        assert facts["signal.eval.loss_last"] == 0.75

    @pytest.mark.parametrize(
        "rows",
        [
            {"train/box_loss": [1.5, 1.0]},
            {"train/policy_loss": [1.5, 1.0], "train/value_loss": [2.0, 1.0]},
            {"train/g_loss": [1.5, 1.0], "train/d_loss": [2.0, 1.0]},
        ],
    )
    def test_other_parts_make_no_sum(self, rows):
        assert "signal.loss.last" not in RunMaker().log(rows, steps=None).plain()

    def test_parts_of_any_name_are_summed_where_every_row_holds_them_all(self):
        rows = {"loss_x": [1.5, 1.0, 0.5], "loss_t": [2.0, 1.0, 0.5]}
        known = RunMaker().log(rows).plain()
        apart = RunMaker().log({"loss_x": rows["loss_x"]}).log({"loss_t": rows["loss_t"]}, every=7).plain()
        often = RunMaker().log(rows).log({"bag_loss": [9.0, 8.0, 7.0, 6.0]}, every=7).plain()

        assert known["signal.loss.last"] == 1.0
        assert "signal.loss.last" not in apart
        assert often["signal.loss.last"] == 6.0

    def test_parts_in_a_block_of_lines_are_those_of_one_step(self):
        rows = {"heat_loss": [1.2, 1.9, 2.6], "vector_loss": [3.0, 4.5, 6.9]}
        maker = RunMaker().log({"heat_loss": rows["heat_loss"]}, lines=[2, 6, 10])
        known = maker.log({"vector_loss": rows["vector_loss"]}, lines=[3, 7, 11]).plain()

        assert known["signal.loss.last"] == pytest.approx(9.5)

    def test_a_part_that_is_not_a_number_makes_the_sum_none(self):
        rows = {"heatmap_loss": [1.5, 1.0, NAN, NAN], "offset_loss": [2.0, 1.0, 0.5, 0.5]}

        assert RunMaker().log(rows).plain()["signal.nonfinite_loss.persists"] is True

    def test_a_total_that_was_logged_is_the_loss(self):
        rows = {"box_loss": [1.5, 1.0], "cls_loss": [2.0, 1.0], "loss": [9.0, 8.0]}

        assert RunMaker().log(rows, steps=None).plain()["signal.loss.last"] == 8.0


class TestSeveralTrainings:
    def run(self, *lengths):
        losses = np.concatenate([falling(length, 4.0, 1.0 + number) for number, length in enumerate(lengths)])
        maker = RunMaker().log({"loss": losses, "eval_loss": losses * 1.1}, steps=None)
        at = 0
        for length in lengths[:-1]:
            at += length
            maker.event("training_begins_again", line=10 * (at + 1), role="info")
        return maker.plain()

    def test_the_last_one_is_judged_alone(self):
        facts = self.run(20, 30, 10)

        assert facts["signal.loss.points"] == 10
        assert facts["signal.eval.points"] == 10

    def test_a_stage_without_steps_is_not_gone_on_with_by_one_that_counts_them(self):
        first, second = [0.08 * 0.8**i for i in range(10)], [900.0 * 0.7**i for i in range(10)]
        maker = RunMaker().log({"loss": first}, steps=None)
        maker.log(
            {"loss": second},
            steps=[100 * (i + 1) for i in range(10)],
            lines=[10 * (i + 11) for i in range(10)],
        )

        facts = maker.event("training_begins_again", line=110, role="info").plain()

        assert (facts["run.trainings"], facts["signal.loss.first"]) == (2, 900.0)

    def test_one_that_has_only_begun_says_nothing_yet(self):
        facts = self.run(20, 30, 3)

        assert facts["signal.loss.points"] == 30
        assert (facts["run.trainings"], facts["run.training_judged"]) == (3, 2)


class TestScores:
    def facts(self, name, scores):
        return RunMaker().log({"loss": TRAIN}).log({name: scores}, first=10, every=10).plain()

    @pytest.mark.parametrize(
        ("name", "scores", "kept"),
        [
            ("eval_wer", [14.0, 12.0, 11.0, 10.5, 10.4, 10.2], True),
            ("metrics/mAP50(B)", [0.2, 0.5, 0.7, 0.8, 0.81, 0.805], True),
            ("eval_accuracy", [0.5, 0.8, 0.9, 0.7, 0.6, 0.6], False),
            ("eval_cer", [14.0, 9.0, 8.0, 11.0, 12.0, 12.0], False),
        ],
    )
    def test_whether_the_best_score_stands_at_the_end(self, name, scores, kept):
        assert self.facts(name, scores)["signal.generalisation.score_kept"] is kept

    @pytest.mark.parametrize(
        ("name", "scores"),
        [
            ("eval_accuracy", [0.5] * 6),  # it gained nothing, so nothing was kept
            ("eval_wer", [14.0, 12.0]),
            ("train/f1", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
        ],
    )
    def test_nothing_is_said_without_a_gain_or_of_other_data(self, name, scores):
        assert "signal.generalisation.score_kept" not in self.facts(name, scores)


def test_a_scalar_that_is_not_finite_is_the_loss_only_where_no_loss_is_logged():
    alone = RunMaker().event("nonfinite_scalar_message", line=5, role="symptom").plain()
    beside = RunMaker().log({"loss": TRAIN}).event("nonfinite_scalar_message", line=5, role="symptom").plain()

    assert alone["signal.nonfinite_loss.seen"] is True
    assert beside["signal.nonfinite_loss.seen"] is False


def test_a_program_that_could_not_be_read_ended_an_earlier_launch():
    maker = RunMaker()
    maker.event(
        "python_traceback", line=9, role="root_candidate", exception="IndentationError", message="unindent"
    )
    maker.event("disk_full", line=40, role="root_candidate")
    facts = maker.plain()

    assert facts["failure.first.kind"] == "disk_full"
    assert facts["failure.survived"] == 1


def test_a_row_without_a_step_among_others_is_no_restart():
    losses = [*falling(30, 8.0, 1.0), *falling(30, 1.0, 0.5)]
    steps = [*range(1, 31), NULL_INT, *range(31, 60)]
    facts = RunMaker().log({"loss": losses}, steps=steps).plain()

    assert facts["signal.loss.points"] == 60
    assert "signal.resume.count" not in facts


ROUNDS = range(24)
MEAN, ROAD = [0.75 - 0.4 * 0.85**i for i in ROUNDS], [0.93 - 0.3 * 0.8**i for i in ROUNDS]


@pytest.mark.parametrize(
    ("pole", "stands"),
    [
        ([0.11 + 0.01 * (i % 2) for i in ROUNDS], True),
        ([0.55 - 0.45 * 0.87**i for i in ROUNDS], False),
        ([0.28 - 0.18 * 0.9**i for i in ROUNDS], False),  # low, and on its way
    ],
)
def test_one_class_whose_overlap_stands_low_while_the_mean_is_fine(pole, stands):
    scores = {"mIoU": MEAN, "IoU_road": ROAD, "IoU_pole": pole}
    facts = RunMaker().log({"loss": falling(24, 1.4, 0.2), **scores}).plain()

    assert facts["signal.last.class_stands"] is stands
    assert facts.get("signal.last.class_stands_name") == ("IoU_pole" if stands else None)


@pytest.mark.parametrize(
    ("precision", "stands"),
    [
        ([0.121 + 0.004 * (i % 3) / 2 for i in range(20)], True),
        ([0.42 - 0.3 * 0.85**i for i in range(20)], False),
        ([0.02 + 0.0015 * i for i in range(20)], False),  # little, and twice as much as at first
    ],
)
def test_a_precision_of_boxes_that_stands_while_the_loss_halves(precision, stands):
    facts = RunMaker().log({"loss": falling(20, 3.0, 0.4), "AP": precision}).plain()

    assert facts["signal.score.stands_while_loss_falls"] is stands


@pytest.mark.parametrize(
    ("falls", "rises", "traded"),
    [("mask_loss", "box_loss", True), ("loss_pde", "loss_bc", True), ("distill_loss", "task_loss", None)],
)
def test_a_part_that_doubles_while_others_fall_unless_a_teacher_is_followed(falls, rises, traded):
    parts = {falls: [3 * 0.88**i + 0.2 for i in ROUNDS], rises: [0.3 + 0.03 * i for i in ROUNDS]}
    whole = [sum(values) for values in zip(*parts.values(), strict=True)]
    facts = RunMaker().log({"loss": whole, **parts}).plain()

    assert facts.get("signal.data.part_traded") is traded


LEARNED_FAST = [2.08, 0.9, 0.4, 0.25, 0.2, 0.17, 0.15, 0.14, 0.13, 0.12, 0.12, 0.11]


@pytest.mark.parametrize(("right", "told"), [(0.98, None), (0.3, True)])
def test_a_model_that_knows_most_at_the_first_evaluation_was_no_untrained_one(right, told):
    known = by_epoch(LEARNED_FAST, eval_loss=[2.4 + n / 20 for n in range(12)], eval_accuracy=[right] * 12)

    assert known.get("signal.gap.never_below_start") is told


def test_five_answers_among_five_classes_are_right_whatever_was_learned():
    course = {"loss": [1.4, 1.0, *[0.9] * 8], "top5_err": [0.0] * 10}
    five_ways = RunMaker().log({**course, "top1_err": [60.0, 40.0, *[20.0] * 8]}).plain()
    alone = RunMaker().log(course).plain()

    assert not five_ways.get("signal.score.perfect_at_once")
    assert alone["signal.score.perfect_at_once"] is True
