"""Tests of health of what was learned: held-out data, scores, outputs, policies, and how the run went and ended."""

from __future__ import annotations

from analyzer.rules.health_test import HealthTest

ANSWER_TESTS = (
    HealthTest(
        "not-held-back",
        # Dropout and augmentation cost training more than held-out data, which gain by them all the same. Of the casebook and the
        # lab five sound runs and no faulty one were held back by the loss alone while held-out loss gained three tenths.
        "(not signal.gap.score_training_harder and (not signal.gap.training_harder or signal.gap.held_out_gained >= 0.3"
        " and not (signal.gap.right > 0 and signal.gap.right < 0.8)) or signal.generalisation.accuracy_best >= 0.95)"
        " and not (signal.gap.training_harder and signal.gap.last_ratio <= 0.5 and signal.progress.fall_share < 0.3)",
        "training is not held back",
        "training is far worse than validation to the end",
        "the training samples evaluated without dropout and augmentation, and a sample of their labels",
    ),
    HealthTest(
        "more-than-by-heart",
        # A twentieth of a nat: 19 of 20 tokens are as good as certain, which no text is that was not read before.
        "not (signal.progress.last < 0.05 and config.model.vocab_size >= 1000 and config.train.epochs >= 10"
        " and signal.progress.score_points == 0 and run.rl == False)",
        "more is learned than the training texts by heart",
        "after {config.train.epochs} epochs the training texts are known by heart (a loss of {signal.progress.last})",
        "the loss on texts that it was not trained on",
    ),
    HealthTest(
        "gap-closed",
        # Many times a training loss that is next to nothing is still little, if it is next to all that could be gained.
        # Where no score says otherwise, twice the best loss is lost, whatever the scatter of the evaluations.
        # Nor does the ratio tell anything where held-out loss itself ends near its best, or 19 of 20 answers are right.
        "(not signal.gap.opened or signal.gap.score_last <= 0.12 and signal.gap.last_ratio < 30"
        " or signal.generalisation.worse_than_best <= 1.2 and signal.gap.held_out_gained >= 0.2 and not signal.gap.score_last > 0.2"
        " or signal.gap.right >= 0.95 and signal.generalisation.worse_than_best < 2"
        " or signal.eval.loss_last <= 0.1 * signal.eval.loss_first"
        " and signal.eval.loss_last - signal.eval.loss_best <= 0.05 * (signal.eval.loss_first - signal.eval.loss_best))"
        " and not (signal.gap.opened and signal.generalisation.worse_than_best >= 2"
        " and (signal.progress.score_points == 0 or signal.gap.score_last > 0.12))",
        "held-out loss did not part from training loss",
        "held-out loss ends {signal.gap.last_ratio} times as high as training loss",
        "a score on held-out data, or fewer epochs",
    ),
    HealthTest(
        "held-out-not-turned",
        "not signal.generalisation.parted_in_a_row",
        "held-out loss did not turn while training loss fell",
        "held-out loss has risen at each evaluation since its best, while training loss fell by a fifth",
        "a score on held-out data, or the checkpoint of the best evaluation",
    ),
    HealthTest(
        "not-known-before",
        # Half of all answers: within its first epoch no training gains as much on what it was not shown.
        "not signal.gap.score_first <= -0.5",
        "held-out data are not known before they are learned",
        "at the first evaluation training answers are behind held-out ones ({signal.gap.score_first} of all)",
        "whether held-out samples, or copies of them, stand in the training data",
    ),
    HealthTest(
        "held-out-fell",
        # One part in twenty: no labelled sound run whose held-out loss never fell, and no score gained, ends further away.
        "not (signal.generalisation.turned and signal.generalisation.never_fell and not signal.generalisation.within_noise and"
        " 1.05 <= signal.generalisation.worse_than_best and not ((signal.gap.score_gained or signal.gap.right >= 0.9)"
        " and signal.generalisation.worse_than_best < 1.6))",
        "held-out loss does not only rise, or its score gained all the same",
        "held-out loss never fell by more than its noise and ends {signal.generalisation.worse_than_best} times as high as its best",
        "a score on held-out data, and predictions on a few training and a few held-out samples",
    ),
    HealthTest(
        "no-chasm",
        "not signal.gap.chasm",
        "held-out loss is of the order of training loss",
        "the last evaluation costs twenty times what training does",
        "the evaluations before it, and whether both losses are means over the same",
    ),
    HealthTest(
        "steady",
        # Batches of few samples swing in sound runs too; what they teach shows in the held-out loss.
        "not signal.progress.swings or signal.gap.held_out_gained >= 0.3 and not signal.generalisation.turned",
        "the loss does not swing, or held-out loss falls all the same",
        "the loss swings by half of its level from point to point",
        "a larger batch or a smaller rate for some hundred steps",
    ),
    HealthTest(
        "agrees",
        # Who is right in four of five at the first evaluation was trained before, and its held-out loss may never fall below that.
        "not (signal.gap.from_start and not signal.gap.last_ratio < 1.1 and not signal.gap.score_gained"
        " and not signal.gap.right >= 0.95)"
        " and not (signal.gap.score_from_start and not signal.gap.score_last < 0.03)"
        " and not (signal.gap.never_generalised and (signal.gap.last_ratio >= 1.3 or signal.progress.fall_share >= 0.5)"
        " and not signal.gap.right >= 0.8)"
        " and not signal.gap.answers_other_labels",
        "training and held-out data agree",
        "training and held-out data part from the first evaluation on",
        "an evaluation of the training samples by the code that evaluates the held-out ones",
    ),
    HealthTest(
        "scores-move",
        "not signal.metric.impossible and not signal.metric.ranks_reversed and not signal.score.frozen and not signal.score.zero and not signal.score.no_phrase and not signal.score.rare_never_found"
        " and not signal.score.hardly_found and not signal.score.error_beyond_all and not signal.score.ranks_like_a_guess and not signal.score.perfect_at_once",
        "the scores move within their range",
        "a score does not move from its first value, or lies where no sound run has it",
        "the predictions of a few samples beside their labels, and the code of the score",
    ),
    HealthTest(
        "held-out-score-follows",
        "not signal.score.parted and not signal.score.held_out_stands and not signal.score.lost and not signal.score.forgotten"
        " and not signal.score.turned",
        "held-out scores follow the training",
        "what is gained on training data does not show in the held-out score[ ({signal.score.turned_name})]",
        "more held-out samples, and the same score on training samples by the same code",
    ),
    HealthTest(
        "held-out-score-kept",
        "not signal.score.never_back and not signal.score.stands_while_loss_falls",
        "a held-out score keeps what it gained",
        "held-out answers do not get better, or left their best early for good, whatever the training loss does",
        "the checkpoint of the best evaluation, and predictions on a few held-out samples",
    ),
    HealthTest(
        "answers-something",
        "not signal.score.hardly_right",
        "more than a few answers are right",
        "next to no answer is right to the end, whatever the loss does",
        "the number of classes, more epochs, and predictions beside their labels",
    ),
    HealthTest(
        "answers-carry-over",
        # Who loses less than two hundredths answers nearly every training sample: no sound public run leaves a fifth of the others.
        "not (signal.epochs.loss_near_zero and signal.progress.last < 0.02 and signal.progress.fall_share >= 0.98"
        " and signal.generalisation.accuracy_last <= 0.8)",
        "what is known by heart carries over",
        "training samples are known by heart (a loss of {signal.progress.last}), and of the held-out ones"
        " {signal.generalisation.accuracy_last} are answered rightly",
        "fewer passes over the data, or more samples, judged by the held-out loss",
    ),
    HealthTest(
        "answers-gain",
        # Of 46 public sound runs with ten evaluations and more not one, of 48 faulty ones 22 (few right answers alone are those of a
        # choice among many tokens, if one of five is right). Of 102 sound ones none gave back more than it gained, of 79 faulty ones 15.
        "not (signal.generalisation.accuracy_best < 0.7 and signal.generalisation.accuracy_gained < 0.1) and not signal.generalisation.accuracy_best < 0.2"
        " and not (signal.generalisation.accuracy_points >= 16 and signal.gap.held_out_gained < 0.1"
        " and signal.generalisation.accuracy_lost > signal.generalisation.accuracy_gained)",
        "held-out answers get better, or most are right",
        "of the held-out answers {signal.generalisation.accuracy_best} are right at best[,"
        " {signal.generalisation.accuracy_gained} more than at first and {signal.generalisation.accuracy_lost} more than at the end]",
        "the share that one answer for all samples gets right, and a few predictions beside their labels",
    ),
    HealthTest(
        "not-broken-off",
        "not signal.score.error_half_left",
        "the error of its predictions has come down, or no longer falls",
        "{signal.score.error_left%} of the first error are left, and it still falls as it did before",
        "more epochs, and the same run at three and at ten times the learning rate",
    ),
    HealthTest(
        "not-one-answer",
        "not signal.data.majority_only",
        "held-out answers change from evaluation to evaluation",
        "the held-out accuracy is one number in all its digits from the first evaluation on",
        "how often each class is answered, and how often it is the label",
    ),
    HealthTest(
        "last-evaluation-whole",
        "not signal.exact.held_out_zero_at_end and not signal.score.worst_at_end",
        "the last evaluation is one of the same model",
        "the last evaluation leaps to 0: a loss of exactly 0, or not one right answer",
        "the number of samples of that evaluation, and whether its outputs are finite",
    ),
    HealthTest(
        "keeps-what-it-could",
        "not signal.score.general_lost",
        "public tests do not get worse",
        "{signal.score.general_lost_name} lost {signal.score.general_lost_share%} of its first value while the loss fell",
        "the same test on the weights before the training",
    ),
    HealthTest(
        "nothing-collapsed",
        "not signal.gan.discriminator_won and not signal.collapse.latent_unused and not signal.collapse.embeddings_agree"
        " and not signal.collapse.preference_undecided and not signal.collapse.perplexity_one"
        " and not signal.collapse.pairs_by_heart",
        "no player, code or embedding collapsed",
        "a part of the model does without what it should learn",
        "outputs of a few samples",
    ),
    HealthTest(
        "answers-kept",
        "not signal.collapse.chosen_given_up and not signal.collapse.answers_without_tokens",
        "preferred answers keep their probability",
        "answers that are preferred lost nearly all of their probability, or have no token",
        "logps/chosen from step to step, and answers to a few prompts",
    ),
    HealthTest(
        "reward-kept",
        "not (signal.policy.reward_lost or signal.policy.reward_slumps or signal.policy.reward_short and not signal.policy.reward_gained or"
        " signal.rl.eval_reward_falls)",
        "the reward keeps what it gained",
        "the reward loses what it gained (it ends at {signal.policy.reward_end}, its best is {signal.policy.reward_best})",
        "the checkpoint of the best reward, and whether tasks became harder on the way",
    ),
    HealthTest(
        "reward-gained",
        # Of a success rate nine in ten are no more to be gained; nor is what most episodes reach that others miss.
        "signal.policy.reward_gained or (signal.rl.reward_rises or signal.policy.reward_at_most or"
        " 0.9 <= signal.policy.reward_end and signal.policy.reward_best <= 1) and not signal.policy.reward_stands",
        "the reward improved by more than its noise",
        "the reward did not improve by more than its noise: it ends at {signal.policy.reward_end}",
        "more steps, and what a random policy and a solved task earn",
    ),
    HealthTest(
        "answers-end",
        "not (signal.rl.clipped_share_last >= 0.5 and signal.rl.length_ratio >= 2)",
        "answers end by themselves",
        "answers are {signal.rl.length_ratio} times as long as at first, and half of them run into the limit",
        "a few answers, and the reward of those that were cut",
    ),
    HealthTest(
        "within-trust",
        "not signal.policy.beyond_trust",
        "updates stay where they are valid",
        "each update leaves the region in which it is valid: three of ten samples are clipped",
        "the same run at a third of the learning rate, or with fewer passes over one batch",
    ),
    HealthTest(
        "keeps-its-sign",
        # Cross-entropy less an overlap ends above -1, with a score that rises; a density does not fall thirtyfold.
        # A likelihood settles, less far below zero than it began above; what has lost its sign falls faster and faster.
        "(not signal.progress.crosses_zero or signal.progress.last >= -1 and signal.progress.score_points >= 8"
        " or signal.progress.points >= 50 and not signal.progress.accelerates and not signal.progress.unfinished"
        " and signal.progress.last > -signal.progress.first) and"
        " (signal.progress.first >= 0 or signal.progress.last >= -100 or signal.progress.last >= 30 * signal.progress.first)",
        "the loss stays on its side of zero",
        "the loss falls far below 0, {signal.progress.first} to {signal.progress.last}",
        "whether it is a likelihood, which may, or an error or overlap, which may not",
    ),
    HealthTest(
        "one-course",
        "not signal.progress.sudden_step",
        "the loss takes one course",
        "the loss stood, fell at once from one point to the next, and stood again",
        "what changed at the fall: data, rate, code, or the number of devices",
    ),
    HealthTest(
        "one-beginning",
        "not signal.progress.began_anew",
        "training began once",
        "the loss leapt back to its first value and fell again as at the beginning",
        "which weights were loaded there, and whether the rows are of one run",
    ),
    HealthTest(
        "keeps-its-pace",
        "not (signal.pace.slower and signal.pace.change >= 1.5) and not signal.pace.memory_grows",
        "it keeps its pace and its memory",
        "it gets slower and slower, or its memory grows, over the rows",
        "the time of loading, of the step and of saving, each by itself",
    ),
    HealthTest(
        "as-good-as-the-baseline",
        "not compare.baseline.worse",
        "it ends as well as the baseline",
        "it ends clearly worse than the baseline[ ({compare.baseline.score_lost} of all answers lost)]",
        "a rerun in which one of the differences is undone",
    ),
    HealthTest(
        "no-second-softmax",
        "not signal.chance.second_softmax",
        "loss and accuracy fit each other",
        "loss and accuracy are those of a softmax taken twice",
        "whether the model ends in a softmax before the cross-entropy",
    ),
    HealthTest(
        "no-unknown-last-words",
        'not (event.error_line.seen and message.probability > 0 and ended.state == "unknown")',
        "it does not end in a line that reads like an error",
        "its last lines read like an error that no pattern knows",
        "the lines that are quoted, and the log of the launcher or scheduler",
    ),
)
