"""The Python API: load, diagnose, diagnose_many, report. The package ``analyzer`` re-exports it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.errors import FetchError, InputError
from analyzer.ingest.discover import Loaded, load_run
from analyzer.ingest.masking import clean_text
from analyzer.ingest.quote import Quoter
from analyzer.model.diagnosis import Coverage, Diagnosis, GapNote
from analyzer.model.run import Run
from analyzer.pipeline import diagnose_loaded
from analyzer.record import NamedTuple, replace
from analyzer.render import report
from analyzer.rules.load import RuleSet, load_rules
from analyzer.version import __version__
from analyzer.vocabulary import packs

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Study", "diagnose", "diagnose_many", "load", "report", "study", "study_stdin", "unreadable"]

MAX_STDIN_BYTES = 2 * 1024**3
"""Standard input is spooled to disk; a log beyond 2 GiB should be given as a file."""


def load(
    source: str | Path,
    *,
    checkpoint: str | Path | None = None,
    replay: Sequence[str | Path] = (),
    offline: bool = False,
) -> Run:
    """Read a run directory, a log file, or a run on a W&B server.

    Args:
        source: Path of a run directory or file; or, as text, the address of a W&B run.
        checkpoint: Path of a checkpoint directory or safetensors file that belongs to the run.
        replay: Replay traces of the run: files or directories.
        offline: Do not use the network: a W&B run must be in the cache.

    Raises:
        InputError: Nothing there could be read, or the run cannot be fetched.
    """
    _rules(())  # a pack may know log lines of its own, and one that is broken must not stop the reading
    return _load(source, _places(checkpoint, replay), offline=offline).run


def _places(checkpoint: str | Path | None, replay: Sequence[str | Path]) -> list[Path]:
    """Places that belong to a run beside its own directory."""
    return [Path(place) for place in ([] if checkpoint is None else [checkpoint]) + list(replay)]


def _load(source: str | Path, extra: list[Path], *, offline: bool) -> Loaded:
    if isinstance(source, Path) or os.path.exists(source):  # noqa: PTH110  (a text that is no path raises nothing)
        return load_run(Path(source), extra)
    from analyzer.fetch.address import RunSetAddress, parse_address  # noqa: PLC0415  (not for a local run)

    address = parse_address(source)
    if address is None:
        return load_run(Path(source), extra)
    if isinstance(address, RunSetAddress):
        raise FetchError(
            f"{address.url}: this is a {address.what}, not a run; use: analyzer triage {address.url}",
            kind="address",
        )
    from analyzer.fetch.runs import fetch_run  # noqa: PLC0415

    loaded = load_run(fetch_run(address, offline=offline), extra)
    return loaded._replace(run=replace(loaded.run, root=address.url))


@lru_cache(maxsize=8)
def _rules(extra: tuple[Path, ...]) -> RuleSet:
    return load_rules(extra)


def diagnose(
    run: Run | str | Path,
    *,
    baseline: Run | str | Path | None = None,
    checkpoint: str | Path | None = None,
    replay: Sequence[str | Path] = (),
    rules: Sequence[str | Path] = (),
    metrics: Mapping[str, str] | None = None,
    offline: bool = False,
) -> Diagnosis:
    """Find the root cause of a run.

    Args:
        run: A loaded run, the path of one, or the address of one on a W&B server.
        baseline: A run that worked; its differences become evidence.
        checkpoint: See ``load``; ignored for a loaded run.
        replay: See ``load``; ignored for a loaded run.
        rules: Further rule packs.
        metrics: Which logged name is a canonical metric, such as ``{"loss": "train_mse"}``.
        offline: See ``load``.

    Raises:
        InputError: Nothing could be read, or a name in ``metrics`` is none.
        RuleError: A rule pack is invalid.
    """
    return study(
        run,
        baseline=baseline,
        checkpoint=checkpoint,
        replay=replay,
        rules=rules,
        metrics=metrics,
        offline=offline,
    ).diagnosis


class Study(NamedTuple):
    """A diagnosis and the run that it is about: what a report with curves and excerpts needs."""

    diagnosis: Diagnosis  # the answer
    run: Run  # the run
    baseline: Run | None = None  # the run that worked, if one was given


def study(
    run: Run | str | Path,
    *,
    baseline: Run | str | Path | None = None,
    checkpoint: str | Path | None = None,
    replay: Sequence[str | Path] = (),
    rules: Sequence[str | Path] = (),
    metrics: Mapping[str, str] | None = None,
    offline: bool = False,
) -> Study:
    """Find the root cause of a run and keep the run for a report; arguments as of ``diagnose``.

    Raises:
        InputError: Nothing could be read, or a name in ``metrics`` is none.
        RuleError: A rule pack is invalid.
    """
    started_s = time.perf_counter()
    rule_packs = tuple(Path(place) for place in rules)
    packs.use(rule_packs)  # before the run is read: a pack may know log lines of its own
    rule_set = _rules(rule_packs)
    loaded = Loaded(run) if isinstance(run, Run) else _load(run, _places(checkpoint, replay), offline=offline)
    if metrics:
        from analyzer.ingest.chosen_names import with_names  # noqa: PLC0415  (rarely asked for)

        loaded = loaded._replace(run=with_names(loaded.run, metrics))
    baseline_run = (
        baseline
        if isinstance(baseline, Run) or baseline is None
        else _load(baseline, [], offline=offline).run
    )
    diagnosis = diagnose_loaded(loaded, rule_set, baseline_run, Quoter(loaded.run), started_s)
    return Study(diagnosis, loaded.run, baseline_run)


def diagnose_many(
    sources: Sequence[str | Path],
    *,
    out: str | Path | None = None,
    engine: str = "local",
    workers: int | None = None,
    rules: Sequence[str | Path] = (),
    resume: bool = False,
    offline: bool = False,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Diagnose all runs under some places, as ``analyzer triage`` does.

    Args:
        sources: Directories to search, runs, logs, addresses of W&B projects.
        out: Directory or URL that keeps the dataset; None keeps nothing.
        engine: ``local``, ``dask``, ``dask:ADDRESS`` or ``MODULE:CALLABLE`` that returns an executor.
        workers: Processes, by default one a core; 0 diagnoses in this process, without any protection.
        rules: Further rule packs.
        resume: Keep what is up to date in ``out``.
        offline: Do not use the network.

    Returns:
        One row per run and one row per finding; ``analyzer schema triage`` lists their columns.

    Raises:
        InputError: A source cannot be read, or ``out`` holds a triage and ``resume`` is not set.
        RuleError: A rule pack is invalid.
    """
    from analyzer.triage.campaign import Campaign, run_campaign  # noqa: PLC0415  (pyarrow, processes)
    from analyzer.triage.places import open_place  # noqa: PLC0415
    from analyzer.triage.plan import make_plan  # noqa: PLC0415
    from analyzer.triage.specs import Options, worker_count  # noqa: PLC0415
    from analyzer.triage.store import Dataset  # noqa: PLC0415

    options = Options(tuple(str(place) for place in rules), offline=offline)
    plan = make_plan([str(source) for source in sources], offline=offline)
    import tempfile  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="analyzer-") as directory:
        place = open_place(str(out or directory))
        run_campaign(Campaign(place, options, engine, worker_count(workers), resume), plan, lambda *_: None)
        dataset = Dataset(place)
        return dataset.frame("runs"), dataset.frame("findings")


