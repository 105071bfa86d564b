"""Each test of health that lets a sound run pass beside the faulty run, like it but for one thing, that it must not."""

from __future__ import annotations

import pytest

from analyzer.errors import RuleError
from analyzer.facts.catalog import spec_of
from analyzer.rules.health import health, health_tests, read_tests
from analyzer.rules.template import holes
from analyzer.vocabulary.marked import load_marked

SURE_OF_ALL = {
    "signal.gap.opened": True,
    "signal.gap.last_ratio": 40.0,
    "signal.eval.loss_first": 1.3,
    "signal.eval.loss_last": 0.3,
    "signal.eval.loss_best": 0.3,
    "signal.progress.score_points": 0,
    "signal.generalisation.worse_than_best": 1.0,
    "signal.gap.held_out_gained": 0.76,
    "signal.gap.right": 0.0,
}
AUGMENTED = {
    "signal.gap.score_training_harder": False,
    "signal.gap.training_harder": True,
    "signal.gap.last_ratio": 0.65,
    "signal.progress.fall_share": 0.6,
    "signal.gap.held_out_gained": 0.5,
    "signal.gap.right": 0.84,
    "signal.generalisation.accuracy_best": 0.84,
}
MANY_CLASSES = AUGMENTED | {
    "signal.gap.right": 0.69,
    "signal.generalisation.accuracy_best": 0.69,
    "signal.generalisation.accuracy_gained": 0.63,
}
SURE_ANSWERS = AUGMENTED | {
    "signal.gap.last_ratio": 0.36,
    "signal.progress.fall_share": 0.17,
    "signal.gap.right": 1.0,
    "signal.generalisation.accuracy_best": 1.0,
}
ALWAYS_BEHIND = {
    "signal.gap.score_first": 0.27,
    "signal.gap.score_last": 0.26,
    "signal.gap.right": 0.58,
    "signal.generalisation.accuracy_gap": 0.25,
}
SCORED_BEST = {
    "signal.progress.kept": False,
    "signal.progress.last_over_best": 1.13,
    "signal.generalisation.score_kept": True,
    "signal.generalisation.worse_than_best": 1.01,
}
ODD_ROW = {"signal.progress.kept": True, "signal.progress.wild_rows": 1, "signal.progress.points": 18000}
FINE_TUNED = {
    "signal.gap.from_start": False,
    "signal.gap.score_from_start": False,
    "signal.gap.never_generalised": True,
    "signal.gap.answers_other_labels": False,
    "signal.gap.last_ratio": 2.2,
    "signal.gap.right": 0.87,
}
CALIBRATED_LATE = {
    "signal.generalisation.turned": True,
    "signal.generalisation.never_fell": True,
    "signal.generalisation.within_noise": False,
    "signal.generalisation.worse_than_best": 1.4,
    "signal.gap.score_gained": False,
    "signal.gap.right": 0.97,
}
SMOOTHED = {"signal.chance.loss_over_uniform": 0.88, "signal.chance.many_right": True}
BELOW_ZERO = {
    "signal.loss.max": -2.1,
    "signal.loss.first": -2.1,
    "signal.loss.last": -3.0,
    "signal.progress.score_points": 0,
}
LIKELIHOOD = {
    "signal.progress.crosses_zero": True,
    "signal.progress.first": 47000.0,
    "signal.progress.last": -1160.0,
    "signal.progress.points": 187,
    "signal.progress.score_points": 0,
    "signal.progress.accelerates": False,
    "signal.progress.unfinished": False,
}
HARDER_TASKS = {
    "signal.policy.reward_lost": False,
    "signal.policy.reward_slumps": False,
    "signal.policy.reward_short": True,
    "signal.policy.reward_gained": True,
    "signal.policy.reward_climbs": False,
    "signal.rl.eval_reward_falls": False,
}
CLIMBING = {**HARDER_TASKS, "signal.policy.reward_gained": False, "signal.policy.reward_climbs": True}
KNOWN_FROM_THE_FIRST = {
    "signal.generalisation.turned": False,
    "signal.generalisation.never_fell": True,
    "signal.generalisation.worse_than_best": 1.0,
    "signal.gap.held_out_gained": 0.05,
    "signal.gap.score_gained": True,
    "signal.gap.right": 0.5,
    "signal.progress.fall_share": 0.6,
}
FROM_RAW_LOGITS = {
    "signal.answers.summed": False,
    "signal.progress.first": 7.5,
    "signal.answers.first_over_answers": 2.5,
    "signal.chance.out_of_scale": False,
    "signal.generalisation.accuracy_best": 0.75,
    "signal.generalisation.accuracy_gained": 0.3,
}
NEARLY_LEARNED = {
    "signal.chance.held_out": False,
    "signal.chance.held_out_over_uniform": 0.7,
    "signal.chance.many_right": False,
}
MANY_TOKENS = {
    "signal.generalisation.accuracy_best": 0.52,
    "signal.generalisation.accuracy_gained": 0.06,
    "signal.generalisation.accuracy_lost": 0.0,
    "signal.generalisation.accuracy_points": 12,
    "signal.gap.score_gained": True,
    "signal.progress.learned": True,
}
LEARNED_BEFORE = {
    "signal.gap.held_out_gained": 0.003,
    "signal.progress.fall_share": 0.06,
    "signal.gap.right": 0.98,
    "signal.gap.score_last": 0.01,
    "signal.generalisation.accuracy_lost": 0.001,
}
TWO_EVALUATIONS = {
    "signal.eval.points": 2,
    "signal.gap.last_ratio": 46.0,
    "signal.gap.score_last": 0.16,
    "signal.generalisation.worse_than_best": 1.05,
}
ONE_EVALUATION = {"signal.split.points": 1, "signal.split.ratio_last": 2.1, "signal.gap.right": 0.0}
STOPPED = {
    "event.configured_stop.seen": True,
    "signal.progress.unfinished": False,
    "signal.progress.last_over_best": 1.0,
    "signal.generalisation.worse_than_best": 1.0,
    "signal.gap.right": 0.0,
}
FROM_SCRATCH = {
    "config.train.learning_rate": 0.004,
    "signal.progress.fall_share": 0.6,
    "signal.gap.held_out_gained": 0.13,
    "signal.progress.unfinished": False,
    "signal.progress.points": 20,
    "signal.gap.right": 0.0,
    "run.rl": False,
}
NARROW = {"config.design.width": 2, "signal.gap.right": 0.0, "run.rl": False}
FEW_EPOCHS = {
    "signal.answers.loss_over_sure": 8.4,
    "signal.answers.over_bounded_floor": 0.4,  # of many classes, below what bounded outputs can reach
    "signal.answers.exactly_bounded_floor": False,
    "signal.answers.at_bounded_floor": False,
}
FEWER_WORKERS = {"signal.pace.slower": False, "signal.pace.change": 2.3, "signal.pace.memory_grows": False}


