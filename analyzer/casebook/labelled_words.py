"""Labelled logs as the hashed pieces of the words that they ended in: what the reader of messages is trained on, and no text."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from analyzer.detect.base import RunView
from analyzer.detect.failures.message_features import pieces
from analyzer.detect.failures.unknown_message import words_of
from analyzer.errors import InputError
from analyzer.ingest.discover import load_run
from analyzer.model.labels import HEALTHY
from analyzer.record import NamedTuple
from analyzer.rules.causes import catalogue

COLUMNS = ("source", "label", "acceptable", "pieces")


class LabelledWords(NamedTuple):
    """One labelled log."""

    source: str  # where it came from
    label: str  # its cause, or ``healthy``
    acceptable: tuple[str, ...]  # other right causes
    pieces: tuple[int, ...]  # hashes of its pieces, see ``message_features``


def labelled_words(
    run: Path, source: str, label: str, acceptable: Iterable[str] = ()
) -> LabelledWords | None:
    """What a log ended in; None where nothing it printed tells why it ended.

    Raises:
        InputError: The run cannot be read.
    """
    found = pieces(text for *_, text in words_of(RunView(load_run(run).run)))
    return LabelledWords(source, label, tuple(acceptable), tuple(sorted(found))) if found else None


def write_labelled_words(logs: Iterable[LabelledWords], path: Path) -> None:
    """One row a log."""
    import pyarrow as pa  # noqa: PLC0415  (slow to import; the command that writes needs it alone)
    import pyarrow.parquet as pq  # noqa: PLC0415

    columns = list(zip(*logs, strict=True)) or [()] * len(COLUMNS)
    kinds = (pa.string(), pa.string(), pa.list_(pa.string()), pa.list_(pa.uint32()))
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    pq.write_table(pa.table(arrays, names=list(COLUMNS)), path, compression="zstd")


def read_labelled_words(path: Path) -> list[LabelledWords]:
    """The logs of a file whose label the catalogue knows.

    Raises:
        InputError: It cannot be read or is no such file.
    """
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        rows = pq.read_table(path, columns=list(COLUMNS)).to_pylist()
    except (OSError, pa.ArrowException, ValueError, KeyError) as error:
        raise InputError(f"{path}: no labelled words ({error})") from error
    known = {*catalogue(), HEALTHY}
    return [
        LabelledWords(row["source"], row["label"], tuple(row["acceptable"]), tuple(row["pieces"]))
        for row in rows
        if row["label"] in known
    ]
