"""Merge the signals of all detectors into one flat namespace of facts, and tell of these what happened in the run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from analyzer.errors import did_you_mean
from analyzer.facts.catalog import spec_of, suggest
from analyzer.guard import STRICT, Guard
from analyzer.model.happened import DeviceTime, Onset
from analyzer.model.signal import FactSpec, FactValue, Signal
from analyzer.model.tables import Scalar
from analyzer.record import dataclass, field

_TYPES: Mapping[str, type] = {"bool": bool, "int": int, "float": float, "str": str}


class FactDeclarationError(ValueError):
    """A detector emitted a fact that the catalogue does not declare, of another type, or twice."""


@dataclass(frozen=True)
class Facts(Mapping[str, FactValue]):
    """Known facts by name; a name that is absent is unknown."""

    values_by_name: Mapping[str, FactValue] = field(default_factory=dict)  # fact name to value and provenance
    plain: Mapping[str, Scalar] = field(default_factory=dict)  # fact name to bare value, as conditions use it

    def __getitem__(self, name: str) -> FactValue:
        return self.values_by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)

    def meaning(self, name: str) -> str:
        """What a fact says, in words; its name if nobody declared it."""
        spec = spec_of(name)
        return name if spec is None else spec.meaning

    def how(self, name: str) -> str:
        """How to obtain a fact that is unknown; empty if only the log can give it."""
        spec = spec_of(name)
        return "" if spec is None else spec.how


def build_facts(signals: Iterable[Signal], guard: Guard = STRICT) -> Facts:
    """Merge signals.

    Args:
        signals: What the detectors yielded.
        guard: Notes a signal that is not as declared; its further facts are left out.

    Raises:
        FactDeclarationError: A name is not in the catalogue, has another type there, or comes twice.
    """
    found: dict[str, FactValue] = {}
    for signal in signals:
        with guard.part(f"facts of {signal.kind}"):
            for name, fact in signal.facts.items():
                found[name] = _declared(name, fact, signal.kind, found)
    return Facts(found, {name: fact.value for name, fact in found.items()})


def _declared(name: str, fact: FactValue, kind: str, found: Mapping[str, FactValue]) -> FactValue:
    """A fact as the catalogue declares it."""
    spec = spec_of(name)
    if spec is None:
        raise FactDeclarationError(
            f"{kind} emits {name!r}, which no table of facts declares{did_you_mean(suggest(name))}"
        )
    if name in found:
        raise FactDeclarationError(f"{kind} emits {name!r}, which another signal has emitted already")
    return _typed(spec, fact, kind)


def _typed(spec: FactSpec, fact: FactValue, kind: str) -> FactValue:
    """The fact with the declared type: a whole number may stand for a float, nothing else is converted."""
    value = fact.value
    if spec.name.startswith("event.") and spec.dtype == "str":
        return fact  # fields of a line have the type that its pattern declares
    if spec.dtype == "float" and isinstance(value, int) and not isinstance(value, bool):
        return FactValue(float(value), fact.refs)
    if type(value) is not _TYPES[spec.dtype]:
        raise FactDeclarationError(
            f"{kind} emits {spec.name!r} as {type(value).__name__}; the catalogue says {spec.dtype}"
        )
    return fact


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
