"""Facts about losses and the onset of trouble."""

from __future__ import annotations

from analyzer.facts.tables.hows import LOG_NORM, MODEL_CONFIG

TABLE = f"""
signal.loss.seen | bool | | a training loss was logged |
signal.loss.points | int | | points of the training loss |
signal.loss.first | float | | first finite loss |
signal.loss.last | float | | last finite loss |
signal.loss.level | float | | median of the last fifth of the training loss |
signal.loss.min | float | | smallest finite loss |
signal.loss.max | float | | largest finite loss |
signal.loss.falls | bool | | median of the last fifth is below the median of the first fifth by more than the noise |
signal.loss.rises | bool | | median of the last fifth is above the smallest fifth by more than 20 % and the noise |
signal.loss.flat | bool | | the loss neither falls nor rises by more than 2 % over at least 20 points |
signal.loss.constant | bool | | every finite loss is the same number |
signal.loss.at_chance | bool | | the loss stays within 1 % of ln(C), the loss of a guess among C classes |
signal.loss.change_ratio | float | | median of the last fifth divided by the median of the first fifth |
signal.loss.growth_before_onset | float | | last finite losses before the first bad step divided by the smallest before them | {LOG_NORM}
signal.loss.spike_ratio | float | | largest ratio of a finite loss to the median of the five points on each side |
signal.loss.first_above_uniform | bool | | first loss is more than 1.5 times ln(vocabulary): bad weights or inputs from the start | {MODEL_CONFIG}
signal.loss.astronomical | bool | | the last losses or perplexities are above 1e15, which nothing sound reaches |
signal.loss.diverged | bool | | loss ends at more than 1.5 times its smallest smoothed value and above its start |
signal.loss_zero.share | float | | share of training losses that are exactly 0 |
signal.loss_zero.seen | bool | | at least three training losses are exactly 0 |
signal.loss_zero.mean_is_zero | bool | | the mean loss that the trainer prints at its end is exactly 0: every loss was 0 or a masked NaN | log the loss every few steps
signal.loss_zero.first_step | int | step | first step whose logged loss is exactly 0 |
signal.loss_zero.masks_nan | bool | | the zero is the trainer's mask of a NaN loss: the gradient norm there is not finite or every step is skipped |
signal.loss_zero.with_zero_grad | bool | | the gradient norm at those steps is exactly 0 too: no target took part | {LOG_NORM}
signal.loss_zero.sudden | bool | | the losses end in exact zeros right after a loss far above what a log rounds to 0 |
signal.loss_zero.with_finite_grad | bool | | the gradient norm at those steps is finite and above 0 | {LOG_NORM}
signal.nonfinite_loss.seen | bool | | a training loss was NaN or infinite, logged or masked | log the loss every step, with logging_nan_inf_filter=False
signal.nonfinite_loss.logged | bool | | a NaN or infinite training loss stands in the log |
signal.nonfinite_loss.masked | bool | | a training loss was NaN but printed as 0 by the trainer |
signal.nonfinite_loss.first_step | int | step | first logged step with a non-finite loss |
signal.nonfinite_loss.earliest_step | int | step | earliest step that can have been the first, given that a printed loss is a mean over a window |
signal.nonfinite_loss.count | int | | non-finite training losses |
signal.nonfinite_loss.infinite | bool | | every training loss that is printed as not finite is infinite, none NaN |
signal.nonfinite_loss.share | float | | share of training losses that are not finite |
signal.nonfinite_loss.share_after_onset | float | | share of training losses that are not finite from the first such one on |
signal.nonfinite_loss.from_first_log | bool | | already the first logged loss is not finite |
signal.nonfinite_loss.persists | bool | | no finite loss follows the first bad one |
signal.nonfinite_loss.healthy_steps_before | int | steps | steps with a finite loss before the first bad one |
signal.nonfinite_loss.overcome_by_restart | bool | | an earlier attempt had non-finite losses that a restart has passed since |
signal.onset.step | int | step | first step at which loss or gradient norm was not finite, or at which an overflow began, without recovery; else the first non-finite loss |
signal.onset.when | str | | when trouble began, in words: a step, or an interval where a printed loss is a mean over a window |
signal.onset.what | str | | what is not finite at the onset, in words |
signal.onset.lasting | bool | | the run did not recover from it |
signal.onset.healthy_steps | int | steps | healthy steps before it |
signal.onset.in_first_steps | bool | | trouble began within the first 5 steps or at the first logged point |
signal.onset.after_healthy_stretch | bool | | at least 10 healthy steps came first |
signal.onset.late | bool | | at least 200 healthy steps came first |
signal.eval.nonfinite | bool | | an evaluation loss was NaN or infinite |
signal.eval.points | int | | finite points of the evaluation loss |
signal.eval.loss_first | float | | first evaluation loss |
signal.eval.loss_last | float | | last evaluation loss |
signal.eval.loss_best | float | | best evaluation loss |
signal.eval.rises_while_train_falls | bool | | evaluation loss ends well above its best while the training loss goes on falling | evaluate more often
"""
