"""Facts about speed: step times, throughput, waiting for data, utilisation, memory over time."""

from __future__ import annotations

_LOG_TIME = "log the time of each step (DeepSpeed: wall_clock_breakdown; Megatron: --log-throughput; Lightning: profiler=simple)"
_LOG_DATA = "log the time that a step waits for data (time around next(loader))"
_LOG_GPU = "record GPU utilisation while it trains (W&B system metrics, or nvidia-smi dmon)"
_LOG_MEMORY = "log torch.cuda.memory_allocated() every few steps"

TABLE = f"""
signal.step_time.seen | bool | | the time of single steps is known | {_LOG_TIME}
signal.step_time.points | int | | points of the step time | {_LOG_TIME}
signal.step_time.median_s | float | s | median time of a step after the first two points | {_LOG_TIME}
signal.step_time.first_ratio | float | | first logged step time divided by the median | {_LOG_TIME}
signal.step_time.outliers | int | | steps that took more than three times the median, the first two points left out | {_LOG_TIME}
signal.step_time.outlier_share | float | | share of the whole time that those steps took beyond the median | {_LOG_TIME}
signal.step_time.outliers_on_grid | bool | | at least 70 % of them lie on a regular grid of steps | {_LOG_TIME}
signal.step_time.outlier_period | int | steps | distance of that grid | {_LOG_TIME}
signal.step_time.outliers_at_saves | bool | | at least 70 % of them are steps at which a checkpoint was saved, or the next logged ones |
signal.step_time.outliers_at_evals | bool | | at least 70 % of them are steps at which an evaluation ran, or the next logged ones |
signal.throughput.seen | bool | | throughput or step time is known over the course of the run | {_LOG_TIME}
signal.throughput.dropped | bool | | the last fifth ran at less than 0.8 of the speed of the first fifth, and by more than the noise | {_LOG_TIME}
signal.throughput.change_ratio | float | | speed of the last fifth divided by that of the first fifth | {_LOG_TIME}
signal.throughput.drop_step | int | step | step at which the speed fell most | {_LOG_TIME}
signal.throughput.drop_sudden | bool | | the fall happened within a twentieth of the run | {_LOG_TIME}
signal.throughput.drop_at_restart | bool | | the fall coincides with a restart | {_LOG_TIME}
signal.pace.change | float | | time for the same work at the end over that at the start, over a few rows | {_LOG_TIME}
signal.pace.slower | bool | | a step or an epoch takes a fifth more time at the end than at the start, rising over the rows | {_LOG_TIME}
signal.pace.tokens_slow | bool | | fewer than 1000 tokens a second | {_LOG_TIME}
signal.pace.wait_share | float | | share of a step that waits for data, where both times are printed in words of the program's own | {_LOG_DATA}
signal.pace.memory_grows | bool | | a printed memory grows, or free memory falls, in every row | {_LOG_MEMORY}
signal.pace.memory_ratio | float | | its last value over its second | {_LOG_MEMORY}
signal.pace.memory_name | str | | what it is called |
signal.data_wait.share | float | | share of the step time that waits for data | {_LOG_DATA}
signal.communication.share | float | | median share of a step in exposed gradient communication, as the timers of the trainer print it | {_LOG_TIME}
signal.eval_time.share | float | | share of the run's time that evaluations took |
signal.startup.wait_s | float | s | time from the first stamped line to the first logged step |
signal.gpu.utilization_p95 | float | percent | 95th percentile of GPU utilisation over all GPUs | {_LOG_GPU}
signal.gpu.utilization_p5 | float | percent | 5th percentile of GPU utilisation | {_LOG_GPU}
signal.gpu.utilization_mean | float | percent | mean GPU utilisation | {_LOG_GPU}
signal.gpu.memory_p95 | float | percent | 95th percentile of the share of GPU memory in use | {_LOG_GPU}
signal.gpu.idle_share | float | | share of the samples with a GPU utilisation below 10 % | {_LOG_GPU}
signal.cpu.utilization_p95 | float | percent | 95th percentile of CPU utilisation | {_LOG_GPU}
signal.gpu_memory.grows | bool | | memory held by tensors rises with the step: rank correlation of 0.8 or more and 10 % or more in total | {_LOG_MEMORY}
signal.gpu_memory.growth_ratio | float | | last fifth of the memory held by tensors divided by the first fifth | {_LOG_MEMORY}
signal.gpu_memory.rank_spread | float | | largest peak memory of a rank divided by the smallest | {_LOG_MEMORY}
"""
