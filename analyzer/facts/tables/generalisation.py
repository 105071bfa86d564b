"""Facts about evaluation beside training, epochs, and metrics with impossible values."""

from __future__ import annotations

from analyzer.facts.tables.hows import USER_CONFIG

_SAMPLES = "note the number of evaluation samples beside the metric (eval_samples)"

TABLE = f"""
signal.generalisation.all_nonfinite | bool | | every evaluation loss is NaN or infinite |
signal.generalisation.best_step | int | step | step of the best evaluation loss |
signal.generalisation.last_step | int | step | step of the last evaluation loss |
signal.generalisation.evaluations_since_best | int | | evaluations after the best one |
signal.generalisation.worse_than_best | float | | last evaluation loss divided by the best |
signal.generalisation.within_noise | bool | | last and best evaluation loss differ by no more than twice the scatter from one evaluation to the next | evaluate more often
signal.generalisation.flat | bool | | the second half of the evaluation losses stays within 2 % | evaluate more often
signal.generalisation.never_fell | bool | | the last evaluation losses are as high as the first | evaluate more often
signal.generalisation.train_over_eval | float | | training loss divided by evaluation loss at the first evaluations |
signal.generalisation.accuracy_nonfinite | bool | | every accuracy on held-out data is not a number: a count of right answers over a count of nothing |
signal.generalisation.accuracy_points | int | | accuracies on held-out data |
signal.generalisation.accuracy_collapsed | bool | | the last accuracy on held-out data is a twentieth of the best or less, and no training loss was logged that tells more |
signal.generalisation.accuracy_best | float | | best accuracy on held-out data, as a share |
signal.generalisation.accuracy_last | float | | last accuracy on held-out data, as a share |
signal.generalisation.accuracy_lost | float | | best minus last accuracy on held-out data |
signal.generalisation.accuracy_gained | float | | accuracy on held-out data at the end minus that of the first evaluations, of ten and more |
signal.generalisation.accuracy_gap | float | | accuracy on training data minus that on held-out data, at the end |
signal.generalisation.parted_in_a_row | bool | | held-out loss rises from its best on at each evaluation, beyond its scatter and by 5 %, while training loss falls by a fifth and no score is at its best | evaluate more often
signal.generalisation.turned | bool | | more than a fifth of the evaluations came after the best one, and the last is worse by more than a hundredth | evaluate more often
signal.generalisation.score_kept | bool | | a score on held-out data (accuracy, mAP, F1, WER and the like) rose and is at its best, within a hundredth, in the last evaluations |
signal.generalisation.keeps_best | bool | | the run is configured to keep or to load the best checkpoint | {USER_CONFIG}
signal.generalisation.samples | int | | evaluation samples | {_SAMPLES}
signal.generalisation.lost_in_errors | float | | lost accuracy in standard errors of a difference of two shares | {_SAMPLES}
signal.epochs.done | float | epochs | largest epoch logged |
signal.epochs.loss_near_zero | bool | | the training loss ends at a hundredth of its start or lower |
signal.epochs.falls_at_starts | bool | | the training loss falls in a step at most epoch starts, more than between them |
signal.metric.impossible | bool | | a metric takes a value it cannot have: a share above 1 or 100 %, or a perplexity below 1 |
signal.metric.impossible_name | str | | that metric |
signal.metric.impossible_value | float | | that value |
signal.metric.impossible_step | int | step | step of that value |
signal.metric.negative_loss | bool | | the loss is negative although accuracy or perplexity show that it is a cross-entropy |
signal.metric.contradicts_perplexity | bool | | the accuracy is 0 at every point although the perplexity is below 5 |
signal.metric.nan | bool | | a metric other than loss and gradient norm is not a number somewhere |
signal.metric.nan_name | str | | that metric |
signal.metric.nan_by_design | bool | | that metric is undefined until enough samples exist or while its target is constant |
signal.metric.nan_per_class | bool | | that metric is an average or a ratio over classes or groups |
signal.metric.nan_only_first | bool | | it is not a number at the start only |
signal.metric.training_sound | bool | | loss and gradient norm are finite in the same run |
"""
