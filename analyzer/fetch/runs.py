"""Fetch runs from a W&B server, and list the runs of a project, sweep or group."""

from __future__ import annotations

import itertools
import json
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from analyzer.errors import FetchError
from analyzer.fetch.address import RunAddress, RunSetAddress
from analyzer.fetch.cache import CachedRun, state_name
from analyzer.fetch.limits import Limits
from analyzer.fetch.session import Session, taken_for_a_run
from analyzer.record import dataclass, replace

# A line on the terminal that says how far a download is; nothing where standard error is no terminal.
_EVERY_S = 0.2


class ProgressLine:
    """One line that is written again and again."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._parts: dict[str, str] = {}
        self._shown_at = 0.0
        self._is_shown = False
        self._lock = threading.Lock()
        self._is_terminal = sys.stderr is not None and sys.stderr.isatty()

    def update(self, message: Mapping[str, Any]) -> None:
        """Take what the worker tells: ``what``, ``done`` and perhaps ``total``."""
        what, done, total = str(message.get("what", "")), message.get("done"), message.get("total")
        if not self._is_terminal or not isinstance(done, int):
            return
        with self._lock:
            self._parts[what] = f"{what} {done:,}" + (
                f"/{total:,}" if isinstance(total, int) and total else ""
            )
            now = time.monotonic()
            if now - self._shown_at >= _EVERY_S:
                self._shown_at = now
                self._show(f"{self._title}: " + "  ".join(self._parts.values()))

    def begin(self) -> None:
        """Say that the server has been asked."""
        if self._is_terminal:
            with self._lock:
                self._show(f"{self._title}: asking the server")

    def close(self) -> None:
        """Remove the line."""
        with self._lock:
            if self._is_shown:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()
                self._is_shown = False

    def _show(self, text: str) -> None:
        width = max(20, shutil.get_terminal_size((80, 24)).columns - 1)
        sys.stderr.write(f"\r\x1b[K{text[:width]}")
        sys.stderr.flush()
        self._is_shown = True


STATES = frozenset(
    {"running", "finished", "crashed", "failed", "killed", "pending", "preempting", "preempted"}
)
"""What W&B calls the states of a run."""

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_LOCK_WAIT_S = 1_800.0


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run in a list."""

    address: RunAddress  # which run
    state: str  # as W&B calls it
    heartbeat_at: str  # ISO time of the last sign of life; empty if unknown
    rows: int | None  # rows of history; None if unknown
    user: str  # empty if unknown


def fetch_run(
    address: RunAddress,
    *,
    offline: bool = False,
    limits: Limits | None = None,
    session: Session | None = None,
) -> Path:
    """Bring a run into the cache, unless its present state is there.

    Args:
        address: Which run.
        offline: Use what is in the cache and never touch the network.
        limits: Bounds of the download.
        session: A connection that is open already; without one, one is made.

    Returns:
        A run directory that the ingestors read.

    Raises:
        FetchError: One line that says why not, and what to do.
    """
    limits = limits or Limits()
    if offline:
        found = CachedRun(address).latest()
        if found is None:
            raise taken_for_a_run(
                address,
                FetchError(f"{address.url}: not in the cache; run once without --offline", kind="offline"),
            )
        return found
    line = ProgressLine(address.path)
    try:
        if session is not None:
            return _fetch(address, session, limits, line)
        with Session(address.server, limits) as own:
            return _fetch(address, own, limits, line)
    except FetchError as error:
        raise taken_for_a_run(address, error) from error
    finally:
        line.close()


def _fetch(address: RunAddress, session: Session, limits: Limits, line: ProgressLine) -> Path:
    names: dict[str, Any] = {"entity": address.entity, "project": address.project, "run_id": address.run_id}
    line.begin()
    described = session.call("describe", **names)
    address = replace(address, run_id=str(described["run_id"]))  # it may have been asked for by its name
    cached, state = CachedRun(address), state_name(described)
    found = cached.complete(state)
    if found is not None:
        return found
    with cached.locked(_LOCK_WAIT_S):
        found = cached.complete(state)
        if found is not None:  # another process fetched it while we waited
            return found
        place = cached.begin(state)
        name = session.call("download", line.update, **names, directory=str(place), limits=asdict(limits))
        return cached.finish(state, str(name))


def list_runs(
    address: RunSetAddress,
    *,
    states: Sequence[str] = (),
    since: str = "",
    limit: int | None = None,
    filter_json: str = "",
    session: Session | None = None,
) -> Iterator[ListedRun]:
    """The runs of a project, sweep or group, newest first, page by page as they are asked for.

    Args:
        address: Which runs.
        states: Only these, for example ``crashed`` and ``failed``.
        since: Only runs created after this: an ISO time, or an age such as ``36h`` or ``7d``.
        limit: At most so many.
        filter_json: W&B's own filter, in the style of MongoDB, as JSON.
        session: A connection that is open already; without one, one is made.

    Raises:
        FetchError: One line that says why not, and what to do.
    """
    filters = run_filters(address, states=states, since=since, filter_json=filter_json)
    names: dict[str, Any] = {"entity": address.entity, "project": address.project}
    own = Session(address.server, Limits()) if session is None else nullcontext(session)
    with own as asked:
        number = asked.call("list", **names, filters=filters)["list"]
        pages = iter(lambda: asked.call("more", **names, list=number), [])
        yield from itertools.islice((_listed(address, row) for page in pages for row in page), limit)


def run_filters(
    address: RunSetAddress,
    *,
    states: Sequence[str] = (),
    since: str = "",
    filter_json: str = "",
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> dict[str, object]:
    """The filter that the server applies, in the style of MongoDB.

    Raises:
        FetchError: A state, time or filter is none.
    """
    parts: list[dict[str, object]] = []
    if address.sweep:
        parts.append({"sweep": address.sweep})
    if address.group:
        parts.append({"group": address.group})
    unknown = sorted(set(states) - STATES)
    if unknown:
        raise FetchError(
            f"unknown state {unknown[0]!r}; W&B knows {', '.join(sorted(STATES))}", kind="filter"
        )
    if states:
        parts.append({"state": {"$in": sorted(states)}})
    if since:
        parts.append({"createdAt": {"$gte": _since(since, now()).strftime("%Y-%m-%dT%H:%M:%SZ")}})
    if filter_json:
        try:
            own = json.loads(filter_json)
        except (ValueError, RecursionError) as error:
            raise FetchError(f"the filter is not JSON: {error}", kind="filter") from error
        if not isinstance(own, dict):
            raise FetchError(
                'the filter is no JSON object; for example {"config.lr": {"$gt": 0.001}}', kind="filter"
            )
        parts.append(own)
    return {"$and": parts} if len(parts) > 1 else (parts[0] if parts else {})


def _since(text: str, now: datetime) -> datetime:
    text = text.strip()
    if text[-1:] in _UNITS and text[:-1].isdecimal() and len(text) < 8:
        return now - timedelta(**{_UNITS[text[-1]]: int(text[:-1])})
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise FetchError(
            f"{text!r} is no time; give 2026-01-31, 2026-01-31T08:00 or an age such as 36h or 7d",
            kind="filter",
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def _listed(address: RunSetAddress, row: Mapping[str, Any]) -> ListedRun:
    def text(key: str) -> str:
        value = row.get(key)
        return value if isinstance(value, str) else ""

    run_id, rows = text("run_id"), row.get("rows")
    return ListedRun(
        address=RunAddress(address.server, address.entity, address.project, run_id),
        state=text("state"),
        heartbeat_at=text("heartbeat_at"),
        rows=rows if isinstance(rows, int) else None,
        user=text("user"),
    )
