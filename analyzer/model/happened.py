"""What happened in a run, as its answer tells it: when trouble began, where the time of the devices went."""

from __future__ import annotations

from analyzer.record import NamedTuple


class Onset(NamedTuple):
    """When trouble began.

    Attributes:
        step: First bad step.
        when: The same in words: a step, or an interval where a printed value is a mean over a window.
        what: What is not as it should be from there on.
    """

    step: int
    when: str = ""
    what: str = ""


class DeviceTime(NamedTuple):
    """Where the time of the devices went, by traces of the profiler; shares are of ``window_s``.

    Attributes:
        window_s: Time between the first and the last event of the device, over all ranks, in seconds.
        compute: Share in which a kernel computes.
        communication: Share in which communication runs and nothing computes.
        copies: Share in which only copies and fills run.
        idle: Share in which the device does nothing.
        host_late: Part of ``idle`` in which the host had not issued what comes next; None if unknown.
        step_s: Median duration of a marked step, in seconds; None if none is marked.
        top_operator: Operator of the host whose kernels take most time; empty if unknown.
        top_operator_share: Their share.
        top_kernel: Kernel with the largest total time; empty if unknown.
    """

    window_s: float
    compute: float
    communication: float
    copies: float
    idle: float
    host_late: float | None = None
    step_s: float | None = None
    top_operator: str = ""
    top_operator_share: float | None = None
    top_kernel: str = ""
