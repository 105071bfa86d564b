"""One run as rows: what of a diagnosis and of the run enters the dataset. The columns stand in ``store.py``."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from analyzer.errors import UnreadableFileError
from analyzer.ingest.base import OpenSource, TruncatedSourceError
from analyzer.ingest.discover import Loaded
from analyzer.ingest.masking import clean_text
from analyzer.ingest.walk import make_candidate
from analyzer.model.diagnosis import Diagnosis, Evidence, Finding, Place
from analyzer.model.run import Run
from analyzer.model.wording import REPORTED
from analyzer.record import dataclass
from analyzer.render.sentences import because_here
from analyzer.triage.specs import Task
from analyzer.version import __version__

# The lasting part of a log line: what remains when numbers, addresses, paths and names of hosts are masked.
#
# Our own masks and not drain3: its tree depends on the order in which lines come, so two engines would disagree; and
# not scikit-learn, whose import costs a second. What is masked here differs between two runs with the same fault.
MAX_TEMPLATE = 240
"""Characters of a template; the head of a message is what two failures of one cause share."""

_LEADING = re.compile(
    r"^(?:\[(?:rank|default)?\s?\d{1,6}\]:?\s*)?"
    r"(?:[\[(]?\d{4}[-/.]\d{2}[-/.]\d{2}[T ,]\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})?[\])]?[\s:,|-]*)?"
)
_MASKS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b[a-z][a-z0-9+.-]{1,10}://[^\s'\"<>]+"), "<url>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b"), "<address>"),
    (re.compile(r"\b\d{4}[-/.]\d{2}[-/.]\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?)?\b|\b\d{2}:\d{2}:\d{2}(?:[.,]\d+)?\b"), "<time>"),
    (re.compile(r"(?<![\w.])(?:/[\w.@+=~-]+){2,}/?"), "<path>"),
    (re.compile(r"\b0x[0-9a-f]+\b", re.IGNORECASE), "<n>"),
    (re.compile(r"(?i)\b(?:[a-z0-9]{1,20}-){0,3}(?:node|host|dgx|hgx|nid|ip|compute|cn)[-_]?\d[\w.-]{0,60}"), "<host>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"), "<id>"),
    (re.compile(r"[-+]?(?<![A-Za-z])\d+(?:[.,]\d+)*(?:e[-+]?\d+)?", re.IGNORECASE), "<n>"),
)  # fmt: skip
_SPACE = re.compile(r"\s+")
_RUNS_OF_N = re.compile(r"<n>(?:[\s,;/x:]{1,3}<n>)+")


def template_of(text: str) -> str:
    """The lasting part of a line.

    >>> template_of("2026-01-02 03:04:05,678 rank 3: CUDA error at /opt/x/y.cu:77, 0x7f12")
    'rank <n>: CUDA error at <path>:<n>'
    >>> template_of("[rank5]: ValueError: shard 00123 of 400 is empty on node-17")
    'ValueError: shard <n> of <n> is empty on <host>'
    """
    text = _LEADING.sub("", text.strip()[: 4 * MAX_TEMPLATE], count=1)
    for pattern, word in _MASKS:
        text = pattern.sub(word, text)
    text = _RUNS_OF_N.sub("<n>", _SPACE.sub(" ", text)).strip()
    return text[:MAX_TEMPLATE]


_WORD = re.compile(r"(?<![<\w])[A-Za-z]{3,}(?![>\w])")


def says_something(text: str) -> bool:
    """Whether at least two different words remain of a line: a row of numbers or of dots tells no failures apart.

    >>> says_something("0.97, 0.37, 1e-4"), says_something("KeyError: 'labels'"), says_something("size ........ 32")
    (False, True, False)
    """
    return len(set(_WORD.findall(template_of(text)))) > 1


def fingerprint_of(cause: str, evidence: str) -> str:
    """Id that all runs with one root failure share: the cause and the lasting part of the line that shows it.

    >>> fingerprint_of("cuda-oom", "rank 3: tried 20 MiB") == fingerprint_of("cuda-oom", "rank 9: tried 512 MiB")
    True
    """
    return hashlib.sha256(f"{cause}\0{template_of(evidence).lower()}".encode()).hexdigest()[:12]


MAX_SPAN_S = 400 * 86400.0
"""A year and more between first and last record: a wrong clock, not a run."""

MAX_SETTINGS = 200
"""Settings kept for the search of a baseline; real runs state 20 to 100 that have a common name."""

MAX_HOSTS = 256

_OF_GPUS = ("nccl", "cuda", "xid", "gpu", "ecc", "cublas", "cudnn")
"""Kinds of log lines that only a run on GPUs writes begin like this."""


def empty_record(task: Task, *, outcome: str, problem: str) -> dict[str, Any]:
    """The record of a run of which nothing was learnt.

    Args:
        task: The run.
        outcome: ``unreadable`` (nothing there can be read) or ``failed`` (the analyzer did not finish with it).
        problem: The reason.
    """
    run = {
        **_about(task),
        "outcome": outcome,
        "problem": problem,
        "status": "unreadable" if outcome == "unreadable" else "",
        "summary": problem,
        "hosts": [],
        "frameworks": [],
        "gaps": [],
        "config": "{}",
        "tool_version": __version__,
    }
    return {"run": run, "findings": []}


def make_record(task: Task, loaded: Loaded, diagnosis: Diagnosis) -> dict[str, Any]:
    """The rows of a diagnosed run."""
    run = loaded.run
    first = diagnosis.first_failure
    start_s, end_s, span_s = _times(run)
    gpus, basis = _gpus(run)
    coverage = diagnosis.coverage
    row = {
        **_about(task),
        "outcome": "diagnosed",
        "problem": "",
        "status": diagnosis.status,
        "summary": diagnosis.summary,
        "status_alone": task.status_alone or diagnosis.status,
        "subject": diagnosis.subject,
        "other_runs": len(diagnosis.others),
        **_leading(diagnosis),
        "first_kind": first.kind if first else None,
        "first_rank": first.rank if first else None,
        "first_host": first.host if first else None,
        "first_place": str(first.place) if first else None,
        "first_text": first.place.text if first else None,
        "hosts": _hosts(run, first.host if first else None),
        "frameworks": list(coverage.frameworks),
        "model": _model(run),
        "gpus": gpus,
        "gpus_basis": basis,
        "start_s": start_s,
        "end_s": end_s,
        "gpu_hours": None if gpus is None or span_s is None else _round(gpus * span_s / 3600.0),
        "last_step": coverage.last_step,
        "completed": coverage.completed,
        **_ended(diagnosis),
        "files": len(coverage.sources),
        "size_bytes": sum(source.size_bytes for source in run.sources),
        "metric_points": sum(coverage.metrics.values()),
        "log_events": coverage.events,
        "gaps": [f"{gap.path}: {gap.reason}" if gap.path else gap.reason for gap in diagnosis.gaps[:3]],
        "gap_count": len(diagnosis.gaps),
        "config": _settings(run),
        "tool_version": diagnosis.tool_version,
        "rules_digest": diagnosis.rules_digest,
    }
    if not row["cause_id"] and diagnosis.status in {"failed", "degraded", "insufficient"}:
        row.update(_unexplained(run, diagnosis))
    findings = [_finding(task, position, found) for position, found in enumerate(diagnosis.findings)]
    return {"run": row, "findings": findings}


def _ended(diagnosis: Diagnosis) -> dict[str, Any]:
    """How the run ended."""
    ended = diagnosis.ended
    if ended is None:
        return {}
    return {
        "ended": ended.state,
        "ended_because": ended.because,
        "planned": ended.planned,
        "reached": ended.reached,
        "planned_unit": ended.unit or None,
    }


def _about(task: Task) -> dict[str, Any]:
    spec, baseline = task.spec, task.baseline
    return {
        "key": spec.key,
        "location": spec.location,
        "kind": spec.kind,
        "why": spec.why,
        "extra": list(spec.extra),
        "user": spec.user or None,
        "job": spec.job or None,
        "project": spec.project or None,
        "baseline": baseline.location if baseline else None,
        "baseline_key": baseline.key if baseline else None,
        "baseline_digest": baseline.digest if baseline else None,
        "input_digest": spec.digest,
    }


def _leading(diagnosis: Diagnosis) -> dict[str, Any]:
    """The cause that the report would name first; empty where none is at least possible."""
    faulty = diagnosis.status in {"failed", "degraded"}
    leads = next((f for f in diagnosis.findings if f.probability >= REPORTED), None)
    if leads is None or (not faulty and leads.cause.kind != "lifecycle"):
        interrupted = diagnosis.status == "interrupted" and diagnosis.ended is not None
        resume = diagnosis.ended.resume_from or None if interrupted and diagnosis.ended else None
        advice = "restart-as-is" if interrupted else None
        return {"cause_id": None, "restart": advice, "resume_from": resume, "fingerprint": None}
    cited = _cited(leads, diagnosis)
    text = cited.text if cited else ""
    return {
        "cause_id": leads.cause.id,
        "cause_title": leads.cause.title,
        "cause_kind": leads.cause.kind,
        "cause_family": leads.cause.family,
        "rule_id": leads.rule_id,
        "severity": leads.severity,
        "probability": _round(leads.probability),
        "symptom": leads.symptom,
        "restart": leads.restart_advice,
        "restart_because": leads.restart_because,
        "resume_from": leads.resume_from or None,
        "fingerprint": _fingerprint(leads.cause.id, cited),
        "evidence_place": str(cited) if cited else None,
        "evidence_text": text or None,
        "evidence_template": template_of(text) or None,
    }


_SETTINGS = (".yaml", ".yml", ".json", ".py", ".toml")
"""A line of these says how the run was set up, not how it failed."""


def _cited(finding: Finding, diagnosis: Diagnosis) -> Place | None:
    """The line that shows the cause: the strongest quoted line of a log, else the first failure, else a setting."""
    quoted = [place for line in finding.speaks_for() for place in line.refs if place.text]
    of_logs = (place for place in quoted if not place.path.lower().endswith(_SETTINGS))
    first = diagnosis.first_failure
    failure = first.place if first is not None and first.place.text else None
    setting = quoted[0] if quoted else None
    unquoted = next((line.refs[0] for line in finding.speaks_for() if line.refs), None)
    return next(of_logs, None) or failure or setting or unquoted


def _fingerprint(cause: str, cited: Place | None) -> str | None:
    """None where no line of a log shows the cause in words: two rows of numbers do not make one root failure."""
    if cited is None or cited.path.lower().endswith(_SETTINGS) or not says_something(cited.text):
        return None
    return fingerprint_of(cause, cited.text)


def _unexplained(run: Run, diagnosis: Diagnosis) -> dict[str, Any]:
    """How a run ended that no rule explains."""
    words = last_words(run)
    if words is None or (diagnosis.status == "insufficient" and words.looks_like == "last line"):
        return {}
    coverage = diagnosis.coverage
    stage = "after its first steps" if coverage.last_step else "before any step"
    return {
        "last_words": words.text,
        "last_words_place": words.path,
        "shape": f"{words.looks_like}, {stage}",
        "template": template_of(words.text),
    }


def _finding(task: Task, position: int, finding: Finding) -> dict[str, Any]:
    return {
        "key": task.spec.key,
        "location": task.spec.location,
        "position": position,
        "rule_id": finding.rule_id,
        "cause_id": finding.cause.id,
        "cause_title": finding.cause.title,
        "cause_kind": finding.cause.kind,
        "cause_family": finding.cause.family,
        "symptom_kind": finding.symptom_kind,
        "severity": finding.severity,
        "probability": _round(finding.probability),
        "bits": _round(finding.bits),
        "symptom": finding.symptom,
        "restart": finding.restart_advice,
        "restart_because": finding.restart_because,
        "evidence": [_evidence(line) for line in finding.evidence if line.counted and line.bits],
        "fixes": [fix.title for fix in finding.fixes if fix.applicable is not False],
    }


def _evidence(line: Evidence) -> dict[str, Any]:
    return {
        "id": line.id,
        "bits": _round(line.bits),
        "observed": line.observed(),
        "because": because_here(line),
        "places": [{"path": ref.path, "line": ref.line, "text": ref.text or None} for ref in line.refs],
    }


def _round(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None


def _times(run: Run) -> tuple[float | None, float | None, float | None]:
    """First and last known moment, and the seconds during which it ran (pauses between attempts left out)."""
    spans = [
        (attempt.start_s, attempt.end_s)
        for attempt in run.attempts
        if attempt.start_s is not None and attempt.end_s is not None and attempt.end_s >= attempt.start_s
    ]
    moments = [moment for span in spans for moment in span]
    moments += [event.time_s for event in run.events if event.time_s is not None]
    known = run.metrics.time_s[np.isfinite(run.metrics.time_s)]
    if known.size:
        moments += [float(known.min()), float(known.max())]
    if not moments:
        return None, None, None
    start, end = min(moments), max(moments)
    if end - start > MAX_SPAN_S:
        return None, None, None
    if end == start:  # one stamp says when, not how long
        return round(start, 3), round(end, 3), None
    ran = _covered(spans) if len(spans) > 1 else end - start
    return round(start, 3), round(end, 3), ran


def _covered(spans: Iterable[tuple[float, float]]) -> float:
    """Seconds that lie in at least one span."""
    total, reached = 0.0, -math.inf
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def _gpus(run: Run) -> tuple[int | None, str | None]:
    """Number of GPUs of a run and how it is known. A number of ranks alone may be that of processes on CPUs."""
    layout = run.layout
    if layout.world_size is not None:
        if layout.gpu_name or layout.gpus or any(kind.startswith(_OF_GPUS) for kind in run.events.kinds()):
            return max(layout.world_size, layout.gpus or 0), "ranks"
        return None, None
    return (layout.gpus, "gpus of one host") if layout.gpus else (None, None)


def _hosts(run: Run, first: str | None) -> list[str]:
    named = {host for event in run.events if isinstance(host := event.fields.get("host"), str) and host}
    named |= {host for host in (run.layout.host, first) if host}
    return sorted(clean_text(host, 128) for host in named)[:MAX_HOSTS]


def _model(run: Run) -> str | None:
    value = run.config.value("model.name")
    return None if value is None else str(value).rstrip("/").rpartition("/")[2] or None


def _settings(run: Run) -> str:
    """Canonical settings as JSON, for the search of a baseline and for queries."""
    values: dict[str, Any] = {}
    for key in sorted(run.config)[:MAX_SETTINGS]:
        value = run.config.value(key)
        if isinstance(value, float) and not math.isfinite(value):
            value = str(value)
        values[key] = clean_text(value, 200) if isinstance(value, str) else value
    return json.dumps(values, sort_keys=True, ensure_ascii=False)


def restart_line(row: Mapping[str, Any], excluded: Iterable[str]) -> dict[str, Any]:
    """What to do with one run, for a script; ``excluded`` are hosts that the whole fleet's failures speak against."""
    advice = row.get("restart")
    hosts = set(excluded)
    if advice == "restart-excluding-node" and row.get("first_host"):
        hosts.add(str(row["first_host"]))
    if row["status"] in {"failed", "degraded", "interrupted"} or row["outcome"] != "diagnosed":
        default = "inspect"
    else:
        default = "no-action" if row["status"] == "healthy" else "unknown"
    reason = row.get("restart_because") or row["problem"] or row["summary"]
    return {
        "location": row["location"],
        "key": row["key"],
        "job": row.get("job"),
        "status": row["status"] or row["outcome"],
        "decision": advice or default,
        "because": reason,
        "resume_from": row.get("resume_from"),
        "exclude_hosts": sorted(hosts),
        "cause": row.get("cause_id"),
        "probability": row.get("probability"),
    }


