"""Facts about gradient norms and the learning rate."""

from __future__ import annotations

from analyzer.facts.tables.hows import LOG_NORM

TABLE = f"""
signal.nonfinite_grad.seen | bool | | a gradient norm was NaN, infinite or DeepSpeed's -1, or anomaly mode or a guard said so | {LOG_NORM}
signal.nonfinite_grad.first_step | int | step | first step with a non-finite gradient norm | {LOG_NORM}
signal.nonfinite_grad.count | int | | non-finite gradient norms | {LOG_NORM}
signal.nonfinite_grad.share | float | | share of gradient norms that are not finite | {LOG_NORM}
signal.nonfinite_grad.share_after_onset | float | | share of gradient norms that are not finite from the first such step on | {LOG_NORM}
signal.nonfinite_grad.from_first_log | bool | | already the first logged gradient norm is not finite | {LOG_NORM}
signal.nonfinite_grad.healthy_steps_before | int | steps | steps with a finite gradient norm before the first bad one | {LOG_NORM}
signal.nonfinite_grad.isolated | bool | | at most three non-finite norms in a row, with finite ones before and after | {LOG_NORM}
signal.nonfinite_grad.recovers | bool | | the last fifth of the gradient norms is finite again | {LOG_NORM}
signal.nonfinite_grad.with_finite_loss | bool | | the loss of those steps is a genuine finite number, not a mask | log the loss and grad_norm of the same step
signal.nonfinite_grad.harmful | bool | | non-finite gradients make up at least half of the steps from their first on, or end the run |
signal.nonfinite_grad.overcome_by_restart | bool | | an earlier attempt had non-finite norms that a restart has passed since |
signal.grad_norm.seen | bool | | a gradient norm was logged | {LOG_NORM}
signal.grad_norm.points | int | | points of the gradient norm | {LOG_NORM}
signal.grad_norm.median | float | | median of the finite norms | {LOG_NORM}
signal.grad_norm.max | float | | largest finite norm | {LOG_NORM}
signal.grad_norm.spike_ratio | float | | largest finite norm divided by the median of the finite norms | {LOG_NORM}
signal.grad_norm.growth_before_onset | float | | median of the last finite norms before the first bad step over the median before them | {LOG_NORM}
signal.grad_norm.zero_share | float | | share of norms that are exactly 0 | {LOG_NORM}
signal.grad_norm.zero_with_loss | bool | | at two steps or more the norm is exactly 0 although the loss is finite and above 0 | {LOG_NORM}
signal.grad_norm.vanishing | bool | | the norm fell by 100 times or more and stays there, without being exactly 0 | {LOG_NORM}
signal.learning_rate.seen | bool | | a learning rate was logged |
signal.learning_rate.peak | float | | largest learning rate logged |
signal.learning_rate.zero_share | float | | share of logged learning rates that are exactly 0 |
signal.learning_rate.always_zero | bool | | every logged learning rate is exactly 0 |
signal.learning_rate.frozen | bool | | the learning rate stands still while gradients are not finite, although the schedule moves: steps are skipped |
signal.learning_rate.at_onset_share | float | | learning rate at the first bad step divided by its peak |
signal.learning_rate.full_at_once | bool | | the first logged learning rate is already the peak |
signal.learning_rate.rising_at_onset | bool | | the learning rate was still rising at the first bad step |
"""
