"""A worker process: reads tasks from standard input, diagnoses each run, writes one line per run.

    in   {"options": {…}}                           once
         [{"index": 0, "task": {…}}, …]             a batch
    out  ready                                      after the imports
         0 done {"run": {…}, "findings": […]}       a run; "again" instead of "done" asks for a second, lonely try

Nothing is unpickled, so a worker can be any Python that has the package. Its standard output is kept for the
protocol: what a library prints goes to standard error.
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analyzer.errors import AnalyzerError, FetchError, InputError
from analyzer.ingest.discover import Loaded, load_run
from analyzer.ingest.masking import clean_text
from analyzer.ingest.quote import Quoter
from analyzer.model.diagnosis import Diagnosis
from analyzer.pipeline import diagnose_loaded
from analyzer.record import replace
from analyzer.rules.load import RuleSet, load_rules
from analyzer.triage.places import open_place
from analyzer.triage.plan import local_paths
from analyzer.triage.record import empty_record, make_record
from analyzer.triage.specs import Options, RunSpec, Task

FAULTY = frozenset({"failed", "degraded", "interrupted"})
"""Runs that get a page with ``--report failed``."""


class Diagnoser:
    """Diagnoses one run after another with the same rules; keeps the last baseline, which the next run often shares.

    Raises:
        RuleError: A rule pack is invalid.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.rules: RuleSet = load_rules(tuple(Path(place) for place in options.rules))
        self._baseline: tuple[str, Loaded] | None = None

    def diagnose(self, task: Task) -> tuple[bool, dict[str, Any]]:
        """Whether the answer is final, and the record of a run. Whatever happens, there is a record."""
        try:
            return True, self._diagnose(task)
        except FetchError as error:  # not the run's fault: --resume tries again
            return True, empty_record(task, outcome="failed", problem=clean_text(str(error)))
        except InputError as error:
            return True, empty_record(task, outcome="unreadable", problem=clean_text(str(error)))
        except MemoryError:
            return False, empty_record(task, outcome="failed", problem=too_much_memory(self.options))
        except AnalyzerError:
            raise
        except Exception as error:  # noqa: BLE001  (a bug of ours costs this run and no other)
            problem = f"internal error: {type(error).__name__}: {clean_text(str(error), 300)}"
            return False, empty_record(task, outcome="failed", problem=problem)

    def _diagnose(self, task: Task) -> dict[str, Any]:
        started_s = time.perf_counter()
        with local_paths(task.spec, self.options) as paths:
            loaded = load_run(paths[0], paths[1:])
            baseline = None if task.baseline is None else self._load_baseline(task.baseline)
            if baseline is None:
                task = replace(task, baseline=None)
            baseline_run = None if baseline is None else baseline.run
            diagnosis = diagnose_loaded(loaded, self.rules, baseline_run, Quoter(loaded.run), started_s)
            diagnosis = replace(diagnosis, root=task.spec.location)
            self._report(task, loaded, diagnosis)
            return make_record(task, loaded, diagnosis)

    def _report(self, task: Task, loaded: Loaded, diagnosis: Diagnosis) -> None:
        """Write the page of a run, if it is to have one, while its files are still here."""
        faulty = diagnosis.status in FAULTY
        if not self.options.reports or not (faulty or self.options.report_all):
            return
        from analyzer.render.html import render_html  # noqa: PLC0415  (most triages of a service want none)

        page = render_html(diagnosis, loaded.run)
        open_place(self.options.reports).write(f"{task.spec.key}.html", page.encode("utf-8", "replace"))

    def _load_baseline(self, spec: RunSpec) -> Loaded | None:
        """The baseline; None if it has gone since it was chosen, which is no fault of the run."""
        if self._baseline is None or self._baseline[0] != spec.key:
            try:
                with local_paths(spec, self.options) as paths:
                    self._baseline = (spec.key, load_run(paths[0], paths[1:]))
            except InputError:
                return None
        return self._baseline[1]


def too_much_memory(options: Options) -> str:
    """The problem of a run that its memory limit ends."""
    return f"needs more than {options.memory_bytes / 1024**3:.3g} GiB of memory (limit --mem)"


def encode(record: Mapping[str, Any]) -> bytes:
    """A record as one line of JSON."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode(
        "utf-8", "replace"
    )  # half characters, as in file names of another encoding, fit no column


def limit_memory(limit_bytes: int) -> None:
    """Let allocations fail beyond a limit, so that a greedy run ends with an error instead of a killed process.

    Only data counts (RLIMIT_DATA), not files that are mapped. The supervisor watches the rest.
    """
    if not sys.platform.startswith("linux"):
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    base = 512 * 1024**2  # interpreter, packages and the arenas of their threads
    wanted = limit_bytes + base
    if soft == resource.RLIM_INFINITY or wanted < soft:
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))


def main() -> None:
    """Serve batches until standard input ends."""
    faulthandler.enable()
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    lines = sys.stdin.buffer
    first = lines.readline()
    if not first:
        return
    options = Options.from_dict(json.loads(first)["options"])
    limit_memory(options.memory_bytes)
    diagnoser = Diagnoser(options)
    _say(out, b"ready\n")
    for line in lines:
        for item in json.loads(line):
            final, record = diagnoser.diagnose(Task.from_dict(item["task"]))
            word = b"done" if final else b"again"
            _say(out, b"%d %s %s\n" % (item["index"], word, encode(record)))


def _say(out: Any, data: bytes) -> None:
    try:
        out.write(data)
        out.flush()
    except BrokenPipeError:  # the supervisor is gone
        os._exit(1)


if __name__ == "__main__":
    main()
