"""Read files with one ingestor, letting every exception through."""

from __future__ import annotations

import tempfile
from pathlib import Path

from analyzer.errors import UnreadableFileError
from analyzer.ingest.base import Ingestor, Match, OpenSource, Reader, SourceWriter
from analyzer.ingest.builder import RunBuilder
from analyzer.ingest.registry import builtin_ingestors
from analyzer.ingest.walk import choose_ingestor, make_candidate
from analyzer.model.run import Run
from analyzer.record import replace

NAMES = {"config", "csv-metrics", "json-lines", "model-files", "requirements", "safetensors", "trainer-state"}
MINE = tuple(replace(row, may_match=lambda _: True) for row in builtin_ingestors() if row.name in NAMES)
PUBLIC = Path(__file__).parents[2] / ".." / "shared" / "data" / "public"


def name_of(reader: Reader | None) -> str:
    """What the registry calls a reader."""
    if reader is None or isinstance(reader, Ingestor):
        return reader.name if reader else ""
    return next(i.name for i in builtin_ingestors() if i.home.endswith(f":{type(reader).__name__}"))


def read_directory(root: Path, ingestor: Reader | None = None) -> Run:
    """Every file below ``root``, by the ingestor that claims it or by the one given."""
    builder = RunBuilder(str(root))
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        try:
            candidate = make_candidate(path, path.relative_to(root).as_posix())
        except UnreadableFileError as error:  # the walk itself refuses a damaged archive
            builder.add_gap(str(error))
            continue
        reader = ingestor or choose_ingestor(candidate, MINE)
        index = builder.add_source(
            candidate.name,
            format_name=name_of(reader),
            ingestor=name_of(reader),
            size_bytes=candidate.size_bytes,
            sha256_head="",
        )
        if reader is not None:
            reader.read(OpenSource(candidate, index), SourceWriter(builder, index))
    return builder.finish()


def read_files(files: dict[str, str | bytes], ingestor: Reader | None = None) -> Run:
    """Files given by name and content, as one run."""
    with tempfile.TemporaryDirectory() as directory:
        for name, content in files.items():
            path = Path(directory, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_directory(Path(directory), ingestor)


def claimed_by(name: str, content: str | bytes) -> str | None:
    """Name of the ingestor of this family that claims a file, None if none does."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        chosen = choose_ingestor(make_candidate(path, name), MINE)
        return None if chosen is None else chosen.name


def sniff(ingestor: Reader, name: str, content: bytes) -> Match:
    """The ingestor's match for a file of this name and content."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "file")
        path.write_bytes(content)
        return ingestor.sniff(make_candidate(path, name))


def read_every_prefix(name: str, content: bytes, ingestor: Reader, step: int = 1) -> list[Run]:
    """The runs read from the file cut at every ``step``-th byte; sniffing must not raise either."""
    runs = []
    for cut in range(1, len(content), step):
        sniff(ingestor, name, content[:cut])
        runs.append(read_files({name: content[:cut]}, ingestor))
    return runs
