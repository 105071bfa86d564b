"""Runs on a W&B server: those of a project, sweep or group, or one by its address; fetched by the worker."""

from __future__ import annotations

import atexit
import hashlib
from pathlib import Path

from analyzer.errors import FetchError
from analyzer.fetch.address import RunAddress, RunSetAddress, Server, parse_address
from analyzer.fetch.limits import Limits
from analyzer.fetch.runs import fetch_run, list_runs
from analyzer.fetch.session import Session
from analyzer.ingest.runs import run_shapes as shapes
from analyzer.ingest.runs.boundaries import Skipped
from analyzer.triage.specs import Options, RunSpec, Selection, key_of

_sessions: dict[Server, Session] = {}
"""Connections of this worker: opening one takes as long as diagnosing ten runs."""


def is_address(source: str) -> bool:
    """Whether a source lies on a W&B server. The URL of a log file on some web server does not.

    Raises:
        FetchError: It does, but points at nothing that can be fetched.
    """
    scheme, found, _ = source.partition("://")
    if found and scheme.lower() not in {"http", "https", "wandb"}:
        return False
    try:
        return parse_address(source) is not None
    except FetchError:
        name = source.partition("?")[0].rstrip("/").rpartition("/")[2]
        if "://" in source and (shapes.is_log(name) or name.endswith((".txt", ".gz", ".zst"))):
            return False
        raise


def list_remote_runs(source: str, offline: bool, selection: Selection) -> tuple[list[RunSpec], list[Skipped]]:
    """Runs that an address points at.

    Raises:
        FetchError: They cannot be listed.
    """
    address = parse_address(source)
    if isinstance(address, RunAddress):
        return [_spec(address, "address of a W&B run", "", "")], []
    assert isinstance(address, RunSetAddress)
    if offline:
        raise FetchError(
            f"{address.url}: a {address.what} cannot be listed with --offline; give the addresses of its runs",
            kind="offline",
        )
    runs = []
    for listed in list_runs(
        address,
        states=selection.states,
        since=selection.since,
        limit=selection.limit,
        filter_json=selection.filter_json,
    ):
        mark = f"{listed.state}\0{listed.heartbeat_at}\0{listed.rows}"
        why = f"{listed.state or 'unknown'} run of the W&B {address.what}"
        runs.append(_spec(listed.address, why, mark, listed.user))
    skipped = [] if runs else [Skipped(address.url, "no run that matches")]
    return runs, skipped


def _spec(address: RunAddress, why: str, mark: str, user: str) -> RunSpec:
    return RunSpec(
        location=address.url,
        kind="wandb",
        why=why,
        key=key_of(address.url),
        digest=hashlib.sha256(mark.encode()).hexdigest()[:16] if mark else "",
        user=user,
        project=f"{address.entity}/{address.project}",
    )


def fetch(spec: RunSpec, directory: Path, options: Options) -> list[Path]:
    """The run in the cache, brought there if need be.

    Raises:
        FetchError: It cannot be fetched.
    """
    del directory  # the cache of W&B runs is kept
    address = parse_address(spec.location)
    assert isinstance(address, RunAddress)
    if options.offline:
        return [fetch_run(address, offline=True)]
    session = _sessions.get(address.server)
    if session is None:
        session = _sessions[address.server] = Session(address.server, Limits())
        atexit.register(session.close)
    return [fetch_run(address, session=session)]
