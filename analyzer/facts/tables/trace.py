"""Facts from traces: PyTorch's flight recorder, and timing traces of the profiler."""

from __future__ import annotations

_RECORD = "set TORCH_FR_BUFFER_SIZE=2000 and TORCH_NCCL_DUMP_ON_TIMEOUT=1, and give the dumps of all ranks"
_PROFILE = "record 3 to 10 steps with torch.profiler.profile(...) and put the exported trace beside the log"
_PROFILE_ALL = "export a profiler trace of the same steps on every rank"

TABLE = f"""
signal.flight.ranks | int | ranks | ranks of which a dump of the flight recorder is at hand | {_RECORD}
signal.flight.stuck | bool | | at least one rank had issued a collective that never finished | {_RECORD}
signal.flight.waiting_ranks | int | ranks | ranks with a collective that was issued and not finished | {_RECORD}
signal.flight.ranks_without_dump | int | ranks | members of the process groups of which no dump is at hand | {_RECORD}
signal.flight.without_dump | str | | those ranks | {_RECORD}
signal.flight.same_everywhere | bool | | all ranks with a dump had issued the collectives at which the others stand, and none had finished them | {_RECORD}
signal.flight.circular | bool | | ranks wait for one another in different process groups | {_RECORD}
signal.flight.faulty_count | int | ranks | ranks that others wait for, or whose device stopped, and that wait for nobody themselves | {_RECORD}
signal.flight.faulty_ranks | str | | those ranks | {_RECORD}
signal.flight.never_issued | bool | | at least one of those never issued the collective for which the others wait | {_RECORD}
signal.flight.host_still | bool | | the ranks that never issued it had finished all that they had issued before | {_RECORD}
signal.flight.few_ahead | bool | | most members of that group never issued it: only a few went on | {_RECORD}
signal.flight.device_stopped | bool | | the device of at least one rank did not finish a collective that its peers finished | {_RECORD}
signal.flight.group | str | | process group in which such a rank was missed first | {_RECORD}
signal.flight.last_issued | int | | number of the last collective that this rank issued there | {_RECORD}
signal.flight.last_finished | int | | number of the last collective that it finished there | {_RECORD}
signal.flight.behind_by | int | | collectives that its peers had issued there beyond | {_RECORD}
signal.flight.unmatched_receive | str | | a receive whose sender has nothing under way | {_RECORD}
signal.flight.unmatched_sender | int | | rank of that sender | {_RECORD}
signal.flight.different_operation | bool | | at one number of one group ranks had issued different operations | {_RECORD}
signal.flight.different_type | bool | | at one number of one group ranks had issued one operation with different types | {_RECORD}
signal.flight.different_size | bool | | at one number of one group ranks had issued one operation with different numbers of elements | {_RECORD}
signal.flight.mismatch | str | | what the odd ranks issued beside what the others issued | {_RECORD}
signal.flight.mismatch_op | str | | operation of the majority there | {_RECORD}
signal.flight.mismatch_seq | int | | number of that collective in its group | {_RECORD}
signal.flight.mismatch_group | str | | process group of that collective | {_RECORD}
signal.flight.mismatch_ranks | str | | ranks that differ from the majority there | {_RECORD}
signal.trace.traces | int | | timing traces of the profiler at hand | {_PROFILE}
signal.trace.step_s | float | s | median duration of a marked step in the trace | {_PROFILE}
signal.trace.window_s | float | s | time between the first and the last event of the device, over all ranks | {_PROFILE}
signal.trace.compute_share | float | | share of that time in which a kernel computes | {_PROFILE}
signal.trace.communication_share | float | | share in which communication runs and nothing computes | {_PROFILE}
signal.trace.communication_overlap | float | | share of the communication beside which something computes | {_PROFILE}
signal.trace.copy_share | float | | share in which only copies and fills run | {_PROFILE}
signal.trace.host_copy_share | float | | share in which a copy from host to device runs | {_PROFILE}
signal.trace.pageable_share | float | | share of the time of those copies that comes from memory that is not pinned | {_PROFILE}
signal.trace.idle_share | float | | share in which the device does nothing | {_PROFILE}
signal.trace.host_wait_share | float | | share in which the device is idle and the host has not issued what comes next | {_PROFILE}
signal.trace.kernel_wait_share | float | | share in which the device is idle although the host has issued what comes next | {_PROFILE}
signal.trace.sync_share | float | | time of the host in calls that wait for the device, as a share of that time | {_PROFILE}
signal.trace.data_share | float | | share of the trace in which the host asks a loader for the next batch | {_PROFILE}
signal.trace.kernel_median_us | float | us | median duration of a kernel that computes | {_PROFILE}
signal.trace.launch_median_us | float | us | median duration of a launch call | {_PROFILE}
signal.trace.shorter_than_launch | float | | share of the kernels that are shorter than their own launch call | {_PROFILE}
signal.trace.top_kernel | str | | kernel with the largest total time | {_PROFILE}
signal.trace.top_operator | str | | operator of the host whose kernels take most time | {_PROFILE}
signal.trace.top_operator_share | float | | their time as a share of the window | {_PROFILE}
signal.trace.top_shapes | str | | shapes of the inputs of its longest call | record an execution trace (torch.profiler.ExecutionTraceObserver) beside the profile
signal.trace.ranks | int | ranks | ranks whose traces can be compared | {_PROFILE_ALL}
signal.trace.straggler_rank | int | | rank that computes longest | {_PROFILE_ALL}
signal.trace.straggler_ratio | float | | its time of computation divided by the median of the others | {_PROFILE_ALL}
signal.trace.straggler_waits_least | bool | | it is the rank that spends least time in communication | {_PROFILE_ALL}
signal.trace.ranks_agree | bool | | the times of computation of all ranks agree within 5 % | {_PROFILE_ALL}
"""
