"""The real run files of public projects, which stand beside the project and are not part of it."""

import csv
from pathlib import Path

PUBLIC = Path(__file__).parents[1] / ".." / "shared" / "data" / "public"
# Formats that no ingestor reads: traces of other tools and of clusters
TRACES = {"chakra-et", "straggler-trace", "tf-profiler-trace", "cluster-trace"}


def manifest():
    """Rows of the files that an ingestor may read; none where the files are not here."""
    path = PUBLIC / "manifest.csv"
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as stream:
        return [row for row in csv.DictReader(stream) if row["format"] not in TRACES]
