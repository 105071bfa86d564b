"""A triage from plan to results: what is done already, the engine, the second pass with baselines, the dataset.

plan ─► what is up to date ─► engine ─► journal ─► baselines ─► engine ─► journal ─► parts, summary, page
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

from analyzer.errors import InputError
from analyzer.ingest.runs.boundaries import Skipped
from analyzer.record import dataclass, field
from analyzer.rules.load import load_rules
from analyzer.triage.baselines import WANTS_BASELINE, choose_baselines
from analyzer.triage.executors import make_executor_engine
from analyzer.triage.journal import Journal
from analyzer.triage.places import Place
from analyzer.triage.record import restart_line
from analyzer.triage.specs import Options, Plan, RunSpec, Task
from analyzer.triage.store import STATE_COLUMNS, Dataset, Writer, merged
from analyzer.triage.summary import FleetSummary
from analyzer.triage.supervisor import Supervisor
from analyzer.triage.worker import Diagnoser, encode
from analyzer.version import __version__

Notice = Callable[[str, int, int, int], None]
"""Called with (phase, runs done, runs to do, runs that could not be diagnosed) whenever a run is done."""


class Engine(Protocol):
    """Diagnoses tasks in whatever order."""

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[int, bytes]]:
        """Index and record (as JSON) of each task."""
        ...


@dataclass(frozen=True, slots=True)
class Campaign:
    """How a triage is done."""

    place: Place  # output directory
    options: Options  # what all runs share
    engine: str = "local"  # ``local``, ``dask``, ``dask:ADDRESS`` or ``MODULE:CALLABLE``
    workers: int = 2  # processes; 0 diagnoses in this process, without any protection
    resume: bool = False  # whether what stands in ``place`` is carried on
    baselines: bool = True  # whether failed runs are compared with healthy ones of like configuration
    # part of the plan to do (1-based) and number of parts, or None for all of it
    shard: tuple[int, int] | None = None


@dataclass
class Result:
    """What a triage came to."""

    summary: FleetSummary  # the fleet
    done: int = 0  # runs diagnosed now
    kept: int = 0  # runs that were up to date
    interrupted: bool = False  # whether it was stopped before its end
    # numbers of shards that were not found, are damaged or not finished (merge only)
    missing: list[int] = field(default_factory=list)
    others: int = 0  # runs of earlier triages that this plan did not ask about; they stay
    # parts of an earlier dataset that cannot be read; their runs were read again if they were asked about
    damaged: list[str] = field(default_factory=list)


Where = tuple[int, int] | None
"""Place of a record in the journal; None if it stands in a dataset."""


_SHARED = (
    "kind",
    "why",
    "outcome",
    "status",
    "status_alone",
    "user",
    "project",
    "tool_version",
    "rules_digest",
    "model",
)
"""State columns of few different texts."""


class _Row(Mapping[str, Any]):
    """The state columns of a run: a quarter of the memory of a dictionary, which counts for a hundred thousand."""

    __slots__ = ("_values",)

    _PLACES: ClassVar[Mapping[str, int]] = {column: place for place, column in enumerate(STATE_COLUMNS)}

    def __init__(self, values: Iterable[Any]) -> None:
        self._values = tuple(values)

    def __getitem__(self, column: str) -> Any:
        return self._values[self._PLACES[column]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._PLACES)

    def __len__(self) -> int:
        return len(self._PLACES)


@dataclass
class _State:
    """What is known of each run that has a record: its state columns, and where the record is."""

    rows: dict[str, _Row] = field(default_factory=dict)
    where: dict[str, Where] = field(default_factory=dict)
    _words: dict[str, str] = field(default_factory=dict)

    def put(self, row: Mapping[str, Any], where: Where) -> None:
        kept = {column: row.get(column) for column in STATE_COLUMNS}
        for column in _SHARED:  # of a hundred thousand runs each word is kept once
            word = row.get(column)
            if isinstance(word, str):
                kept[column] = self._words.setdefault(word, word)
        if kept["status_alone"] not in {"healthy", *WANTS_BASELINE}:
            kept["config"] = None  # needed for the search of baselines only
        self.rows[row["key"]] = _Row(kept.values())
        self.where[row["key"]] = where


def select_shard(plan: Plan, shard: tuple[int, int] | None) -> list[RunSpec]:
    """Runs of one shard: by the run's key, so that a run stays in its shard when others come and go."""
    if shard is None:
        return plan.runs
    part, parts = shard
    return [run for run in plan.runs if int(run.key, 16) % parts == part - 1]


