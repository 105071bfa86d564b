"""Facts about spikes, drift, schedules, reasons of a plateau, and repeated trouble."""

from __future__ import annotations

from analyzer.facts.tables.hows import LOG_NORM, MODEL_CONFIG, USER_CONFIG

_WEIGHTS = "log the norm of all parameters every few steps (params norm, weight_norm)"
_LAYERS = "log the gradient norm of every layer for a few steps"

TABLE = f"""
signal.spike.seen | bool | | a finite loss rose by three tenths or more and by 8 standard deviations of its own scatter |
signal.spike.count | int | | such rises, one after the other |
signal.spike.recurrent | bool | | there are three such rises or more |
signal.spike.step | int | step | step at which the largest of them began |
signal.spike.ratio | float | | its height over the level before it |
signal.spike.sigmas | float | | its height in standard deviations of the scatter |
signal.spike.recovered | bool | | after every rise the loss came back to its former level |
signal.spike.recovery_points | int | | points until the slowest of them was back |
signal.spike.recovery_steps | int | steps | steps until the slowest of them was back |
signal.spike.slow | bool | | a return took more than 500 steps and at least ten points |
signal.spike.with_gradient | bool | | the gradient norm tripled at the largest of them | {LOG_NORM}
signal.spike.update_first | bool | | the update norm rose before the gradient norm and the loss did | log the norm of the updates beside grad_norm
signal.drift.seen | bool | | before the breakdown a metric left its level for good, at finite values |
signal.drift.start_step | int | step | first step after the last one at which that metric still lay at its former level |
signal.drift.metric | str | | the metric that drifted first, in words |
signal.drift.lead_steps | int | steps | steps from the start of the drift to the breakdown |
signal.drift.last_good_checkpoint_step | int | step | step of the last checkpoint saved before the drift, or before the breakdown if nothing drifted | keep the lines that report saved checkpoints
signal.drift.last_good_checkpoint | str | | that checkpoint, as the run names it | keep the lines that report saved checkpoints
signal.schedule.end_share | float | | last logged learning rate divided by its peak |
signal.schedule.ended_early | bool | | the learning rate is at zero over the last fifth of the log or more, after a positive course |
signal.schedule.spent_at | float | share | a straight or cosine descent of the learning rate reached its end at this share of the plan, half or less |
signal.schedule.ended_step | int | step | step from which it is at zero |
signal.schedule.rising_to_end | bool | | the learning rate still rises at the end of the log: the warm-up never ended |
signal.schedule.never_decayed | bool | | a schedule that decays is configured, but the last rate is the peak | {USER_CONFIG}
signal.schedule.restarts | int | | upward jumps of the learning rate to five times or more after its peak |
signal.schedule.peak_over_asked | float | | largest learning rate logged divided by the one asked for | {USER_CONFIG}
signal.schedule.horizon_ratio | float | | steps given to the scheduler divided by the steps of the run | {USER_CONFIG}
signal.schedule.changes | int | | steps at which batch size, sequence length or learning rate changed by a jump |
signal.schedule.change_step | int | step | step of the change at which the loss moved most, else of the first |
signal.schedule.change_what | str | | what changed there |
signal.schedule.shifts_loss | bool | | the level of the loss before and after such a change differs by more than a twentieth and the noise |
signal.schedule.shift_ratio | float | | level of the loss after that change over the level before it |
signal.schedule.accounts_for_rise | bool | | after the change the loss stands or falls, so that the rise is one step |
signal.repeat.launches | int | | launches of the run that logged enough to compare |
signal.repeat.step | int | step | step at which the first of them met its trouble |
signal.repeat.same_step | bool | | a later launch met its trouble at the same step, and none passed it | rerun from the last checkpoint without a change and see whether it breaks at the same step
signal.repeat.passed | bool | | a later launch passed that step without trouble | rerun from the last checkpoint without a change and see whether it breaks at the same step
signal.weights.still | bool | | the norm of the weights never changed in seven digits | {_WEIGHTS}
signal.weights.relative_change | float | | largest change of the weight norm relative to its first value | {_WEIGHTS}
signal.stall.equal_points_at_end | int | | losses at the end that are equal to the last in all digits |
signal.stall.constant_end | bool | | at least 20 losses at the end are equal in all digits, earlier ones were not |
signal.loss.gives_back | bool | | the loss ends where it has lost seven tenths of what it had gained |
signal.stall.at_float_limit | bool | | the last losses are 87.3365 or 16.1181, the logarithm of the smallest probability that is computed |
signal.stall.after_explosion | bool | | after a rise to three times the level or more the loss stays flat and never regains its former best |
signal.stall.slow_descent | bool | | the loss falls by more than the noise, but by less than 2 % |
signal.stall.first_over_uniform | float | | first loss divided by ln(C), the loss of a guess among C classes or tokens | {MODEL_CONFIG}
signal.stall.last_over_uniform | float | | loss of the last fifth divided by ln(C) | {MODEL_CONFIG}
signal.stall.eval_still | bool | | the evaluation loss stays within 1 % over at least three evaluations |
signal.stall.eval_constant | bool | | at least five evaluation losses are equal in all digits |
signal.stall.no_progress | bool | | at least eight evaluation losses stay within 1 % and the training loss does not fall | evaluate more often
signal.stall.eval_at_chance | bool | | evaluation and training loss both stay at ln(C) of a usual number of classes |
signal.stall.frozen | bool | | most epochs end in the same loss and the same accuracy, to all digits | log loss and accuracy of every epoch
signal.stall.one_answer | bool | | training and held-out accuracy are one number each while the loss moves, or the second is that of a guess and the first stays beside it | log both accuracies of every epoch
signal.stall.accuracy_constant | bool | | the accuracy is the same number at every evaluation | log the accuracy beside the loss
signal.stall.accuracy_stuck | bool | | the last third of the accuracies, four or more, is one number | log the accuracy beside the loss
signal.stall.ctc | bool | | the loss is a CTC loss, by its name or the configuration |
signal.stall.error_rate_stuck | bool | | the word or character error rate stays at 100 % | log the word error rate at every evaluation
signal.stall.dead_share | float | | share of units that never fire, as logged | log the share of units whose output is zero over a batch
signal.layers.first_gradient | float | | median gradient norm of the first layer | {_LAYERS}
signal.layers.first_over_last | float | | gradient norm of the first layer over that of the last | {_LAYERS}
config.design.init_std_over_limit | float | | initial standard deviation over sqrt(2 / (5 * hidden size)), above which large models diverge | {USER_CONFIG}
config.design.post_norm | bool | | the norm layers stand after the residual sum | {USER_CONFIG}
config.design.layers | int | | number of layers | {USER_CONFIG}
signal.grad_norm.clipped_share | float | | share of gradient norms above the clipping threshold | {LOG_NORM}
signal.grad_norm.over_clip | float | | median gradient norm divided by the clipping threshold | {LOG_NORM}
signal.grad_norm.runs_away | bool | | the last gradient norms are ten times the median or more, while the loss does not fall | {LOG_NORM}
"""
