"""The tests of health: a condition over facts each, with the words for both outcomes."""

from __future__ import annotations

from typing import NamedTuple


class HealthTest(NamedTuple):
    """One test of health.

    Attributes:
        id: A short word.
        sound: Condition that holds for a sound run.
        passed: What to say if it holds.
        doubt: What to say if it does not, with facts in braces.
        decides: What would tell whether the run is sound all the same.
        required: Whether a run of which this is unknown is not called healthy.
        leads: Whether it is told before the others where there is room for a few.
    """

    id: str
    sound: str
    passed: str
    doubt: str
    decides: str
    required: bool = False
    leads: bool = False


TESTS = (
    HealthTest(
        "finite",
        "signal.exact.all_finite or signal.exact.nonfinite_norm_only and signal.nonfinite_grad.harmful == False"
        " and signal.nonfinite_loss.seen == False",
        "no NaN or infinity did harm",
        "{signal.exact.nonfinite_name} is not finite at {signal.exact.nonfinite_count} of"
        " {signal.exact.nonfinite_points} points",
        "the losses and inputs of the steps at which it is not",
        leads=True,
    ),
    HealthTest(
        "not-zero",
        "not signal.exact.loss_zero and not signal.exact.gradient_zero",
        "loss and gradient are not 0",
        "the loss or the gradient norm is exactly 0 at nearly every point",
        "one batch with its labels as the model gets them, and the gradient norm of each layer",
    ),
    HealthTest(
        "parts-have-values",
        "not signal.data.part_without_value",
        "no part of the loss is 0 throughout",
        "a part of the loss is exactly 0 in every row ({signal.data.part_without_value_name})",
        "whether that part is meant to be off at this stage",
    ),
    HealthTest(
        "parts-fall",
        "not signal.data.part_stands",
        "no part of the loss stands alone at its first level",
        "nearly all that is left of the loss is one part that never moved ({signal.data.part_stands_name})",
        "the weight of that part, and whether its gradient reaches the weights",
    ),
    HealthTest(
        "parts-fall-together",
        "not signal.data.part_traded",
        "no part of the loss was traded for the others",
        "a part of the loss ends at twice its first value and is a quarter of what is left ({signal.data.part_traded_name})",
        "the weights of the parts, and whether what it demands is met at all",
    ),
    HealthTest(
        "no-giant-spike",
        # No loss below that of a guess among a million tokens is a giant, and a last one may be rounded to 0.
        "signal.loss.max <= 1000000 * abs(signal.loss.last) or signal.loss.max < 14",
        "no loss is a million times as high as the last",
        "single losses are as high as {signal.loss.max}, a million times the last and more",
        "the batches of those steps, and the gradient norm there",
    ),
    HealthTest(
        "no-wild-loss",
        "signal.progress.wild_rows == 0",
        "no loss is far beyond that of an untrained model",
        "losses are as high as {signal.progress.wild_value}, ten times the first ones and more",
        "the batches of those steps, and the gradient norm there",
    ),
    HealthTest(
        "layers-alive",
        "signal.exact.layers_zero_share < 0.3",
        "the layers get gradients",
        "the gradient norm of whole layers is exactly 0 ({signal.exact.layer_zero_name})",
        "which parameters are meant to be frozen",
    ),
    HealthTest(
        "goes-on",
        "not signal.exact.loss_frozen and not signal.exact.held_out_frozen and not signal.stall.constant_end",
        "no loss ends in one repeated number",
        "a loss repeats one number in all its digits",
        "whether the weights still change there, and the learning rate",
    ),
    HealthTest(
        "scale-holds",
        # 2**8: no scaler starts so low, and a static scale of 1 is none that fell.
        "not signal.loss_scale.first >= 256 or signal.loss_scale.last > 1",
        "the loss scale holds",
        "the loss scale fell from {signal.loss_scale.first} to {signal.loss_scale.last}",
        "the gradient norm of the steps that overflowed, and a run in bf16",
    ),
    HealthTest(
        "errors-fall",
        "not signal.stall.error_rate_stuck",
        "the error rate is below all",
        "the error rate stays near 100 %: hardly anything that is put out is right",
        "a few outputs beside their references",
    ),
    HealthTest(
        "answers",
        "not signal.exact.eval_accuracy_zero or signal.progress.learned == False",
        "some answers are right",
        "the accuracy on held-out data is exactly 0 to the end",
        "predictions and labels of a few samples side by side",
    ),
    HealthTest(
        "learned",
        "signal.progress.learned",
        "a loss or score got better beyond its scatter",
        "neither the loss nor a score got better beyond its scatter",
        "more steps, or whether a single batch can be learned by heart",
        required=True,
        leads=True,
    ),
    HealthTest(
        "moves",
        "signal.progress.still == False or signal.progress.begins_late",
        "the loss moves",
        "the loss stays within 2 % of its first level ({signal.progress.first} to {signal.progress.last})",
        "the change of the weights from step to step, and whether a single batch can be learned by heart",
    ),
    HealthTest(
        "more-than-hardly",
        "signal.progress.hardly == False and signal.progress.stands_high == False and not signal.progress.in_a_line",
        "it lost more than a tenth of its first loss, and does not stand high since its first third",
        "over the whole log the loss lost only {signal.progress.fall_share%} of its first value",
        "a score on held-out data, and the same run at a third and at ten times the learning rate",
    ),
    HealthTest(
        "enough-to-see",
        "signal.progress.little_yet == False",
        "its first steps took more than a tenth of the loss",
        "the loss lost {signal.progress.fall_share%} of its first value, in too few steps to say more",
        "the rows of the steps that follow",
    ),
    HealthTest(
        "off-chance",
        # A fifth below it: what is nearer may still be a guess that knows how often each class comes.
        "signal.chance.loss_over_uniform < 0.8",
        "the loss is well below that of a guess",
        "the loss is still {signal.chance.loss_over_uniform} times that of a guess among {signal.chance.classes} classes",
        "more epochs, and whether a single batch can be learned by heart",
    ),
    HealthTest(
        "more-than-frequencies",
        "not signal.collapse.frequencies_only",
        "more is learned than how often each token occurs",
        "the loss stands at {signal.progress.last}, which is what the frequencies of the tokens alone give",
        "whether attention and positions reach the loss: one batch by heart, and the gradient norm of each layer",
    ),
    HealthTest(
        "within-a-vocabulary",
        "not signal.collapse.beyond_vocabulary",
        "the loss is one of a choice among tokens",
        "every loss ({signal.progress.last} at the end) is above that of a guess among a million tokens",
        "by what the sum over tokens is divided, and the number of accumulated batches",
    ),
    HealthTest(
        "as-low-as-its-answers",
        "not (signal.answers.loss_over_sure >= 1.5 and not signal.answers.over_bounded_floor < 0.8)"
        " and not signal.answers.exactly_bounded_floor"
        " and not (signal.answers.at_bounded_floor and signal.answers.loss_over_sure >= 1.1)",
        "the loss is as low as the answers allow",
        "the loss is {signal.answers.loss_over_sure|some} times that of a model which is as often right and knows it",
        "more epochs, and whether a sigmoid or softmax stands before the loss",
    ),
    HealthTest(
        "held-out-below-start",
        "not signal.gap.never_below_start and not signal.gap.score_fell_back",
        "held-out data gained something",
        "no evaluation is clearly better than the untrained model was",
        "predictions on a few training and a few held-out samples, prepared by the same code",
        leads=True,
    ),
    HealthTest(
        "held-out-gains",
        "signal.gap.held_out_gained >= 0.02 or signal.gap.held_out_gained < 0.02 and signal.progress.fall_share >= 0.3",
        "training and held-out loss do not stand still together",
        "the training loss fell little and held-out loss not at all",
        "a score on held-out data, and whether training and held-out labels belong to their samples",
    ),
    HealthTest(
        "no-stretch",
        "not signal.stretch.seen or signal.stretch.returned and signal.stretch.held_out_rose == False",
        "the loss did not leave its course for a stretch",
        "[at step {signal.stretch.step} ]the loss left its course, to {signal.stretch.ratio} times its level",
        "the samples of those steps, and held-out loss there",
    ),
    HealthTest(
        "held-out-off-chance",
        "not signal.chance.held_out",
        "answers on held-out data are better than a guess",
        "answers on held-out data are no better than a guess among {signal.chance.classes} classes",
        "predictions on a few training and a few held-out samples, prepared by the same code",
    ),
    HealthTest(
        "no-costly-spike",
        "not signal.spike.slow or run.rl",
        "no spike cost a tenth of the run",
        "a spike of {signal.spike.ratio} times the level took {signal.spike.recovery_points} rows to go",
        "what changed at its first row: rate, data, or a restart",
    ),
    HealthTest(
        "norm-stays",
        "not signal.grad_norm.runs_away",
        "the gradient norm stays in its range",
        "the gradient norm ends at many times its usual size (up to {signal.grad_norm.max})",
        "the gradient norm of each layer, and the loss without clipping",
    ),
    HealthTest(
        "near-best",
        "signal.progress.kept",
        "it ends near its best",
        "it ends clearly worse than its best",
        "which checkpoint is used, and what changed at the turn",
        leads=True,
    ),
    HealthTest(
        "no-explosion",
        "not signal.progress.exploded and not signal.progress.above_start and not signal.exact.runs_away",
        "the loss did not run away",
        "the loss ends at or above its start ({signal.progress.first} to {signal.progress.last})",
        "the first hundred steps at a third of the learning rate",
    ),
    HealthTest(
        "no-rise",
        "not signal.progress.rose_and_stays and not signal.progress.jump_at_end",
        "no rise was left standing",
        "the loss rose to {signal.progress.last_over_best} times its best and stays there",
        "what changed at the rise, and the next steps",
    ),
    HealthTest(
        "in-proportion",
        "signal.answers.summed or not signal.chance.far_beyond and not (signal.chance.out_of_scale and signal.progress.last >= 14)",
        "the loss is in proportion to the accuracy",
        "the loss ({signal.progress.last}) is far above that of a guess among any number of classes",
        "the range of the inputs and of the logits, and the learning rate",
    ),
    HealthTest(
        "begins-in-proportion",
        "signal.answers.summed or not (signal.progress.first >= 14 and signal.answers.first_over_answers >= 3.5)",
        "the first loss is no higher than a guess among any number of classes",
        "the first loss ({signal.progress.first}) is beyond what a guess among any number of classes costs",
        "the loss of the very first batch: before any update it tells the weights and inputs from the rate",
    ),
    HealthTest(
        "not-certain-of-wrong",
        "not signal.certain.saturated",
        "wrong answers do not all cost the most that they can",
        "every wrong answer costs {signal.certain.cost}, the most that the loss can: the outputs are exactly 0 or 1",
        "the logits of a few samples, and the range of the inputs",
    ),
    HealthTest(
        "out-of-raw-units",
        "not (signal.progress.first >= 1000000 and signal.progress.fall_share < 0.7)"
        " and not (signal.progress.first >= 10000 and signal.progress.fall_share < 0.5)",
        "the loss does not stay in the units of raw targets",
        "the loss began at {signal.progress.first}, and three tenths of it and more are left",
        "mean and spread of the targets, and a score that does not depend on their unit",
    ),
    HealthTest(
        "not-held-back",
        "(not signal.gap.score_training_harder and not signal.gap.training_harder or signal.generalisation.accuracy_best >= 0.95)"
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
        "(not signal.gap.opened or signal.gap.score_last <= 0.12 and signal.gap.last_ratio < 30"
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
        " 1.05 <= signal.generalisation.worse_than_best and not (signal.gap.score_gained and signal.generalisation.worse_than_best < 1.5))",
        "held-out loss does not only rise, or its score gained all the same",
        "held-out loss never fell beyond its scatter and ends {signal.generalisation.worse_than_best} times as high as its best",
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
        "not (signal.gap.from_start and not signal.gap.last_ratio < 1.1 and not signal.gap.score_gained)"
        " and not (signal.gap.score_from_start and not signal.gap.score_last < 0.03)"
        " and not (signal.gap.never_generalised and (signal.gap.last_ratio >= 1.3 or signal.progress.fall_share >= 0.5))"
        " and not signal.gap.answers_other_labels",
        "training and held-out data agree",
        "training and held-out data part from the first evaluation on",
        "an evaluation of the training samples by the code that evaluates the held-out ones",
    ),
    HealthTest(
        "scores-move",
        "not signal.score.frozen and not signal.score.zero and not signal.score.no_phrase and not signal.score.rare_never_found"
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
        "not (signal.policy.reward_lost or signal.policy.reward_slumps or signal.policy.reward_short or"
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
        "the reward got better beyond its scatter",
        "the reward did not get better beyond its scatter: it ends at {signal.policy.reward_end}",
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
        "(not signal.progress.crosses_zero or signal.progress.last >= -1 and signal.progress.score_points >= 8) and"
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