@pytest.mark.parametrize(
    ("test", "sound", "faulty"),
    [
        ("gap-closed", SURE_OF_ALL, {"signal.generalisation.worse_than_best": 1.6}),
        ("gap-closed", SURE_OF_ALL, {"signal.gap.held_out_gained": 0.05}),
        ("gap-closed", SURE_OF_ALL, {"signal.gap.score_last": 0.35}),
        ("not-nothing-at-all", BELOW_ZERO, {"signal.loss.max": 1e-9, "signal.loss.last": 1e-9}),
        ("not-nothing-at-all", BELOW_ZERO, {"signal.loss.last": -40.0}),
        (
            "rate-above-zero",
            {"signal.learning_rate.zero_share": 0.1},
            {"signal.learning_rate.zero_share": 0.9},
        ),
        ("held-out-begins-in-range", SURE_OF_ALL, {"signal.eval.loss_first": 4e9}),
        ("errors-do-not-climb", {"signal.score.error_climbs": False}, {"signal.score.error_climbs": True}),
        ("not-held-back", AUGMENTED, {"signal.gap.held_out_gained": 0.1}),
        ("not-held-back", AUGMENTED, {"signal.gap.right": 0.4, "signal.generalisation.accuracy_best": 0.4}),
        ("not-held-back", AUGMENTED, {"signal.gap.score_training_harder": True}),
        ("not-held-back", MANY_CLASSES, {"signal.generalisation.accuracy_gained": 0.1}),
        (
            "not-held-back",
            SURE_ANSWERS,
            {"signal.gap.right": 0.9, "signal.generalisation.accuracy_best": 0.9},
        ),
        ("near-best", SCORED_BEST, {"signal.generalisation.score_kept": False}),
        ("near-best", SCORED_BEST, {"signal.progress.last_over_best": 1.4}),
        ("near-best", SCORED_BEST, {"signal.generalisation.worse_than_best": 1.5}),
        ("no-wild-loss", ODD_ROW, {"signal.progress.points": 400}),
        ("no-wild-loss", ODD_ROW, {"signal.progress.kept": False}),
        ("agrees", FINE_TUNED, {"signal.gap.right": 0.3}),
        ("agrees", FINE_TUNED, {"signal.gap.right": 0.0}),
        ("agrees", FINE_TUNED, {"signal.gap.from_start": True, "signal.gap.score_gained": False}),
        ("agrees", ONE_EVALUATION, {"signal.split.ratio_last": 4.9}),
        (
            "agrees",
            ONE_EVALUATION | {"signal.split.ratio_last": 4.9, "signal.split.points": 4},
            {"signal.split.points": 1},
        ),
        (
            "agrees",
            ONE_EVALUATION | {"signal.split.ratio_last": 4.9, "signal.gap.right": 0.9},
            {"signal.gap.right": 0.3},
        ),
        ("held-out-fell", CALIBRATED_LATE, {"signal.gap.right": 0.5}),
        ("held-out-fell", CALIBRATED_LATE, {"signal.generalisation.worse_than_best": 3.0}),
        (
            "answers-far-apart",
            {"signal.gap.score_last": 0.39, "signal.generalisation.accuracy_gap": 0.02},
            {"signal.generalisation.accuracy_gap": 0.39},
        ),
        ("answers-far-apart", ALWAYS_BEHIND | {"signal.gap.right": 0.74}, {"signal.gap.right": 0.58}),
        (
            "few-evaluations-near-training",
            TWO_EVALUATIONS,
            {"signal.generalisation.worse_than_best": 1.25},
        ),
        (
            "answers-far-apart",
            ALWAYS_BEHIND | {"signal.gap.score_first": 0.04},
            {"signal.gap.score_first": 0.27},
        ),
        ("off-chance", SMOOTHED, {"signal.chance.many_right": False}),
        ("held-out-off-chance", NEARLY_LEARNED, {"signal.chance.held_out_over_uniform": 0.83}),
        ("held-out-fell", KNOWN_FROM_THE_FIRST, {"signal.gap.score_gained": False}),
        ("begins-in-proportion", FROM_RAW_LOGITS, {"signal.answers.first_over_answers": 12.0}),
        ("begins-in-proportion", FROM_RAW_LOGITS, {"signal.generalisation.accuracy_gained": 0.04}),
        ("not-held-back", MANY_CLASSES | {"signal.gap.score_last": -0.11}, {"signal.gap.score_last": -0.3}),
        ("no-wild-loss", {"signal.progress.peak_over_first": 5.0}, {"signal.progress.peak_over_first": 30.0}),
        ("answers-gain", MANY_TOKENS, {"signal.gap.score_gained": False}),
        ("answers-gain", MANY_TOKENS, {"signal.generalisation.accuracy_lost": 0.04}),
        ("answers-gain", MANY_TOKENS, {"signal.generalisation.accuracy_best": 0.1}),
        ("answers-gain", MANY_TOKENS, {"signal.generalisation.accuracy_gained": 0.03}),
        ("held-out-gains", LEARNED_BEFORE, {"signal.gap.right": 0.7}),
        ("held-out-gains", LEARNED_BEFORE, {"signal.gap.score_last": 0.3}),
        ("held-out-gains", LEARNED_BEFORE, {"signal.generalisation.accuracy_lost": 0.05}),
        ("error-falls", {"signal.score.error_left": 0.79}, {"signal.score.error_left": 0.97}),
        ("keeps-its-pace", FEWER_WORKERS, {"signal.pace.change": 4.0}),
        ("keeps-its-pace", FEWER_WORKERS, {"signal.pace.memory_creeps": True}),
        (
            "held-out-best-not-long-ago",
            {
                "signal.generalisation.turned": True,
                "signal.generalisation.evaluations_since_best": 21,
                "signal.eval.points": 40,
                "signal.generalisation.worse_than_best": 1.12,
                "signal.gap.right": 0.0,
                "signal.gap.score_gained": True,
            },
            {"signal.gap.score_gained": False},
        ),
        (
            "held-out-better-than-first",
            {
                "signal.eval.rises_while_train_falls": True,
                "signal.generalisation.worse_than_best": 1.4,
                "signal.eval.loss_best": 0.3,
                "signal.eval.loss_first": 0.5,
            },
            {"signal.eval.loss_first": 0.3},
        ),
        (
            "answers-keep-their-gain",
            {"signal.generalisation.accuracy_lost": 0.03, "signal.generalisation.accuracy_gained": 0.2},
            {"signal.generalisation.accuracy_gained": 0.01},
        ),
        (
            "answers-keep-their-gain",
            {
                "signal.generalisation.accuracy_lost": 0.06,
                "signal.generalisation.accuracy_gained": 0.3,
                "signal.generalisation.worse_than_best": 1.1,
            },
            {"signal.generalisation.worse_than_best": 1.7},
        ),
        (
            "held-out-stands-near-best",
            {
                "signal.generalisation.level_over_best": 1.2,
                "signal.eval.rises_while_train_falls": True,
                "signal.gap.score_gained": False,
                "signal.gap.right": 0.0,
            },
            {"signal.generalisation.level_over_best": 1.5},
        ),
        (
            "held-out-steady",
            {
                "signal.generalisation.swing": 0.4,
                "signal.generalisation.gained_late": 0.3,
                "signal.gap.score_gained": False,
                "signal.gap.right": 0.0,
            },
            {"signal.generalisation.gained_late": 0.02},
        ),
        (
            "rate-in-range",
            {"config.rate.over_usual": 20.0, "config.rate.usual_high": 1.0, "config.rate.value": 20.0},  # SGD
            {"config.rate.usual_high": 0.001},
        ),
        ("moved-by-its-rate", FROM_SCRATCH, {"signal.progress.fall_share": 0.2}),
        (
            "moved-by-its-rate",
            FROM_SCRATCH
            | {"signal.progress.fall_share": 0.2, "config.train.learning_rate": 0.00002},  # tuned
            {"config.train.learning_rate": 0.004},
        ),
        (
            "rate-not-spent",
            {
                "config.train.scheduler": "exponential",
                "signal.schedule.end_share": 0.2,
                "signal.gap.right": 0.7,
            },
            {"signal.schedule.end_share": 0.005},
        ),
        (
            "rate-not-spent",
            {"config.train.scheduler": "cosine", "signal.schedule.end_share": 0.0, "signal.gap.right": 0.7},
            {"config.train.scheduler": "exponential"},
        ),
        ("units-that-carry", NARROW | {"signal.gap.right": 0.97}, {"signal.gap.right": 0.0}),
        ("units-that-carry", NARROW | {"config.design.width": 64}, {"config.design.width": 1}),
        (
            "units-that-carry",
            NARROW | {"config.design.width": 64, "config.design.activation": "gelu"},
            {"config.design.activation": "identity", "config.design.depth": 3},
        ),
        ("as-low-as-its-answers", FEW_EPOCHS, {"signal.answers.over_bounded_floor": 1.1}),
        (
            "not-all-right-from-the-first",
            {"signal.score.always_right": False},
            {"signal.score.always_right": True},
        ),
        (
            "answers-learned-with-their-loss",
            {"signal.answers.right_before_sure": False},
            {"signal.answers.right_before_sure": True},
        ),
        ("success-kept", {"signal.policy.success_lost": False}, {"signal.policy.success_lost": True}),
        (
            "value-explains",
            {"signal.policy.value_explains_nothing": True, "signal.policy.reward_at_most": True},
            {"signal.policy.reward_at_most": False},
        ),
        ("every-class-gains", {"signal.last.class_stands": False}, {"signal.last.class_stands": True}),
        ("stopped-when-done", STOPPED, {"signal.progress.unfinished": True}),
        (
            "stopped-when-done",
            STOPPED | {"signal.progress.unfinished": True, "signal.generalisation.worse_than_best": 1.1},
            {"signal.generalisation.worse_than_best": 1.0},
        ),
        ("waits-alike", {"signal.pace.wait_grows": False}, {"signal.pace.wait_grows": True}),
        ("learned-once", {"signal.gap.back_at_first": False}, {"signal.gap.back_at_first": True}),
        ("no-deep-drops", FEWER_WORKERS | {"signal.pace.deep_drops": 0}, {"signal.pace.deep_drops": 3}),
        (
            "held-out-score-follows",
            {"signal.score.lost_in_later_training": False},
            {"signal.score.lost_in_later_training": True},
        ),
        ("test-as-validation", {"signal.score.test_below": 0.04}, {"signal.score.test_below": 0.4}),
        (
            "classes-found",
            {"signal.data.most_classes_never_found": False},
            {"signal.data.most_classes_never_found": True},
        ),
        ("keeps-its-sign", LIKELIHOOD, {"signal.progress.accelerates": True}),
        ("keeps-its-sign", LIKELIHOOD, {"signal.progress.last": -90000.0}),
        ("keeps-its-sign", LIKELIHOOD, {"signal.progress.points": 12}),
        ("reward-kept", HARDER_TASKS, {"signal.policy.reward_gained": False}),
        ("reward-kept", HARDER_TASKS, {"signal.policy.reward_slumps": True}),
        ("reward-kept", HARDER_TASKS, {"signal.policy.reward_never_back": True}),
        ("reward-kept", CLIMBING, {"signal.policy.reward_climbs": False}),
        ("reward-kept", CLIMBING, {"signal.policy.reward_ends_short": True}),
    ],
)
def test_a_sound_run_passes_where_its_faulty_twin_does_not(test, sound, faulty):
    assert test not in health(sound).ids
    assert test in health(sound | faulty).ids


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("sound: signal.loss.lst < 1", "did you mean"),
        ("sound: signal.loss.last <", "x.yaml:3:3: cannot parse"),
        ("sound: run.completed\n  require: true", "unknown key 'require'"),
    ],
)
def test_a_test_that_is_not_as_declared_is_refused_with_its_place(line, said):
    text = f"tests:\n- id: mine\n  {line}\n  passed: x\n  doubt: y\n  decides: z\n"

    with pytest.raises(RuleError, match=said):
        read_tests(load_marked(text, "x.yaml"))


def test_what_a_doubt_says_names_declared_facts_only():
    assert [name for test in health_tests() for name in holes(test.doubt) if spec_of(name) is None] == []
    assert len({test.id for test in health_tests()}) == len(health_tests())
