"""What a worker of torchrun wrote when it failed: ``attempt_<k>/<local rank>/error.json``.

    {"message": {"message": "RuntimeError: CUDA error: ...", "extraInfo":
        {"py_callstack": "Traceback (most recent call last):...", "timestamp": "1747661592"}}}

The text is a plain string when the launcher itself wrote it, for a worker that a signal killed. Gives one
``python_traceback`` with the stack that the file holds, or ``worker_error`` where it holds none.
"""

from __future__ import annotations

import json
import math
from typing import Any

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.rank_names import place_of
from analyzer.ingest.scalar_text import metric_value
from analyzer.ingest.source_text import decode, read_text
from analyzer.ingest.text.failures.traceback_messages import role_of
from analyzer.ingest.text.text_log import read_lines
from analyzer.lazy_regex import LazyRegex

MAX_BYTES = 4 << 20
"""A real file has some kilobytes; the longest message (a launcher's command line) adds a hundred."""

_SHAPE = LazyRegex(r"\s{0,16}\{\s{0,16}\"message\"\s{0,4}:")
_EXCEPTION = LazyRegex(r"(?s)(?P<exception>[A-Za-z_][\w.]{1,200}): (?P<message>.{0,500})")


class ElasticError:
    """Reads error files of torch.distributed.elastic."""

    def sniff(self, candidate: Candidate) -> Match:
        """An object whose one key is ``message``."""
        text = decode(candidate.head)
        if not _SHAPE.match(text):
            return Match.NO
        named = candidate.name.rpartition("/")[2].startswith("error")
        if '"extraInfo"' in text or '"py_callstack"' in text:
            return Match.SURE
        return Match.LIKELY if named and candidate.name.endswith(".json") else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """One event: the worker's exception, or what the launcher says of its death."""
        text = read_text(source, out, MAX_BYTES)
        try:
            body = json.loads(text)
        except (ValueError, RecursionError) as error:
            out.gap(f"not a complete error file: {type(error).__name__}", line=1)
            return
        message = body.get("message") if isinstance(body, dict) else None
        inner: dict[str, Any] = message if isinstance(message, dict) else {"message": message}
        extra = inner.get("extraInfo")
        extra = extra if isinstance(extra, dict) else {}
        time_s = metric_value(extra.get("timestamp"))
        time_s = time_s if time_s is not None and math.isfinite(time_s) else None
        stack = extra.get("py_callstack")
        if isinstance(stack, str) and "Traceback" in stack:
            # The stack is one JSON string, that is one line of the file.
            read_lines([(1, stack, time_s)], out)
            return
        self._plain(str(inner.get("message") or ""), source, out, time_s)

    def _plain(self, text: str, source: OpenSource, out: SourceWriter, time_s: float | None) -> None:
        place = place_of(source.name)
        match = _EXCEPTION.match(text)
        fields: dict[str, Any] = {"message": text[:500]}
        if match:
            fields = {"exception": match["exception"], "message": match["message"]}
        fields |= {
            name: value
            for name, value in (("local_rank", place.local_rank), ("attempt", place.attempt))
            if value is not None
        }
        role = role_of(match["exception"], match["message"]) if match else "symptom"
        out.event(
            "worker_error",
            text or "no message",
            role=role,
            line=1,
            time_s=time_s,
            rank=place.rank,
            fields=fields,
        )
