"""A saved step (``analyzer.replay``): known, and left alone.

Its weights are those of the moment of the fault and no checkpoint of the user's: whether a run started from bad weights
they cannot tell. ``analyzer replay run`` reads them.
"""

from __future__ import annotations

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.model.replay import CAPSULE_HEADER, CAPSULE_SCHEMA

_TENSORS = frozenset({"weights.safetensors", "batch.safetensors", "random.safetensors"})


class CapsuleFiles:
    """Recognises the four files of a capsule."""

    name = "capsule"
    summary = "a step saved for replay (analyzer replay run reads it)"
    is_log = False

    def sniff(self, candidate: Candidate) -> Match:
        """The header by its schema, the tensors by the header beside them."""
        if CAPSULE_SCHEMA.encode() in candidate.head[:256]:
            return Match.SURE
        if candidate.name.rpartition("/")[2] not in _TENSORS:
            return Match.NO
        header = candidate.path.with_name(CAPSULE_HEADER)
        return Match.SURE if header.is_file() and not header.is_symlink() else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Nothing of it is evidence."""
