"""Which files make a run: links, copies, several runs in one directory, superseded checkpoints."""

import json
import shutil
from pathlib import Path

import pytest

from analyzer.errors import InputError, UnknownFormatError
from analyzer.ingest.discover import discover, load_run, split_runs, without_superseded

STATE = {
    "global_step": 4,
    "max_steps": 8,
    "log_history": [{"loss": 2.0 - i / 10, "step": i, "epoch": 0.1} for i in range(1, 5)],
}


def state(path, steps):
    rows = [{"loss": 2.0 - i / 100, "step": i, "epoch": 0.1} for i in range(1, steps + 1)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"global_step": steps, "max_steps": 9, "log_history": rows}), encoding="utf-8")


def test_of_checkpoints_of_one_run_the_longest_history_is_read_once(tmp_path):
    for steps in (3, 6, 9):
        state(tmp_path / f"checkpoint-{steps}" / "trainer_state.json", steps)

    assert len(load_run(tmp_path).run.metrics.series("loss")) == 9


def test_a_copy_of_a_file_is_read_once(tmp_path):
    state(tmp_path / "a" / "trainer_state.json", 40)
    shutil.copytree(tmp_path / "a", tmp_path / "b")

    assert len(discover(tmp_path).found) == 1


def test_a_link_inside_the_run_is_read_once_and_one_that_leads_out_is_told(tmp_path):
    outside = tmp_path / "outside.log"
    outside.write_text("secret\n" * 50, encoding="utf-8")
    run = tmp_path / "run"
    state(run / "trainer_state.json", 40)
    (run / "latest.json").symlink_to(run / "trainer_state.json")
    (run / "out.log").symlink_to(outside)
    discovery = discover(run)

    assert len(discovery.found) == 1
    assert discovery.unreadable == [("out.log", "link that leads out of the directory")]


def test_two_sub_directories_with_a_log_each_are_two_runs_and_the_shared_config_goes_to_both(tmp_path):
    state(tmp_path / "run-a" / "trainer_state.json", 5)
    state(tmp_path / "run-b" / "trainer_state.json", 7)
    (tmp_path / "train_config.yaml").write_text("learning_rate: 0.001\nfp16: true\n", encoding="utf-8")
    groups = split_runs(without_superseded(discover(tmp_path).found))

    assert [group.label for group in groups] == ["run-a", "run-b"]
    assert all("train_config.yaml" in [f.candidate.name for f in group.found] for group in groups)


def test_the_run_that_started_last_is_read_and_the_others_are_named(tmp_path):
    state(tmp_path / "20260101_101010" / "trainer_state.json", 5)
    state(tmp_path / "20260102_101010" / "trainer_state.json", 7)
    loaded = load_run(tmp_path)

    assert loaded.subject == "20260102_101010"
    assert loaded.others == ("20260101_101010",)
    assert len(loaded.run.metrics.series("loss")) == 7


def test_a_log_at_the_root_makes_the_whole_directory_one_run(tmp_path):
    state(tmp_path / "trainer_state.json", 5)
    state(tmp_path / "runs-x" / "other_state.json", 7)

    assert len(split_runs(discover(tmp_path).found)) == 1


@pytest.mark.parametrize(
    ("files", "error", "says"),
    [
        ({}, InputError, "no files"),
        ({"a.log": b""}, InputError, "empty files"),
        ({"a.xyz": b"\x00\x01\x02" * 400}, UnknownFormatError, "a.xyz"),
    ],
)
def test_nothing_readable_is_told_and_never_taken_for_healthy(tmp_path, files, error, says):
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)

    with pytest.raises(error, match=says):
        load_run(tmp_path)


def test_an_empty_file_beside_a_good_one_is_a_gap(tmp_path):
    state(tmp_path / "trainer_state.json", 5)
    (tmp_path / "events.out.tfevents.1.host").write_bytes(b"")
    gaps = [gap.reason for gap in load_run(tmp_path).run.gaps]

    assert any("0 bytes" in gap for gap in gaps)


def test_a_missing_path_says_what_to_give():
    with pytest.raises(InputError, match="give a run directory"):
        discover(Path("does-not-exist"))


def test_checkpoint_folders_are_saved_checkpoints(tmp_path):
    for step in (100, 200):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        rows = [{"step": s, "loss": 2.0, "epoch": s / 100} for s in range(10, step + 1, 10)]
        (folder / "trainer_state.json").write_text(json.dumps({"global_step": step, "log_history": rows}))

    events = load_run(tmp_path).run.events.of("checkpoint_saved")

    assert [(event.step, event.fields["path"]) for event in events] == [
        (100, "checkpoint-100"),
        (200, "checkpoint-200"),
    ]
