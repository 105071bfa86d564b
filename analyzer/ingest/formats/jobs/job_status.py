"""The status of a container as a file of its own: ``kubectl get pod -o yaml`` or ``-o json``, ``docker inspect``.

Not for what the same commands print as text inside a log, nor for pod specifications that never ran: those are
read as logs and left alone.
"""

from __future__ import annotations

import re

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.source_text import looks_like_text
from analyzer.ingest.text.text_log import TextLog
from analyzer.lazy_regex import LazyRegex

_SUFFIX = LazyRegex(r"\.(?:ya?ml|json)(?:\.gz|\.zst)?$")
_POD = re.compile(rb"(?m)^\s{0,20}\"?kind\"?: \"?(?:Pod|PodList|List|Event|EventList)\"?,?\s*$")
_STATUS = re.compile(rb"\"?containerStatuses\"?:|\"?involvedObject\"?:|\"?lastTimestamp\"?:")


class JobStatus:
    """Reads files that describe how a container ended."""

    def sniff(self, candidate: Candidate) -> Match:
        """A pod with the status of its containers, or Docker's description of a container."""
        head = candidate.head
        if not _SUFFIX.search(candidate.name.lower()) or not looks_like_text(head):
            return Match.NO
        is_pod = _POD.search(head) and _STATUS.search(head)
        is_inspected = b'"OOMKilled":' in head and b'"ExitCode":' in head
        return Match.SURE if is_pod or is_inspected else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Line by line, as the same text in a log would be read."""
        TextLog().read(source, out)