TAIL_BYTES = 256 * 1024
"""Read from the end of each log: what killed a run stands there, before some pages of stacks at most."""

MAX_LOGS = 16
"""Logs looked at; of thousands of ranks the first ones tell the same."""

MAX_WORDS = 400
"""Characters kept of the line."""

_RAISED = re.compile(
    r"^(?:\[?(?:rank|default)?\d{1,6}\]?:\s*)?(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Fault)\b(?::|$)"
)
_SERIOUS = re.compile(
    r"(?i)\b(?:fatal|panic|abort(?:ed|ing)?|core dumped|killed|segmentation fault|uncaught|unhandled|assert(?:ion)? fail)"
)
_ERROR = re.compile(
    r"(?i)\b(?:error|exception|failed|failure|cannot|could not|unable to|not found|no such|denied|refused|invalid)\b"
    r"|\b[A-Z]\w*(?:Error|Exception): "
)
_HARMLESS = re.compile(
    r"(?i)warning|\[(?:W|I|D|NeMo [WI])\b|\b(?:INFO|DEBUG|WARN)\b|\b(?:0 (?:errors|failed|failures)|no errors?|deprecat"
    r"|errors?[=: ]+0\b|\"?error\"?: ?(?:null|none|false))"
)


@dataclass(frozen=True, slots=True)
class LastWords:
    """A line of a log."""

    text: str  # the line, cleaned and masked
    path: str  # the file, relative to the run
    line: int  # its line from the end, 1 for the last; whole files are not counted for this
    looks_like: str  # ``exception``, ``fatal``, ``error`` or ``last line``


