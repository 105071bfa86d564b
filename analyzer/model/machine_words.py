"""What trackers call the readings of a machine: how busy its devices are, their clocks and errors, the host's memory."""

from __future__ import annotations

from functools import lru_cache

from analyzer.lazy_regex import LazyRegex
from analyzer.record import NamedTuple

_OF_A_GPU = LazyRegex(
    r"(?:system[./]gpu[._](?P<gpu>\d{1,4})[._](?P<reading>\w{1,40})|gpu_(?P<pooled>(?:memory_)?utilization)(?:_\d{1,4})?)"
)
_READINGS = {
    "gpu": "gpu_busy",
    "memoryallocated": "gpu_memory",
    "memory_allocated": "gpu_memory",
    "memory_utilization": "gpu_memory",
    "smclock": "gpu_clock",
    "temp": "gpu_temperature",
    "uncorrectedmemoryerrors": "gpu_errors",
}
_OF_THE_HOST = {
    **dict.fromkeys(("system.cpu", "system/cpu", "cpu_utilization"), "cpu_busy"),
    **dict.fromkeys(
        ("system.memory", "system.memory_percent", "system.proc.memory.percent"), "host_memory_percent"
    ),
    **dict.fromkeys(
        (
            "host_memory_gib",
            "system.proc.memory.rssmb",
            "system.memory.used",
            "system.memory.used_bytes",
            "system.memory.usedgb",
            "system.memory.usedmb",
        ),
        "host_memory",
    ),
}


class MachineReading(NamedTuple):
    """What a name says of a machine."""

    # one of gpu_busy, gpu_memory and cpu_busy (percent), gpu_clock, gpu_temperature, gpu_errors, host_memory_percent, host_memory
    # (an amount); empty if it is none of these
    kind: str
    gpu: int | None = None  # number of the device, None where the name has none


@lru_cache(maxsize=4096)
def read_machine(name: str) -> MachineReading:
    """What the name of a metric says of the machine.

    >>> read_machine("system.gpu.3.smClock"), read_machine("system/gpu_0_utilization_percentage").kind
    (MachineReading(kind='gpu_clock', gpu=3), 'gpu_busy')
    >>> read_machine("gpu_memory_utilization_1").kind, read_machine("system.memory").kind, read_machine("loss").kind
    ('gpu_memory', 'host_memory_percent', '')
    """
    low = name.lower()
    if "gpu" not in low:
        busy = low.startswith("system/cpu_utilization")
        return MachineReading("cpu_busy" if busy else _OF_THE_HOST.get(low, ""))
    match = _OF_A_GPU.fullmatch(low)
    if match is None:
        return MachineReading("")
    reading = match["pooled"] or match["reading"]
    kind = "gpu_busy" if reading.startswith("utilization") else _READINGS.get(reading, "")
    return MachineReading(kind, int(match["gpu"]) if match["gpu"] else None)
