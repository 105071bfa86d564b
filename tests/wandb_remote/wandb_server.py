"""A W&B server on the loopback interface: as much of its GraphQL as the real client asks for when it reads runs.

A run is plain data (``StoredRun``); what goes wrong is set in ``Backend.faults``, by name of the operation.
"""

import gzip
import json
import re
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

OPERATION = re.compile(r"(?:query|mutation)\s+(\w+)")


@dataclass
class StoredRun:
    run_id: str
    state: str = "finished"
    display_name: str = "a run"
    config: dict = field(default_factory=dict)  # key to value; the server wraps it
    summary: dict = field(default_factory=dict)
    history: list = field(default_factory=list)
    system: list = field(default_factory=list)
    console: list = field(default_factory=list)  # (time text, level, line)
    files: dict = field(default_factory=dict)  # name to bytes
    parquet: list = field(default_factory=list)  # bytes of each export
    exported_steps: int = 0  # steps below this are in the exports, not live
    group: str | None = None
    sweep: str | None = None
    created: str = "2026-11-21T06:44:57Z"
    heartbeat: str = "2026-11-21T06:45:04Z"
    line_count: int | None = None

    @property
    def last_step(self):
        return max((row["_step"] for row in self.history), default=-1)

    def node(self):
        return {
            "id": f"UnVu{self.run_id}",
            "name": self.run_id,
            "displayName": self.display_name,
            "state": self.state,
            "tags": ["nightly"],
            "sweepName": self.sweep,
            "group": self.group,
            "jobType": None,
            "commit": None,
            "readOnly": False,
            "createdAt": self.created,
            "heartbeatAt": self.heartbeat,
            "description": None,
            "notes": None,
            "user": {"name": "Ada", "username": "ada"},
            "projectId": "1",
            "historyLineCount": len(self.history) if self.line_count is None else self.line_count,
            "historyKeys": {"lastStep": self.last_step, "keys": {}},
            "config": json.dumps({key: {"value": value, "desc": None} for key, value in self.config.items()}),
            "summaryMetrics": json.dumps(self.summary),
            "systemMetrics": "{}",
        }


@dataclass
class Fault:
    """An answer in place of the right one: HTTP status, GraphQL message, headers, silence, a page, or one without an end."""

    status: int = 200
    message: str = ""
    headers: dict = field(default_factory=dict)
    silence_s: float = 0.0
    page: str = ""
    endless: bool = False
    times: int = 1_000_000


class Backend:
    """Runs by (entity, project), and the requests that came."""

    def __init__(self):
        self.projects = {}
        self.faults = {}
        self.requests = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()

    def add(self, run, entity="acme", project="llm"):
        self.projects.setdefault((entity, project), {})[run.run_id] = run
        return f"{self.url}/{entity}/{project}/runs/{run.run_id}"

    def operations(self):
        return [name for name, _ in self.requests]

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, operation, variables, query):
        if operation in ("Viewer", "GetDefaultEntity"):
            viewer = {"id": "v", "entity": "acme", "username": "ada", "email": "", "flags": "{}"}
            return {"viewer": {**viewer, "teams": {"edges": []}}}
        project = self.projects.get((variables.get("entity"), variables.get("project")))
        if project is None:
            return {"project": None}
        if operation == "Runs":
            return {"project": self._page_of_runs(project, variables)}
        run = project.get(variables.get("name") or variables.get("runName") or variables.get("run"))
        fields = None if run is None else _run_fields(self.url, run, operation, variables, query)
        return {"project": {"internalId": "1", "run": fields}}

    def _page_of_runs(self, project, variables):
        found = [
            run for run in project.values() if matches(run, json.loads(variables.get("filters") or "{}"))
        ]
        found.sort(key=lambda run: run.created, reverse=variables.get("order") == "-created_at")
        start = int(variables.get("cursor") or 0)
        stop = start + variables["perPage"]
        edges = [{"node": run.node(), "cursor": str(stop)} for run in found[start:stop]]
        page = {"endCursor": str(stop), "hasNextPage": stop < len(found)}
        return {
            "internalId": "1",
            "runCount": len(found),
            "readOnly": False,
            "runs": {"edges": edges, "pageInfo": page},
        }


def matches(run, filters):
    """Whether a run passes a filter in the style of MongoDB, as far as the tests use it."""
    for key, wanted in filters.items():
        if key == "$and":
            if not all(matches(run, part) for part in wanted):
                return False
            continue
        names = {"displayName": "display_name", "createdAt": "created"}
        value = run.config.get(key[7:]) if key.startswith("config.") else getattr(run, names.get(key, key))
        if isinstance(wanted, dict):
            tests = {
                "$in": lambda v, w: v in w,
                "$gte": lambda v, w: v >= w,
                "$gt": lambda v, w: v is not None and v > w,
            }
            if not all(tests[name](value, limit) for name, limit in wanted.items()):
                return False
        elif value != wanted:
            return False
    return True


