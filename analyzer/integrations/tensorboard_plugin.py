"""A tab of TensorBoard: the diagnosis of each run below ``--logdir``, with its report.

TensorBoard finds it by the entry point ``tensorboard_plugins``; nothing is read before somebody opens the tab.
"""

from __future__ import annotations

import json
import re
import threading
from importlib import resources
from pathlib import Path
from typing import Any

from tensorboard.backend.http_util import Respond
from tensorboard.plugins.base_plugin import FrontendMetadata, TBPlugin
from werkzeug import wrappers

from analyzer.digest import policy_digest
from analyzer.errors import InputError

_SCRIPT = re.compile("<script>(.*?)</script>", re.DOTALL)


class DiagnosisPlugin(TBPlugin):  # type: ignore[misc, unused-ignore]
    """Why each run failed, how we know, and what to change.

    Args:
        context: What TensorBoard gives every plugin; its ``logdir`` is where the runs lie.
    """

    plugin_name = "analyzer"

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self._logdir = Path(context.logdir) if context.logdir else None
        self._one = threading.Lock()  # requests come in threads; a diagnosis takes a core and memory
        self._desk: Any = None

    def get_plugin_apps(self) -> dict[str, Any]:
        """The addresses of the tab."""
        return {
            "/index.js": self._script,
            "/runs": self._runs,
            "/diagnosis": self._diagnosis,
            "/report": self._report,
        }

    def is_active(self) -> bool:
        """Whether the tab is shown: only for runs on this machine."""
        return self._logdir is not None and self._logdir.is_dir()

    def frontend_metadata(self) -> FrontendMetadata:
        """How the tab is called and where its script lies."""
        return FrontendMetadata(es_module_path="/index.js", tab_name="Diagnosis")

    def _script(self, environ: dict[str, Any], start_response: Any) -> Any:
        text = resources.files(__package__).joinpath("tensorboard_plugin.js").read_text(encoding="utf-8")
        return _answer(environ, start_response, text, "application/javascript")

    def _runs(self, environ: dict[str, Any], start_response: Any) -> Any:
        """Names and keys of the runs, without reading them."""
        with self._one:
            desk = self._opened()
            rows = [{"key": run.key, "name": desk.shown(Path(run.location).resolve())} for run in desk.runs()]
        return _answer(environ, start_response, json.dumps(rows), "application/json")

    def _diagnosis(self, environ: dict[str, Any], start_response: Any) -> Any:
        """The answer for one run in a line."""
        try:
            found = self._study(environ).diagnosis
        except InputError as error:
            row = {"status": "unreadable", "summary": str(error), "cause": "", "probability": None, "fix": ""}
            return _answer(environ, start_response, json.dumps(row), "application/json")
        leads = found.findings[0] if found.findings and found.status in {"failed", "degraded"} else None
        row = {
            "status": found.status,
            "summary": found.summary,
            "cause": leads.cause.title if leads else "",
            "probability": leads.probability if leads else None,
            "fix": leads.fixes[0].title if leads and leads.fixes else "",
        }
        return _answer(environ, start_response, json.dumps(row), "application/json")

    def _report(self, environ: dict[str, Any], start_response: Any) -> Any:
        """The page of one run; TensorBoard lets a page run the scripts whose hashes are named."""
        from analyzer.render.html import render_html  # noqa: PLC0415  (only when a report is opened)

        try:
            study = self._study(environ)
        except InputError as error:
            return _answer(environ, start_response, str(error), "text/plain", code=404)
        page = render_html(study.diagnosis, study.run)
        hashes = [policy_digest(script) for script in _SCRIPT.findall(page)]
        return _answer(environ, start_response, page, "text/html", csp_scripts_sha256s=hashes)

    def _study(self, environ: dict[str, Any]) -> Any:
        key = wrappers.Request(environ).args.get("run", "")
        with self._one:
            desk = self._opened()
            run = next((run for run in desk.runs() if run.key == key), None)
            if run is None:
                raise InputError("no such run; it may have gone since the list was made")
            return desk.study(run.location)

    def _opened(self) -> Any:
        if self._desk is None:
            from analyzer.desk import Desk  # noqa: PLC0415  (TensorBoard starts without it)

            self._desk = Desk([self._logdir] if self._logdir else [])
        return self._desk


def _answer(environ: dict[str, Any], start_response: Any, text: str, kind: str, **more: Any) -> Any:
    return Respond(wrappers.Request(environ), text, kind, **more)(environ, start_response)
