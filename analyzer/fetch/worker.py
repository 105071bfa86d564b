"""The process that imports ``wandb``: reads requests from standard input, answers on standard output.

See ``session`` for the exchange and for why it is a process of its own. Each request runs in a thread.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from analyzer.errors import FetchError
from analyzer.fetch.limits import Limits
from analyzer.fetch.worker_download import Download
from analyzer.fetch.worker_errors import explain

_PAGE = 50
_REMEMBERED = 64  # runs between their description and their download
_TIMEOUT_S = 150  # for one request of the client, its retries and the waits of Retry-After among them

_SAME_NAME_SHOWN = 5


class Worker:
    """Answers requests about one server, one JSON object a line."""

    def __init__(self, api_url: str, name: str, answers: IO[str]) -> None:
        self._api_url = api_url
        self._name = name
        self._answers = answers
        self._lock = threading.Lock()
        self._api_lock = threading.Lock()
        self._api: Any = None
        self._runs: dict[tuple[str, str, str], Any] = {}
        self._lists: dict[int, Iterator[Any]] = {}
        self._list_numbers = itertools.count(1)

    def send(self, message: Mapping[str, object]) -> None:
        """Write one message."""
        line = json.dumps(message)
        with self._lock:
            self._answers.write(line + "\n")
            self._answers.flush()

    def handle(self, request: Mapping[str, Any]) -> None:
        """Answer one request; whatever goes wrong becomes an error message."""
        number = request["id"]
        verbs = {
            "describe": self._describe,
            "download": self._download,
            "list": self._list,
            "more": self._more,
        }
        try:
            self.send({"id": number, "answer": verbs[request["do"]](request)})
        except FetchError as error:
            self.send({"id": number, "error": {"kind": error.kind, "message": error.message}})
        except Exception as error:  # noqa: BLE001  (the client raises anything; the owner must get an answer)
            failure = explain(error, server=self._name, what=_what(request))
            self.send({"id": number, "error": {"kind": failure.kind, "message": failure.message}})

    def _client(self) -> Any:
        """The client, made on the first request: it checks the key then."""
        with self._api_lock:
            if self._api is None:
                try:
                    import wandb  # noqa: PLC0415
                except Exception as error:
                    raise FetchError(
                        "the wandb package cannot be imported"
                        f" ({type(error).__name__}: {str(error)[:120]}); repair it: pip install --upgrade wandb",
                        kind="no_client",
                    ) from error
                try:
                    self._api = wandb.Api(overrides={"base_url": self._api_url}, timeout=_TIMEOUT_S)
                except Exception as error:
                    raise explain(error, server=self._name, what="", logging_in=True) from error
        return self._api

    def _run(self, request: Mapping[str, Any]) -> Any:
        key = (request["entity"], request["project"], request["run_id"])
        run = self._runs.get(key)
        if run is None:
            api = self._client()
            try:
                run = api.run("/".join(key))
            except Exception as error:
                failure = explain(error, server=self._name, what="/".join(key))
                if failure.kind != "not_found":
                    raise failure from error
                run = self._named(api, *key)
            getattr(api, "_runs", {}).clear()  # the client keeps every run for ever, with its old state
            with self._api_lock:
                if len(self._runs) >= _REMEMBERED:
                    self._runs.pop(next(iter(self._runs)))
                self._runs[key] = run
        return run

    def _named(self, api: Any, entity: str, project: str, name: str) -> Any:
        """The run with a display name; says what is missing if there is none."""
        what = f"{entity}/{project}/{name}"
        try:
            runs = api.runs(f"{entity}/{project}", filters={"displayName": name}, per_page=_SAME_NAME_SHOWN)
            found = list(itertools.islice(runs, _SAME_NAME_SHOWN))
        except Exception as error:
            failure = explain(error, server=self._name, what=what)
            if failure.kind != "not_found":
                raise failure from error
            raise self._private(what, f"project {entity}/{project}") from error
        if not found:
            raise FetchError(
                f"{what}: no such run in this project; its id is the last part of its address, behind /runs/",
                kind="not_found",
            )
        if len(found) > 1:
            ids = ", ".join(str(run.id) for run in found)
            raise FetchError(
                f"{what}: several runs have this name; give the id of one: {ids}", kind="not_found"
            )
        return api.run(f"{entity}/{project}/{found[0].id}")

    def _private(self, what: str, project: str) -> FetchError:
        return FetchError(
            f"{what}: {self._name} shows your key no {project}: check the names; if it is private, ask its owner"
            " for access or use the key of a member",
            kind="private",
        )

    def _describe(self, request: Mapping[str, Any]) -> dict[str, object]:
        with self._api_lock:  # what is remembered of it may be old
            self._runs.pop((request["entity"], request["project"], request["run_id"]), None)
        run = self._run(request)
        attributes = run._attrs  # noqa: SLF001  (the client's attribute access hides what is missing)
        return {
            "run_id": str(run.id),
            "state": str(run.state),
            "created_at": attributes.get("createdAt"),
            "heartbeat_at": attributes.get("heartbeatAt"),
            "rows": attributes.get("historyLineCount"),
            "config": _digestible(attributes.get("config")),
            "summary": _digestible(attributes.get("summaryMetrics")),
        }

    def _download(self, request: Mapping[str, Any]) -> str:
        run = self._run(request)

        def tell(progress: Mapping[str, object]) -> None:
            self.send({"id": request["id"], "progress": progress})

        limits = Limits(**request["limits"])
        return Download(run, Path(request["directory"]), limits, tell, self._name, self._api_url).fetch()

    def _list(self, request: Mapping[str, Any]) -> dict[str, object]:
        path = f"{request['entity']}/{request['project']}"
        runs = self._client().runs(path, filters=request["filters"], order="-created_at", per_page=_PAGE)
        number = next(self._list_numbers)
        self._lists[number] = (run for run in runs)  # iter() of the client's list would begin again each time
        return {"list": number}

    def _more(self, request: Mapping[str, Any]) -> list[dict[str, object]]:
        """The next page of a list; empty at its end."""
        runs = self._lists[request["list"]]
        try:
            page = [_listed(run) for run in itertools.islice(runs, _PAGE)]
        except Exception as error:
            failure = explain(error, server=self._name, what=_what(request))
            if failure.kind == "not_found":
                raise self._private(_what(request), "such project") from error
            raise failure from error
        if not page:
            self._lists.pop(request["list"], None)
        return page


def _listed(run: Any) -> dict[str, object]:
    attributes = run._attrs  # noqa: SLF001  (as in _describe)
    return {
        "run_id": str(run.id),
        "state": str(run.state),
        "heartbeat_at": attributes.get("heartbeatAt"),
        "rows": attributes.get("historyLineCount"),
        "user": (attributes.get("user") or {}).get("username"),
    }


def _what(request: Mapping[str, Any]) -> str:
    return "/".join(str(request[key]) for key in ("entity", "project", "run_id") if request.get(key))


def _digestible(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _private_streams() -> tuple[IO[str], IO[str]]:
    """Requests and answers on descriptors of our own.

    The client's own process inherits standard input and output; it must not read the one, write to the other, or
    keep it open when this process is gone.
    """
    requests, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    return os.fdopen(requests, encoding="utf-8"), os.fdopen(answers, "w", encoding="utf-8")


def main() -> None:
    """Serve until the owner closes the stream."""
    os.umask(0o077)  # a private run stays private, whatever the mask of the user
    requests, answers = _private_streams()
    worker = Worker(sys.argv[1], sys.argv[2], answers)
    for line in requests:
        threading.Thread(target=worker.handle, args=(json.loads(line),), daemon=True).start()
    os._exit(0)  # threads that wait for a silent server must not keep the process


if __name__ == "__main__":
    main()
