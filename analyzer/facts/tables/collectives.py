"""Facts about collectives that timed out, compared over ranks, and about ranks that are slower than others."""

from __future__ import annotations

_RECORD = "set TORCH_NCCL_DUMP_ON_TIMEOUT=1 and TORCH_FR_BUFFER_SIZE=2000 for the next run, and keep the log of every rank"
_RANK_LOGS = "keep the log of every rank (torchrun --log-dir, --tee 3) and diagnose the whole folder"
_STACKS = "take the stacks of all ranks (py-spy dump --pid) before the job is ended"
_STEP_TIME = "log the step time of every rank"

TABLE = f"""
signal.collective.timed_out | bool | | ranks waited for others until a timeout, whichever library reports it |
signal.collective.ranks_timed_out | int | ranks | ranks whose watchdog reports a timeout | {_RANK_LOGS}
signal.collective.op | str | | operation that most ranks waited for | {_RANK_LOGS}
signal.collective.group | str | | process group of that operation | {_RANK_LOGS}
signal.collective.seq | int | | number of that operation in its group | {_RANK_LOGS}
signal.collective.timeout_s | float | s | timeout of the process group |
signal.collective.is_barrier | bool | | the operation that timed out carries a single element: a barrier or a flag, no gradients |
signal.collective.is_p2p | bool | | the operation that timed out is a send or a receive between two ranks |
signal.collective.same_everywhere | bool | | all ranks that timed out waited at the same number for the same operation of the same size | {_RANK_LOGS}
signal.collective.different_count | bool | | ranks of one group stand at different numbers of operations | {_RECORD}
signal.collective.different_op | bool | | at one number of one group the ranks run different operations | {_RECORD}
signal.collective.different_size | bool | | at one number of one group the ranks run the same operation with different sizes | {_RECORD}
signal.collective.lagging_rank | int | | rank that stands at a smaller number than all others of its group, or that the report of torch names | {_RECORD}
signal.collective.missing_ranks | int | ranks | ranks that did not join or whose watchdog reports nothing while the others time out | {_RECORD}
signal.collective.missing_rank | int | | the one rank that did not join, or whose watchdog reports nothing while all others time out | {_RECORD}
signal.collective.missing_where | str | | that rank and its host in words | {_RECORD}
signal.collective.missing_rank_silent | bool | | that rank has a log, and no line of it reports an error | {_RANK_LOGS}
signal.collective.missing_in_other_call | bool | | every rank that did not join was itself waiting in a collective of another library when its peers ended | {_RANK_LOGS}
signal.collective.during_phase | str | | what the ranks did when the waiting began: startup, preprocessing, evaluation, saving or steps | keep time stamps in the log, and the stack of every rank (py-spy dump)
signal.collective.gap_s | float | s | time from the start of that phase to the first timeout | keep time stamps in the log
signal.collective.gap_equals_timeout | bool | | the phase began about one timeout before the watchdog spoke | keep time stamps in the log
signal.collective.unused_parameters_differ | bool | | the lists of parameters without a gradient differ between ranks | set TORCH_DISTRIBUTED_DEBUG=DETAIL
signal.straggler.ranks | int | ranks | ranks whose own step time is known | {_STEP_TIME}
signal.straggler.rank | int | | slowest rank by its own step time | {_STEP_TIME}
signal.straggler.ratio | float | | median step time of that rank divided by the median of the others | {_STEP_TIME}
signal.straggler.wait_share | float | | share of all waiting for slower ranks that this rank causes | {_STEP_TIME}
signal.straggler.persistent | bool | | it is the slowest in at least 70 % of the steps | {_STEP_TIME}
signal.straggler.ranks_agree | bool | | the median step times of all ranks agree within 5 % | {_STEP_TIME}
signal.communication.grew | float | | time of the gradient communication in the last fifth of the run divided by that in the first fifth | log the timers of the step (DeepSpeed: wall_clock_breakdown)
signal.compute.grew | float | | time of forward and backward in the last fifth of the run divided by that in the first fifth | log the timers of the step (DeepSpeed: wall_clock_breakdown)
signal.replicas.grad_norm_differs | bool | | ranks that should share their gradients log different gradient norms at the same steps | log the gradient norm on every rank after the reduction
signal.silence.after_failure_s | float | s | time for which the job ran on after its first failure until something ended it | keep the scheduler's record beside the logs
signal.silence.before_end_s | float | s | time between the last step that was logged and the last stamped line | keep the scheduler's record beside the logs
signal.silence.median_steps | float | | the same time in median steps | keep the scheduler's record beside the logs
signal.stacks.processes | int | | processes of which somebody took the stack | {_STACKS}
signal.stacks.apart | int | | processes, fewer than half, that stand elsewhere than all others | {_STACKS}
signal.stacks.apart_at | str | | where these stand: what they do, or file and line | {_STACKS}
signal.stacks.others_at | str | | where all others stand | {_STACKS}
"""