def run_campaign(campaign: Campaign, plan: Plan, notice: Notice) -> Result:
    """Diagnose the runs of a plan and write the results.

    Raises:
        InputError: The output cannot be read or written, or holds a triage that is not to be resumed.
        RuleError: A rule pack is invalid.
    """
    if not plan.runs and plan.searched:
        reason = f" ({plan.skipped[0].path}: {plan.skipped[0].reason})" if plan.skipped else ""
        raise InputError(f"no run was found under {', '.join(plan.searched[:3])}{reason}")
    with campaign.place.alone():
        return _run_alone(campaign, plan, notice)


def _run_alone(campaign: Campaign, plan: Plan, notice: Notice) -> Result:
    runs = select_shard(plan, campaign.shard)
    place = campaign.place
    journal = Journal(place)
    datasets = [] if place.read("manifest.json") is None else [Dataset(place)]
    state = _State()
    result = Result(FleetSummary())
    if datasets or journal.known_segments:
        if not campaign.resume:
            raise InputError(
                f"{place.shown}: holds a triage already; give --resume to carry it on, or another --out"
            )
        result.damaged = [problem for dataset in datasets for problem in dataset.without_damaged()]
        _recall(state, datasets, journal)
        result.others = _forget_gone(state, plan, runs)
    digest = load_rules(tuple(Path(place) for place in campaign.options.rules)).digest
    todo = [Task(run) for run in runs if not _up_to_date(state.rows.get(run.key), run, digest)]
    result.kept = len(runs) - len(todo)
    baselines = campaign.baselines and campaign.shard is None
    _work(campaign, todo, runs, state, journal, notice, result, baselines=baselines)
    shard = None if campaign.shard is None else list(campaign.shard)
    about = {
        "complete": not result.interrupted,
        "shard": shard,
        "tool_version": __version__,
        "rules_digest": digest,
    }
    _conclude(campaign, plan, state, journal, merged(datasets), about, result)
    return result


def _forget_gone(state: _State, plan: Plan, runs: Sequence[RunSpec]) -> int:
    """Forget runs that the plan would hold if they were still there; how many it did not ask about at all."""
    now = {run.key for run in runs}
    rest = [key for key in state.rows if key not in now]
    gone = [key for key in rest if plan.asked_about(state.rows[key]["location"], key)]
    for key in gone:
        del state.rows[key], state.where[key]
    return len(rest) - len(gone)


def merge_shards(campaign: Campaign, notice: Notice) -> Result:
    """Make one dataset of the shards below a place, with the second pass that no shard can do alone.

    Raises:
        InputError: There are no shards, or they were made by different versions or rules.
    """
    if not campaign.place.folders("shards"):
        raise _no_shards(campaign.place)  # before a lock makes a folder where none was
    with campaign.place.alone():
        return _merge_alone(campaign, notice)


def _no_shards(place: Place, reason: str = "") -> InputError:
    return InputError(
        f"{place.shown}: no shards to merge; run analyzer triage --shard I/N --out {place.shown}{reason}"
    )