def _run_fields(url, run, operation, variables, query):
    if operation == "RunParquetHistory":
        urls = [f"{url}/parquet/{run.run_id}/{index}.parquet" for index in range(len(run.parquet))]
        live = [row for row in run.history if row["_step"] >= run.exported_steps]
        return {"parquetHistory": {"parquetUrls": urls, "liveData": live}}
    if operation == "HistoryPage":
        low, high = variables["minStep"], variables["maxStep"]
        rows = [row for row in run.history if low <= row["_step"] < high]
        return {"history": [json.dumps(row) for row in rows[: variables["pageSize"]]]}
    if operation == "RunFullHistory":
        if "events(" not in query:
            raise AssertionError("sampled history was asked for")
        return {"events": [json.dumps(row) for row in run.system[: variables["samples"]]]}
    if operation == "RunFiles":
        names = variables.get("fileNames") or list(run.files)
        nodes = [_file(url, run, name) for name in names if name in run.files]
        edges = [{"node": node, "cursor": "end"} for node in nodes]
        return {
            "fileCount": len(nodes),
            "files": {"edges": edges, "pageInfo": {"endCursor": "end", "hasNextPage": False}},
        }
    if operation in ("RunConsoleLogPage", "RunConsoleLogTail"):
        start = int(variables.get("after") or 0)
        stop = start + (variables.get("first") or len(run.console))
        lines = [
            {
                "node": {
                    "number": start + index,
                    "timestamp": moment,
                    "level": level,
                    "label": "",
                    "line": text,
                }
            }
            for index, (moment, level, text) in enumerate(run.console[start:stop])
        ]
        page = {"endCursor": str(stop), "hasNextPage": stop < len(run.console)}
        return {"logLineCount": len(run.console), "logLines": {"edges": lines, "pageInfo": page}}
    return run.node()


def _announced(data):
    """The size that the server states; a test may let it lie."""
    return len(data)


def _files_at(url):
    """Where the server says that its files lie; a test may name another host."""
    return url


def _file(url, run, name):
    return {
        "id": name,
        "name": name,
        "url": f"{_files_at(url)}/files/{run.run_id}/{list(run.files).index(name)}",
        "directUrl": "",
        "sizeBytes": str(_announced(run.files[name])),
        "mimetype": "text/plain",
        "updatedAt": run.heartbeat,
        "md5": "",
    }


def _handler(backend):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments):
            pass

        def reply(self, data, status=200, headers=None, kind="application/json"):
            self.send_response(status)
            for name, value in {
                "Content-Type": kind,
                "Content-Length": str(len(data)),
                **(headers or {}),
            }.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def flood(self):
            """An answer that goes on for as long as anybody listens."""
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.close_connection = True
            self.wfile.write(b'{"data": {"project": "')
            while True:
                self.wfile.write(b"x" * (1 << 20))

        def fault(self, operation):
            fault = backend.faults.get(operation)
            if fault is None or fault.times <= 0:
                return None
            fault.times -= 1
            return fault

        def do_GET(self):
            backend.requests.append((f"GET {self.path}", dict(self.headers)))
            _, kind, run_id, name = [*unquote(self.path.partition("?")[0]).split("/"), "", "", ""][:4]
            run = next((runs[run_id] for runs in backend.projects.values() if run_id in runs), None)
            fault = self.fault(f"GET {kind}")
            if fault is not None:
                return self.reply(fault.message.encode(), fault.status, fault.headers)
            if run is None:
                return self.reply(b"{}", 404)
            if kind == "files":
                return self.reply(run.files[list(run.files)[int(name)]], kind="text/plain")
            return self.part(run.parquet[int(name.partition(".")[0])])

        do_HEAD = do_GET  # noqa: N815  (the name that http.server looks for)

        def part(self, data):
            """The client reads exports in ranges."""
            wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range") or "")
            if not wanted:
                return self.reply(data, headers={"Accept-Ranges": "bytes"}, kind="application/octet-stream")
            first = int(wanted[1]) if wanted[1] else len(data) - int(wanted[2])
            last = int(wanted[2]) if wanted[1] and wanted[2] else len(data) - 1
            last = min(last, len(data) - 1)
            headers = {"Content-Range": f"bytes {first}-{last}/{len(data)}", "Accept-Ranges": "bytes"}
            return self.reply(data[first : last + 1], 206, headers, "application/octet-stream")

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            if self.path != "/graphql":  # telemetry: none may come
                backend.requests.append((f"POST {self.path}", {}))
                return self.reply(b"{}")
            request = json.loads(body)
            query, variables = request.get("query", ""), request.get("variables") or {}
            operation = (OPERATION.search(query) or [None, "?"])[1]
            backend.requests.append((operation, variables))
            fault = self.fault(operation)
            if fault is not None:
                time.sleep(fault.silence_s)
                if fault.endless:
                    return self.flood()
                if fault.page:
                    return self.reply(fault.page.encode(), fault.status, fault.headers, "text/html")
                errors = {"data": None, "errors": [{"message": fault.message, "path": ["project"]}]}
                return self.reply(json.dumps(errors).encode(), fault.status, fault.headers)
            return self.reply(json.dumps({"data": backend.answer(operation, variables, query)}).encode())

        def handle(self):
            with suppress(ConnectionError):  # the client gave up
                super().handle()

    return Handler
