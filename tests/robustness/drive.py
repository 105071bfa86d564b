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
from analyzer.errors import AnalyzerError
from analyzer.render import Style, render_terminal

MEMORY_BYTES = 1_000_000_000
CPU_S = 600
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def outputs(diagnosis):
    """Every output of a diagnosis, in full."""
    yield "terminal", render_terminal(diagnosis, Style(colour=False), show_all=True)
    yield "markdown", api.report(diagnosis, "markdown", show_all=True)
    yield "json", api.report(diagnosis, "json", show_all=True)


def attempt(path):
    """How the diagnosis of one input ends."""
    began = time.process_time()
    found = {"name": path.name, "status": "", "error": "", "unsafe": [], "texts": {}}
    try:
        diagnosis = replace(api.diagnose(path, offline=True), elapsed_s=0.0)
        found["status"] = diagnosis.status
        found["gaps"] = [f"{gap.path}: {gap.reason}" for gap in diagnosis.gaps]
        for name, text in outputs(diagnosis):
            text.encode("utf-8")
            decoded = json.dumps(json.loads(text), ensure_ascii=False) if name == "json" else text
            if _FORBIDDEN.search(decoded):
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
