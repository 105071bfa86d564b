"""Labelled logs as hashes of what they ended in: made from runs, kept as numbers, read with checks."""

import csv

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from analyzer.casebook.labelled_words import labelled_words, read_labelled_words, write_labelled_words
from analyzer.classifier import messages
from analyzer.classifier.messages import load_corpus
from analyzer.cli.app import app
from analyzer.detect.failures.message_features import pieces
from analyzer.errors import InputError
from analyzer.rules.load import load_rules
from analyzer.vocabulary.events import event_files

FULL = "OSError: [Errno 28] No space left on device: 'model.pt'"


@pytest.fixture
def table(tmp_path):
    """Two labelled runs, of which the second says nothing of its end."""
    for name, text in {
        "full": f"loading\n{FULL}\n",
        "rows": "".join(f"step {n} loss {9 / n:.3f}\n" for n in range(1, 9)),
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.log").write_text(text, encoding="utf-8")
    labels = tmp_path / "labels.csv"
    with labels.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(
            [
                ("id", "root_cause", "acceptable", "url"),
                ("full", "disk-full", "checkpoint-write-failed|no-such-cause", "https://example.org/1"),
                ("rows", "healthy", "", ""),
            ]
        )
    return labels


def test_what_labelled_runs_ended_in_is_kept_as_numbers_and_learned(table, monkeypatch):
    few = event_files()[:1]  # asked is what becomes of labelled logs, not of each example of ours
    monkeypatch.setattr(messages, "event_files", lambda: few)
    words, book = table.with_name("words.parquet"), table.with_name("book.jsonl")

    done = CliRunner().invoke(
        app, ["casebook", "build", str(table), str(table.parent), "--to", str(book), "--words", str(words)]
    )
    (log,) = read_labelled_words(words)
    corpus = load_corpus([words], load_rules(()))

    assert done.exit_code == 0, done.output
    assert (log.source, log.label, log.acceptable) == (
        "https://example.org/1",
        "disk-full",
        ("checkpoint-write-failed",),
    )
    assert set(log.pieces) == pieces([FULL])
    assert b"space left" not in words.read_bytes()
    assert (corpus.pieces[-1], corpus.causes[-1]) == (log.pieces, ("disk-full", "checkpoint-write-failed"))
    assert corpus.groups[-1] == log.source
    assert len(corpus.groups) > 1
    assert set(corpus.groups[:-1]) == {""}, "messages of our own belong to no group"


def test_a_log_that_tells_nothing_of_its_end_has_no_words(table):
    assert labelled_words(table.parent / "rows", "own", "healthy") is None


def test_labels_that_the_catalogue_lost_are_left_out_and_other_files_refused(table):
    words = table.with_name("words.parquet")
    found = labelled_words(table.parent / "full", "own", "disk-full")
    assert found is not None
    write_labelled_words(
        [found, found._replace(label="a-cause-of-old"), found._replace(label="healthy")], words
    )
    other = table.with_name("other.parquet")
    pq.write_table(pq.read_table(words).drop_columns(["pieces"]), other)

    assert [log.label for log in read_labelled_words(words)] == ["disk-full", "healthy"]
    for bad in (other, table, table.with_name("missing.parquet")):
        with pytest.raises(InputError):
            read_labelled_words(bad)