def _merge_alone(campaign: Campaign, notice: Notice) -> Result:
    place = campaign.place
    result = Result(FleetSummary())
    datasets = _shards(place, result)
    if not datasets:
        raise _no_shards(place, f" ({result.damaged[0]})" if result.damaged else "")
    made_by = {(d.manifest["tool_version"], d.manifest["rules_digest"]) for d in datasets}
    counts = {tuple(d.manifest["shard"])[1] for d in datasets}
    if len(made_by) > 1 or len(counts) > 1:
        raise InputError(
            f"{place.shown}: the shards differ in version, rules or number; do them again with --resume"
        )
    present = {d.manifest["shard"][0] for d in datasets if d.manifest["complete"]}
    missing = sorted(set(range(1, counts.pop() + 1)) - present)
    journal = Journal(place)
    journal.clear()
    state = _State()
    _recall(state, datasets, journal)
    runs = sorted((_spec_of(row) for row in state.rows.values()), key=lambda run: (run.location, run.key))
    result.kept, result.missing = len(runs), missing
    _work(campaign, [], runs, state, journal, notice, result, baselines=campaign.baselines)
    about = {
        "complete": not result.interrupted and not missing,
        "shard": None,
        "tool_version": datasets[0].manifest["tool_version"],
        "rules_digest": datasets[0].manifest["rules_digest"],
    }
    _conclude(
        campaign, Plan(runs, _skipped(datasets[0].place)), state, journal, merged(datasets), about, result
    )
    return result


def _shards(place: Place, result: Result) -> list[Dataset]:
    """Datasets of the shards; one that is damaged, still at work or was killed before its end is told and left out."""
    datasets: list[Dataset] = []
    for folder in place.folders("shards"):
        inner = place.inner(folder)
        if inner.read("manifest.json") is None:
            continue  # it has not finished: missing
        try:
            with inner.alone():  # not held: there may be more shards than files that a process may open
                dataset = Dataset(inner)
        except InputError as error:
            result.damaged.append(str(error))
            continue
        if dataset.manifest["shard"] is None:
            result.damaged.append(f"{inner.shown}: not a shard")
            continue
        problems = dataset.without_damaged()
        if problems:
            result.damaged += problems
            dataset.manifest["complete"] = False
        datasets.append(dataset)
    return datasets


def _skipped(place: Place) -> list[Skipped]:
    found = []
    for line in (place.read("skipped.jsonl") or b"").splitlines():
        try:
            found.append(Skipped(**json.loads(line)))
        except (ValueError, TypeError, RecursionError):
            continue  # a damaged line of a list that is for reading only
    return found


def _spec_of(row: Mapping[str, Any]) -> RunSpec:
    return RunSpec(
        location=row["location"], kind=row["kind"], why=row["why"], key=row["key"], extra=tuple(row["extra"] or ()),
        digest=row["input_digest"], user=row["user"] or "", job=row["job"] or "", project=row["project"] or "",
    )  # fmt: skip


def _recall(state: _State, datasets: Sequence[Dataset], journal: Journal) -> None:
    for dataset in datasets:
        for row in dataset.runs(STATE_COLUMNS):
            known = state.rows.get(row["key"])
            if known is None or row["location"] < known["location"]:  # the one that ``merged`` gives
                state.put(row, None)
    for where, record in journal.known():
        state.put(record["run"], where)


def _up_to_date(row: Mapping[str, Any] | None, run: RunSpec, rules_digest: str) -> bool:
    """Whether a run need not be read again. One that could not be diagnosed is tried again."""
    return (
        row is not None
        and row["outcome"] != "failed"
        and run.digest != ""
        and row["input_digest"] == run.digest
        and row["tool_version"] == __version__
        and (row["rules_digest"] or rules_digest) == rules_digest
    )


def _work(
    campaign: Campaign, todo: Sequence[Task], runs: Sequence[RunSpec], state: _State, journal: Journal,
    notice: Notice, result: Result, *, baselines: bool,
) -> None:  # fmt: skip
    """Both passes. An interrupt ends the work, not the triage: what is done is kept."""
    engine, close = _engine(campaign, len(todo) or len(runs))
    try:
        _pass(engine, todo, state, journal, lambda *counts: notice("diagnosing", *counts), keep=False)
        result.done = len(todo)
        if baselines:
            again = _second_pass(runs, state)
            _pass(engine, again, state, journal, lambda *counts: notice("comparing", *counts), keep=True)
    except KeyboardInterrupt:
        result.interrupted = True
    finally:
        journal.flush()
        close()


