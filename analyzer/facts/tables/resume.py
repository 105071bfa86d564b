"""Facts about restarts: what loss, gradient norm and learning rate do where a run was resumed."""

from __future__ import annotations

_BOTH_LOGS = "give the log of the launch before the restart too: put both into one directory"

TABLE = f"""
signal.resume.count | int | | restarts that the training curve shows | {_BOTH_LOGS}
signal.resume.step | int | step | first step after the last restart | {_BOTH_LOGS}
signal.resume.from_zero | bool | | the step counter began anew although the launch before had come far | {_BOTH_LOGS}
signal.resume.loss_back_at_start | bool | | the first losses after the restart are those of an untrained model again | {_BOTH_LOGS}
signal.resume.loss_ratio | float | | first losses after the last restart divided by the last ones before it | {_BOTH_LOGS}
signal.resume.jumps_up | bool | | the loss is higher right after the last restart, by more than its noise and 3 % | {_BOTH_LOGS}
signal.resume.jumps_down | bool | | the loss is lower right after the last restart, by more than its noise and 3 % | {_BOTH_LOGS}
signal.resume.jump_is_large | bool | | the loss after the restart is at least 15 % higher than before | {_BOTH_LOGS}
signal.resume.decays_slowly | bool | | a jump up lasts for more than ten logged points | {_BOTH_LOGS}
signal.resume.down_then_up | bool | | the loss steps down at the restart and back up later in the same launch | {_BOTH_LOGS}
signal.resume.small_spike_each_time | bool | | every one of at least two restarts shows a small loss spike that is gone within ten points | {_BOTH_LOGS}
signal.resume.grad_norm_ratio | float | | first gradient norms after the last restart divided by the last ones before it | {_BOTH_LOGS}
signal.resume.learning_rate_ratio | float | | learning rate right after the last restart divided by that right before it | {_BOTH_LOGS}
signal.resume.learning_rate_restarts | bool | | the learning rate after the restart repeats the beginning of the schedule | {_BOTH_LOGS}
signal.resume.checkpoint_seen | bool | | a checkpoint had been saved, or was loaded, before the last restart |
"""
