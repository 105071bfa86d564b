"""Diagnose many inputs in one process with bounded memory, and say of each how it ended: ``python drive.py FOLDER``.

Prints one JSON line per input. Memory is bounded by the system (RLIMIT_AS), time is measured in CPU seconds.
"""

import json
import re
import resource
import sys
import time
import traceback
from dataclasses import replace
from pathlib import Path

from analyzer import api
from analyzer.cli.watch import watch_line
from analyzer.errors import AnalyzerError
from analyzer.render import FORMATS, Style
from analyzer.render.beside import render_comparison
from analyzer.render.html import render_html

MEMORY_BYTES = 1_000_000_000
CPU_S = 600
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def outputs(study, diagnosis):
    """Every output of a diagnosis, in full."""
    for name in FORMATS:
        yield name, api.report(diagnosis, name, show_all=True)
    yield "page", render_html(diagnosis, study.run)
    yield "compare", render_comparison(study.run, study.run, diagnosis, Style(colour=False))
    yield "watch", watch_line(diagnosis)
    for finding in diagnosis.findings:
        yield "explain", diagnosis.explain(finding.cause.id)


def written_out(name, text):
    """A text with the escapes of its format undone, as a program that reads it shows it."""
    return json.dumps(json.loads(text), ensure_ascii=False) if name in {"json", "sarif"} else text


def attempt(path):
    """How the diagnosis of one input ends."""
    began = time.process_time()
    found = {"name": path.name, "status": "", "error": "", "unsafe": [], "texts": {}}
    try:
        study = api.study(path, offline=True)
        diagnosis = replace(study.diagnosis, elapsed_s=0.0)
        found["status"] = diagnosis.status
        found["gaps"] = [f"{gap.path}: {gap.reason}" for gap in diagnosis.gaps]
        for name, text in outputs(study, diagnosis):
            text.encode("utf-8")
            if _FORBIDDEN.search(written_out(name, text)):
                found["unsafe"].append(name)
            found["texts"][name] = text[:200_000]
    except AnalyzerError as error:
        found["status"] = "error"
        found["error"] = f"{error.exit_code} {error}"
    except MemoryError:
        found["error"] = "memory"
    except Exception:  # noqa: BLE001  (whatever it is, the next input has its turn)
        found["error"] = traceback.format_exc()[-1500:]
    found["cpu_s"] = round(time.process_time() - began, 3)
    found["rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return found


def main():
    """Bound this process, then look at each folder."""
    for name in ("pyarrow", "pandas"):
        __import__(name)  # their address space is not the input's doing
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY_BYTES,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S,) * 2)
    for path in sorted(Path(sys.argv[1]).iterdir()):
        sys.stdout.write(json.dumps(attempt(path)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