def _pass(
    engine: Engine, tasks: Sequence[Task], state: _State, journal: Journal,
    notice: Callable[[int, int, int], None], *, keep: bool,
) -> None:  # fmt: skip
    """Do tasks and note what comes of them; ``keep`` holds on to an earlier record where a new one says nothing."""
    failures = 0
    for done, (index, payload) in enumerate(engine.run(tasks), start=1):
        row = json.loads(payload)["run"]
        assert row["key"] == tasks[index].spec.key
        failures += row["outcome"] == "failed"
        if not keep or row["outcome"] == "diagnosed":
            state.put(row, journal.append(payload))
        notice(done, len(tasks), failures)


def _second_pass(runs: Iterable[RunSpec], state: _State) -> list[Task]:
    """Tasks for runs whose baseline is another than that which their record used."""
    known = {run.key: run for run in runs if run.key in state.rows}
    rows = [state.rows[key] for key in known]
    chosen = choose_baselines(rows, rows)
    again = []
    for key, run in known.items():
        row = state.rows[key]
        baseline = known[chosen[key]] if key in chosen else None
        now = (baseline.key, baseline.digest) if baseline else (None, None)
        if now != (row["baseline_key"], row["baseline_digest"]):
            again.append(Task(run, baseline, row["status_alone"] or ""))
    return sorted(again, key=lambda task: task.baseline.key if task.baseline else "")


def _engine(campaign: Campaign, tasks: int) -> tuple[Engine, Callable[[], None]]:
    if campaign.engine != "local":
        return make_executor_engine(campaign.engine, campaign.options, campaign.workers)
    if campaign.workers == 0:
        return _InProcess(campaign.options), lambda: None
    supervisor = Supervisor(campaign.options, min(campaign.workers, max(1, tasks)))
    return supervisor, supervisor.close


class _InProcess:
    """One run after the other in this process: the yardstick for the others, and for a debugger."""

    def __init__(self, options: Options) -> None:
        self._diagnoser = Diagnoser(options)

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[int, bytes]]:
        for index, task in enumerate(tasks):
            yield index, encode(self._diagnoser.diagnose(task)[1])


def _conclude(
    campaign: Campaign, plan: Plan, state: _State, journal: Journal,
    old: Iterator[dict[str, Any]], about: Mapping[str, Any], result: Result,
) -> None:  # fmt: skip
    """Write the dataset and the summary, then give up the journal."""
    place = campaign.place
    writer = Writer(place)
    count = 0
    for record in _in_order(state, journal, old):
        writer.add(record)
        result.summary.add(record)
        count += 1
    writer.finish({"runs": count, **about})
    state.rows.clear()  # the dataset says it all now
    bad = result.summary.bad_nodes()
    advice = bytearray()
    for row in Dataset(place).runs(_FOR_RESTART):
        line = restart_line(row, bad & set(row["hosts"] or ()))
        result.summary.restarts[line["decision"]] += 1
        advice += json.dumps(line, ensure_ascii=False).encode() + b"\n"
    place.write("restart.jsonl", bytes(advice))
    place.write(
        "summary.json", (json.dumps(result.summary.to_dict(), indent=1, ensure_ascii=False) + "\n").encode()
    )
    skipped = "".join(
        json.dumps({"path": item.path, "reason": item.reason}, ensure_ascii=False) + "\n"
        for item in plan.skipped
    )
    place.write("skipped.jsonl", skipped.encode("utf-8", "surrogatepass"))
    journal.clear()


_FOR_RESTART = (
    "location", "key", "job", "status", "outcome", "restart", "restart_because", "problem", "summary", "resume_from",
    "cause_id", "probability", "first_host", "hosts",
)  # fmt: skip


def _in_order(state: _State, journal: Journal, old: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Records in order of their location: from the journal, or carried over from the old dataset.

    Found by key: a dataset whose rows stand in another order, as one that another version wrote, loses none.
    """
    held: dict[str, dict[str, Any]] = {}
    for key in sorted(state.where, key=lambda key: (state.rows[key]["location"], key)):
        where = state.where[key]
        if where is not None:
            yield journal.record(where)
            continue
        while key not in held:
            carried = next(old)
            if state.where.get(carried["run"]["key"], False) is None:
                held[carried["run"]["key"]] = carried
        yield held.pop(key)
