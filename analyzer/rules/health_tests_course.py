"""Tests of health of what training itself shows: finite numbers, a loss that falls, stays down and is in proportion."""

from __future__ import annotations

from analyzer.rules.health_test import HealthTest

COURSE_TESTS = (
    HealthTest(
        "finite",
        "signal.exact.all_finite or signal.exact.nonfinite_norm_only and signal.nonfinite_grad.harmful == False"
        " and signal.nonfinite_loss.seen == False",
        "no harmful NaN or infinity",
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
        # 2**6: no scaler starts so low (fairseq's at 128), and a static scale of 1 is none that fell. Of 22 public sound runs none.
        "not signal.loss_scale.first >= 64 or signal.loss_scale.last > 1",
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
        "a loss or score improved by more than its noise",
        "neither the loss nor a score improved by more than its noise",
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
        "signal.chance.loss_over_uniform < 0.8 or signal.chance.many_right",
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
        "no-lower-than-its-errors",
        "not signal.answers.below_its_errors",
        "the loss is no lower than its wrong answers allow",
        "the loss ({signal.progress.last}) is lower than cross-entropy of as many wrong answers can be",
        "which loss it is and over what it is averaged, and the same run with cross-entropy",
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
        # Of 769 sound public runs none that counts its answers begins at thirty times its last loss.
        "signal.answers.summed or not (signal.progress.first >= 14 and signal.answers.first_over_answers >= 3.5)"
        " and not (signal.chance.out_of_scale and signal.progress.first_over_last >= 30)",
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
)