def study_stdin(
    *,
    rules: Sequence[str | Path] = (),
    metrics: Mapping[str, str] | None = None,
    baseline: str | Path | None = None,
    checkpoint: str | Path | None = None,
    replay: Sequence[str | Path] = (),
    offline: bool = False,
) -> Study:
    """Diagnose a log that comes through standard input; its excerpts are gone with it.

    Raises:
        InputError: Standard input was empty or nothing in it is known.
    """
    import tempfile  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="analyzer-") as directory:
        path = Path(directory) / "stdin.log"
        size = 0
        with path.open("wb") as spool:
            while block := sys.stdin.buffer.read(1 << 20):
                size += len(block)
                if size > MAX_STDIN_BYTES:
                    raise InputError("standard input is larger than 2 GiB; give the log as a file")
                spool.write(block)
        found = study(
            path,
            rules=rules,
            metrics=metrics,
            baseline=baseline,
            checkpoint=checkpoint,
            replay=replay,
            offline=offline,
        )
        return found._replace(diagnosis=replace(found.diagnosis, root="standard input"))


def unreadable(source: str, error: InputError) -> Diagnosis:
    """The answer for a source of which nothing could be read: status ``unreadable``, the reason as a gap."""
    return Diagnosis(
        run_id="",
        root=clean_text(source, 1024),
        subject="",
        others=(),
        status="unreadable",
        summary=clean_text(str(error)),
        findings=(),
        ruled_out=(),
        other_probability={},
        next_checks=(),
        coverage=Coverage((), {}, 0, 0, ()),
        gaps=(GapNote("", None, clean_text(str(error))),),
        tool_version=__version__,
        rules_digest="",
        elapsed_s=0.0,
    )
