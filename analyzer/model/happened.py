"""What happened in a run, as its answer tells it: when trouble began, where the time of the devices went."""

from __future__ import annotations

from analyzer.record import NamedTuple


class Onset(NamedTuple):
    """When trouble began."""

    step: int  # first bad step
    when: str = ""  # the same in words: a step, or an interval where a printed value is a mean over a window
    what: str = ""  # what is not as it should be from there on


class DeviceTime(NamedTuple):
    """Where the time of the devices went, by traces of the profiler; shares are of ``window_s``."""

    window_s: float  # time between the first and the last event of the device, over all ranks, in seconds
    compute: float  # share in which a kernel computes
    communication: float  # share in which communication runs and nothing computes
    copies: float  # share in which only copies and fills run
    idle: float  # share in which the device does nothing
    # part of ``idle`` in which the host had not issued what comes next; None if unknown
    host_late: float | None = None
    step_s: float | None = None  # median duration of a marked step, in seconds; None if none is marked
    top_operator: str = ""  # operator of the host whose kernels take most time; empty if unknown
    top_operator_share: float | None = None  # their share
    top_kernel: str = ""  # kernel with the largest total time; empty if unknown
