"""What the driver's tools sample of GPUs: ``nvidia-smi --format=csv -l``, and DCGM's exporter as Prometheus text.

    timestamp, name, pci.bus_id, temperature.gpu, utilization.gpu [%], memory.used [MiB], power.draw [W]
    2026/03/04 10:00:00.123, NVIDIA A100-SXM4-80GB, 00000000:3B:00.0, 41, 97 %, 30212 MiB, 312.12 W

    DCGM_FI_DEV_GPU_TEMP{gpu="0",modelName="NVIDIA A100-SXM4-80GB",Hostname="node-a"} 61
    DCGM_FI_DEV_XID_ERRORS{gpu="2",Hostname="node-a"} 79

Points get the names under which W&B keeps the same: ``system.gpu.0.temp``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.scalar_text import metric_value
from analyzer.ingest.source_text import bounded_lines
from analyzer.ingest.text.events.patterns import all_patterns, match_pattern
from analyzer.ingest.text.prefixes import unix_time
from analyzer.lazy_regex import LazyRegex
from analyzer.model.tables import Scalar

_COLUMNS = {
    "temperature.gpu": "temp",
    "utilization.gpu": "gpu",
    "utilization.memory": "memory",
    "memory.used": "memoryAllocatedMiB",
    "power.draw": "powerWatts",
    "clocks.sm": "smClock",
    "clocks.current.sm": "smClock",
    "clocks.mem": "memoryClock",
    "ecc.errors.uncorrected.volatile.total": "uncorrectedMemoryErrors",
    "ecc.errors.corrected.volatile.total": "correctedMemoryErrors",
}
_FIELDS = {
    "DCGM_FI_DEV_GPU_TEMP": "temp",
    "DCGM_FI_DEV_GPU_UTIL": "gpu",
    "DCGM_FI_DEV_MEM_COPY_UTIL": "memory",
    "DCGM_FI_DEV_FB_USED": "memoryAllocatedMiB",
    "DCGM_FI_DEV_POWER_USAGE": "powerWatts",
    "DCGM_FI_DEV_SM_CLOCK": "smClock",
    "DCGM_FI_DEV_MEM_CLOCK": "memoryClock",
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": "uncorrectedMemoryErrors",
    "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL": "correctedMemoryErrors",
}
_XID = "DCGM_FI_DEV_XID_ERRORS"

_SAMPLE = LazyRegex(
    r"^(?P<field>DCGM_FI_\w{1,80})\{(?P<labels>[^}]{0,2000})\}\s{1,4}(?P<value>\S{1,40})(?:\s{1,4}(?P<ms>\d{10,13}))?\s{0,4}$"
)
_LABEL = LazyRegex(r'(\w{1,40})="([^"]{0,200})"')
_UNIT = LazyRegex(r"\s{0,2}\[[^\]]{1,20}\]$")

LONGEST_LINE = 10_000
MOST_GPUS = 1024


class GpuSamples:
    """Reads samples of GPUs."""

    def sniff(self, candidate: Candidate) -> Match:
        """A heading with columns of nvidia-smi, or lines of DCGM."""
        head = candidate.head[:8192].decode("utf-8", "replace").lstrip("\ufeff")
        if any(_SAMPLE.match(line) for line in head.splitlines()[:20]):
            return Match.SURE
        return Match.SURE if len(_known(_names(head.partition("\n")[0]))) >= 2 else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Every known column becomes points of its GPU; an Xid that DCGM keeps becomes an event."""
        lines = _lines(source, out)
        number, first = next(lines, (0, ""))
        names = _names(first)
        if _known(names):
            _read_table(names, lines, out)
            return
        _read_sample(first, number, out)
        for at, line in lines:
            _read_sample(line, at, out)


def _names(line: str) -> list[str]:
    return [_UNIT.sub("", name.strip().strip('"')).lower() for name in line[:LONGEST_LINE].split(",")]


def _known(names: Sequence[str]) -> dict[int, str]:
    return {at: _COLUMNS[name] for at, name in enumerate(names) if name in _COLUMNS}


def _lines(source: OpenSource, out: SourceWriter) -> Iterator[tuple[int, str]]:
    for number, line in bounded_lines(source, out):
        yield number, line[:LONGEST_LINE].decode("utf-8", "replace").strip()


def _read_table(names: Sequence[str], lines: Iterator[tuple[int, str]], out: SourceWriter) -> None:
    columns = _known(names)
    who = next(
        (
            names.index(name)
            for name in ("index", "pci.bus_id", "gpu_bus_id", "uuid", "gpu_uuid")
            if name in names
        ),
        None,
    )
    when = names.index("timestamp") if "timestamp" in names else None
    model = next((names.index(name) for name in ("name", "gpu_name") if name in names), None)
    gpus: dict[str, int] = {}
    for number, line in lines:
        cells = [cell.strip().strip('"') for cell in line.split(",")]
        if len(cells) != len(names) or cells[0].lower() == names[0]:
            continue  # torn, or the heading once more
        label = cells[who] if who is not None else "0"
        if label not in gpus and len(gpus) >= MOST_GPUS:
            continue
        gpu = gpus.setdefault(label, int(label) if label.isdecimal() and len(label) < 5 else len(gpus))
        time_s = None if when is None else unix_time(cells[when].replace("/", "-"))
        for at, name in columns.items():
            value = metric_value(cells[at].split()[0]) if cells[at] else None
            if value is not None:
                out.metric(f"system.gpu.{gpu}.{name}", value, line=number, time_s=time_s)
        if model is not None and number == 2:
            out.layout(gpu_name=cells[model], line=number)
    if gpus:
        out.layout(gpus=len(gpus))


def _read_sample(line: str, number: int, out: SourceWriter) -> None:
    match = _SAMPLE.match(line)
    if match is None:
        return
    labels = dict(_LABEL.findall(match["labels"]))
    gpu, value = labels.get("gpu", "0"), metric_value(match["value"])
    if value is None or not gpu.isdigit() or len(gpu) > 4:
        return
    time_s = int(match["ms"]) / 1e3 if match["ms"] else None
    if name := _FIELDS.get(match["field"]):
        out.metric(f"system.gpu.{int(gpu)}.{name}", value, line=number, time_s=time_s)
    if "modelName" in labels:
        out.layout(gpu_name=labels["modelName"], line=number)
    if match["field"] == _XID and value > 0:
        where = {"host": labels["Hostname"]} if "Hostname" in labels else {}
        for kind, role in _kinds_of(int(value)):
            fields: dict[str, Scalar] = {**where, "code": int(value)} if kind == "gpu_xid" else {**where}
            out.event(kind, line, role=role, line=number, time_s=time_s, fields=fields)


def _kinds_of(code: int) -> Iterator[tuple[str, str]]:
    """The kinds and roles that the kernel's line about the same Xid has."""
    text = f"NVRM: Xid (PCI:0000:00:00): {code}, pid=1, name=python, "
    for pattern in all_patterns():
        if "xid" in pattern.kind and match_pattern(pattern, text) is not None:
            yield pattern.kind, pattern.role
