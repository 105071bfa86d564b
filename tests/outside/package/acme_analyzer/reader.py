"""Curves as the cluster's own tracker writes them: a first line that names it, then ``step value`` of the loss."""

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter

START = b"acme-curves 1\n"


class AcmeCurves:
    """Reads the tracker's curves."""

    name = "acme-curves"
    summary = "curves of the ACME tracker"
    is_log = True

    def sniff(self, candidate: Candidate) -> Match:
        """The first line says so."""
        return Match.SURE if candidate.head.startswith(START) else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """One point per line; a line that is none becomes a gap."""
        with source.open() as stream:
            for number, line in enumerate(stream, 1):
                parts = line.split()
                if number == 1:
                    continue
                if line.startswith(b"stagerd: "):
                    tier = line.split()[2].decode("utf-8", "replace")
                    out.event(
                        "acme_tier_draining",
                        line.decode("utf-8", "replace"),
                        role="root_candidate",
                        fields={"tier": tier},
                        line=number,
                    )
                    continue
                try:
                    out.metric("loss", float(parts[1]), step=int(parts[0]), line=number)
                except (IndexError, ValueError):
                    out.gap("not a step and a value", line=number)
