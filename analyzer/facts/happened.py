"""What happened in a run, as records made of its facts."""

from __future__ import annotations

from collections.abc import Mapping

from analyzer.model.happened import DeviceTime, Onset
from analyzer.model.tables import Scalar


def onset(facts: Mapping[str, Scalar]) -> Onset | None:
    """When trouble began, if a step is known for it."""
    step = facts.get("signal.onset.step")
    if not isinstance(step, int):
        return None
    return Onset(step, str(facts.get("signal.onset.when", "")), str(facts.get("signal.onset.what", "")))


def device_time(facts: Mapping[str, Scalar]) -> DeviceTime | None:
    """The step time split of the profiler's traces, if they hold events of a device."""

    def number(name: str) -> float | None:
        value = facts.get(f"signal.trace.{name}")
        return value if isinstance(value, float) else None

    window_s, idle = number("window_s"), number("idle_share")
    if window_s is None or idle is None:
        return None
    return DeviceTime(
        window_s=window_s,
        compute=number("compute_share") or 0.0,
        communication=number("communication_share") or 0.0,
        copies=number("copy_share") or 0.0,
        idle=idle,
        host_late=number("host_wait_share"),
        step_s=number("step_s"),
        top_operator=str(facts.get("signal.trace.top_operator", "")),
        top_operator_share=number("top_operator_share"),
        top_kernel=str(facts.get("signal.trace.top_kernel", "")),
    )
