"""What a run leaves for its own diagnosis, without any trainer."""

import json
import sys

import pytest

from analyzer.integrations.trainers import FOLDER, LOCK, Ending, Wishes


@pytest.fixture
def diagnosed(monkeypatch):
    """Folders that were given to a diagnosis."""
    seen = []
    monkeypatch.setattr(Ending, "_diagnose", lambda self: seen.append(self.folder))
    return seen


def test_rows_are_written_at_once_and_values_that_are_no_numbers_are_left_out(tmp_path, diagnosed):
    ending = Ending(tmp_path, Wishes())
    ending.begin({"config.json": "{}"})
    ending.log(3, {"loss": 0.5, "grad_norm": float("nan"), "note": "text", "ok": True, "none": None})
    rows = [json.loads(line) for line in (tmp_path / FOLDER / "metrics.jsonl").read_text().splitlines()]
    ending.finish()

    assert [list(row) for row in rows] == [["step", "loss", "grad_norm"]]
    assert diagnosed == [tmp_path / FOLDER]


def test_an_exception_is_kept_and_diagnosed_once_and_the_hook_is_given_back(tmp_path, diagnosed, monkeypatch):
    shown = []
    monkeypatch.setattr(sys, "excepthook", lambda *error: shown.append(error[1]))
    before = sys.excepthook
    ending = Ending(tmp_path, Wishes())
    ending.begin({})
    error = ValueError("a batch is empty")
    sys.excepthook(ValueError, error, None)
    ending.finish()

    assert shown == [error]
    assert sys.excepthook is before
    assert "ValueError: a batch is empty" in (tmp_path / FOLDER / "rank0.log").read_text()
    assert len(diagnosed) == 1


def test_of_several_ranks_one_diagnoses_and_each_keeps_why_it_ended(tmp_path, diagnosed):
    ranks = [Ending(tmp_path, Wishes(), rank) for rank in range(3)]
    for rank in ranks:
        rank.begin({})
    for rank in reversed(ranks):
        rank.finish(RuntimeError(f"rank {rank.rank}"))
        sys.excepthook = sys.__excepthook__

    assert {path.name for path in (tmp_path / FOLDER).iterdir()} >= {
        "rank0.log",
        "rank1.log",
        "rank2.log",
        LOCK,
    }
    assert len(diagnosed) == 1


def test_a_later_launch_forgets_the_earlier_one(tmp_path, diagnosed):
    for _ in range(2):
        ending = Ending(tmp_path, Wishes())
        ending.begin({})
        ending.log(1, {"loss": 1.0})
        ending.finish()

    assert len((tmp_path / FOLDER / "metrics.jsonl").read_text().splitlines()) == 1
    assert len(diagnosed) == 2


def test_who_pressed_the_key_gets_no_diagnosis(tmp_path, diagnosed):
    ending = Ending(tmp_path, Wishes())
    ending.begin({})
    ending.finish(KeyboardInterrupt())
    sys.excepthook = sys.__excepthook__

    assert diagnosed == []


def test_nothing_that_fails_reaches_the_training(tmp_path, caplog):
    (tmp_path / FOLDER).write_text("a file stands in the way", encoding="utf-8")
    ending = Ending(tmp_path, Wishes())
    ending.begin({})
    ending.log(1, {"loss": 1.0})
    ending.finish()

    assert [record.levelname for record in caplog.records] == ["WARNING"] * 3
