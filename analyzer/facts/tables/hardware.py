"""Facts about devices and host memory as metrics show them."""

from __future__ import annotations

_SYSTEM = "record system metrics (W&B does so by itself), or nvidia-smi --query-gpu=clocks.sm,temperature.gpu --format=csv -l 60"
_MEMORY = "record the memory of the process over time: psrecord, W&B system metrics, or sacct --format=MaxRSS"

TABLE = f"""
hardware.uncorrected_errors | int | | uncorrected memory errors that a GPU counted while the run was recorded | {_SYSTEM}
hardware.slow_clock_gpu | int | | GPU whose clock stays at least 10 % below that of the others | {_SYSTEM}
hardware.slow_clock_ratio | float | | its median clock divided by the median of the others | {_SYSTEM}
hardware.hot_gpu_c | float | °C | median temperature of the hottest GPU | {_SYSTEM}
hardware.step_time_ratio_at_restart | float | | median step time after the last restart divided by that before it | log the time of every step
hardware.host_changed_at_restart | bool | | the last restart moved the run to other hosts | log the host names at the start
hardware.host_memory_grows | bool | | host memory rises through the whole run and ends at 1.3 times its early level or more | {_MEMORY}
hardware.host_memory_ratio | float | | host memory of the last fifth divided by that of the second fifth | {_MEMORY}
hardware.host_memory_peak_percent | float | % | largest share of the host's memory in use | {_MEMORY}
"""