_ORDER = ("exception", "fatal", "error", "last line")


def last_words(run: Run) -> LastWords | None:
    """The line that most looks like a failure near the end of the logs; None if no log can be read."""
    best: LastWords | None = None
    for source in [source for source in run.sources if source.format == "text-log"][:MAX_LOGS]:
        for found in _of_file(Path(source.location), source.path):
            if best is None or _ORDER.index(found.looks_like) < _ORDER.index(best.looks_like):
                best = found
    return best


def _of_file(path: Path, shown: str) -> list[LastWords]:
    lines = [line for line in _tail(path).replace("\r", "\n").split("\n") if line.strip()]
    found: dict[str, LastWords] = {}
    for number, line in enumerate(reversed(lines), start=1):
        kind = _kind(line, last=number == 1)
        if kind and kind not in found:
            found[kind] = LastWords(clean_text(line.strip(), MAX_WORDS), shown, number, kind)
    return list(found.values())


def _kind(line: str, *, last: bool) -> str:
    line = line[:2000]
    if _RAISED.match(line.strip()):
        return "exception"
    if _SERIOUS.search(line) and not _HARMLESS.search(line):
        return "fatal"
    if _ERROR.search(line) and not _HARMLESS.search(line):
        return "error"
    return "last line" if last else ""


def _tail(path: Path) -> str:
    try:
        candidate = make_candidate(path, path.name)
        if not candidate.compression:
            with path.open("rb") as stream:
                stream.seek(max(0, candidate.size_bytes - TAIL_BYTES))
                return stream.read(TAIL_BYTES).decode("utf-8", "replace")
        kept = b""
        try:
            for chunk in OpenSource(candidate, 0).chunks(TAIL_BYTES):
                kept = (kept + chunk)[-TAIL_BYTES:]
        except TruncatedSourceError:
            pass  # the reader has already told of the damage; what came before it still counts
        return kept.decode("utf-8", "replace")
    except (OSError, UnreadableFileError):
        return ""
