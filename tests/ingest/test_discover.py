"""Which files make a run: links, copies, several runs in one directory, superseded checkpoints."""

import gzip
import json
import os
import shutil
from pathlib import Path

import pytest

import analyzer
from analyzer.errors import InputError, UnknownFormatError
from analyzer.ingest.discover import load_run
from analyzer.ingest.runs.run_groups import split_runs, without_copies, without_superseded
from analyzer.ingest.walk import discover
from analyzer.triage.plan import make_plan

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

    assert len(without_copies(discover(tmp_path).found)) == 1


def test_equal_heads_make_no_copy(tmp_path):
    head = "".join(f"step {i} loss {2.0 - i / 9000:.4f}\n" for i in range(9000))
    (tmp_path / "rank_0.log").write_text(head + "step 9001 loss 1.0\n", encoding="utf-8")
    (tmp_path / "rank_1.log").write_text(head + "step 9001 loss nan\n", encoding="utf-8")

    assert len(load_run(tmp_path).run.sources) == 2


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


def rows(count, planned=300, offset=0.0):
    return "".join(
        f"step {i}/{planned} loss {0.4 + 3.6 * (1 - i / planned) ** 2 + offset:.4f}\n"
        for i in range(1, count + 1)
    )


def project(root, *logs):
    """Logs of equal content but for an offset, under a project with its code and a shared configuration."""
    for number, name in enumerate(logs):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(rows(300, offset=number), encoding="utf-8")
        os.utime(path, (1_790_000_000 + 1000 * number,) * 2)
    (root / "train.py").write_text("print()\n", encoding="utf-8")
    (root / "configs").mkdir()
    (root / "configs" / "base.yaml").write_text("learning_rate: 0.001\n", encoding="utf-8")


@pytest.mark.parametrize(
    "logs",
    [
        ("outputs/run1/train.log", "outputs/run2/train.log"),
        ("outputs/2026-01-02/03-04-05/train.log", "outputs/2026-01-02/06-07-08/train.log"),
        ("logs/x/a/train.log", "logs/x/b/train.log", "logs/y/a/train.log"),
        ("slurm-1001.out", "slurm-1002.out"),
    ],
    ids=["outputs", "hydra", "nested", "jobs"],
)
def test_runs_of_a_project_are_told_apart_as_in_a_triage(tmp_path, logs):
    project(tmp_path, *logs)
    loaded = load_run(tmp_path)
    places = [name if name.startswith("slurm") else name.rpartition("/")[0] for name in logs]

    assert loaded.subject == places[-1]
    assert sorted(loaded.others) == sorted(places[:-1])
    assert len(loaded.run.metrics.series("loss")) == 300
    assert sorted(
        run.location.removeprefix(f"{tmp_path}/") for run in make_plan([str(tmp_path)]).runs
    ) == sorted(places)


def test_numbered_directories_with_a_configuration_of_hydra_are_runs(tmp_path):
    project(tmp_path, *(f"multirun/2026-01-02/03-04-05/{i}/train.log" for i in range(3)))
    for i in range(3):
        (tmp_path / f"multirun/2026-01-02/03-04-05/{i}/.hydra").mkdir()
        (tmp_path / f"multirun/2026-01-02/03-04-05/{i}/.hydra/config.yaml").write_text(
            f"learning_rate: 0.00{i + 1}\n"
        )
    loaded = load_run(tmp_path)

    assert loaded.subject == "multirun/2026-01-02/03-04-05/2"
    assert [e.value for e in loaded.run.config.entries if e.key_in_source == "learning_rate"] == [0.003]


def test_the_metrics_of_dvclive_are_one_run_however_their_names_are_parted(tmp_path):
    metrics = tmp_path / "dvclive/plots/metrics"
    for name in ("train/loss", "train/loss_weak", "val/synth/f1", "val/weak/f1"):
        (metrics / name).parent.mkdir(parents=True, exist_ok=True)
        (metrics / f"{name}.tsv").write_text(f"step\t{name.rpartition('/')[2]}\n1\t0.5\n2\t0.25\n")

    loaded = load_run(tmp_path)

    assert len(loaded.run.sources) == 4
    assert loaded.run.metrics.series("loss") is not None


def test_a_log_below_does_not_speak_for_the_one_in_the_directory(tmp_path):
    project(tmp_path, "sub/train.log")
    (tmp_path / "train.log").write_text(
        rows(80) + "".join(f"step {i}/300 loss nan\n" for i in range(81, 301))
    )
    loaded = load_run(tmp_path)

    assert (loaded.subject, loaded.others) == ("train.log", ("sub",))
    assert analyzer.diagnose(tmp_path).status == "failed"


def test_the_next_run_is_read_if_the_newest_cannot_be_and_the_first_lines_say_so(tmp_path):
    project(tmp_path, "exp1/train.log")
    (tmp_path / "exp2").mkdir()
    (tmp_path / "exp2" / "events.out.tfevents.1.host").write_bytes(bytes(range(256)) * 16)
    dx = analyzer.diagnose(tmp_path)

    assert (dx.subject, dx.passed_over[0].path) == ("exp1", "exp2")
    assert "the newest run, exp2, could not be read" in " ".join(analyzer.report(dx, "terminal").split()[:30])


def test_the_others_and_triage_are_named_in_the_first_lines(tmp_path):
    project(tmp_path, "outputs/run1/train.log", "outputs/run2/train.log")
    shown = " ".join(analyzer.report(analyzer.diagnose(tmp_path), "terminal").split("\n")[:4])

    assert "run outputs/run2" in shown
    assert "1 of 2 runs found here" in shown
    assert f"analyzer triage {tmp_path}" in " ".join(shown.split())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_forbids_health(tmp_path):
    (tmp_path / "rank0.log").write_text(rows(300) + "Training completed\n", encoding="utf-8")
    (tmp_path / "rank1.log").write_text(rows(300), encoding="utf-8")
    (tmp_path / "rank1.log").chmod(0)

    assert analyzer.diagnose(tmp_path).status == "insufficient"


@pytest.mark.parametrize("kind", ["deep", "loop", "outside", "torn"])
def test_what_was_there_and_not_read_forbids_health(tmp_path, kind):
    run = tmp_path / "run"
    run.mkdir()
    (run / "train.log").write_text(rows(300) + "Training completed\n", encoding="utf-8")
    if kind == "deep":
        deep = run.joinpath(*["logs"] * 18)
        deep.mkdir(parents=True)
        (deep / "rank1.log").write_text(rows(300), encoding="utf-8")
    if kind == "loop":
        (run / "rank1.log").symlink_to(run / "rank1.log")
    if kind == "outside":
        (tmp_path / "scratch").mkdir()
        (run / "logs").symlink_to(tmp_path / "scratch")
    if kind == "torn":
        (run / "rank1.log.gz").write_bytes(
            gzip.compress(os.urandom(400).hex().encode() + rows(300).encode())[:700]
        )
    dx = analyzer.diagnose(run)

    assert dx.status == "insufficient"
    assert "not everything could be read" in dx.summary


def test_names_that_are_no_utf_8_are_read_and_shown_as_escapes(tmp_path):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/gr\xf6\xdfe"))
    folder.mkdir()
    log = folder / os.fsdecode(b"tr\xe4in.log")
    log.write_text(rows(300) + "Training completed\n", encoding="utf-8")
    for source in (tmp_path, folder, log):
        dx = analyzer.diagnose(source)

        assert dx.status == "healthy"
        assert "\\xe4in.log" in analyzer.report(dx, "json").replace("\\\\", "\\")
        analyzer.report(dx, "terminal").encode("utf-8")


CARD = (
    "# whisper-tiny-own\n\n### Training results\n\n| Training Loss | Epoch | Step | Validation Loss |\n|:---:|:---:|:---:|:---:|\n"
    + "".join(f"| {3 / at:.4f} | {at}.0 | {at * 100} | {3.2 / at:.4f} |\n" for at in range(1, 12))
)


def test_the_card_of_a_model_is_read_and_left_out_beside_what_it_repeats(tmp_path):
    (tmp_path / "README.md").write_text(CARD)
    assert len(analyzer.load(tmp_path).metrics.series("eval_loss")) == 11

    (tmp_path / "train.log").write_text(rows(30))
    assert [found.candidate.name for found in discover(tmp_path).found] == ["train.log"]


@pytest.mark.parametrize(("counter", "read"), [("Step", True), ("Iteration", True), ("Layer", False)])
def test_a_page_whose_table_counts_steps_is_read_like_the_card_of_a_model(tmp_path, counter, read):
    course = "".join(f"| {at * 250:,} | {3.2 / at:.4f} | {80 / at:.2f}% |\n" for at in range(1, 12))
    (tmp_path / "metrics.md").write_text(f"| {counter} | Validation loss | WER |\n|---:|---:|---:|\n{course}")

    assert [found.ingestor.name for found in discover(tmp_path).found] == ["text-log"] * read
    if read:
        assert len(analyzer.load(tmp_path).metrics.series("eval_loss")) == 11


@pytest.mark.parametrize("name", ["notes.md", "run.unknown", "README", "console.rst"])
def test_a_file_that_is_given_by_itself_is_read_whatever_its_name(tmp_path, name):
    (tmp_path / name).write_text(rows(30))
    assert analyzer.load(tmp_path / name).metrics.has("loss")


def _markdown(tmp_path, text):
    (tmp_path / "train_net.md").write_text(text)
    return [found.ingestor.name for found in discover(tmp_path).found]


ROWS_OF_A_RUN = "".join(f"epoch {at}:\nloss_D: {1 / at:.3f}, loss_G: {2 / at:.3f}\n\n" for at in range(1, 30))


def test_headings_of_epochs_do_not_make_a_page_of_rows(tmp_path):
    epochs = (
        f"#### Epoch {n}/11\ntrain loss: {2 / n:.4f}<br>\nval loss: {3 / n:.4f}<br>\n" for n in range(1, 12)
    )

    assert _markdown(tmp_path, "## Training\n" + "\n".join(epochs)) == ["text-log"]


def test_a_markdown_file_whose_lines_are_rows_is_a_log(tmp_path):
    assert _markdown(tmp_path, f"Using device:  cuda\n{ROWS_OF_A_RUN}") == ["text-log"]


@pytest.mark.parametrize(
    "page",
    [
        "It learns from pairs.\n" * 90
        + f"```\n{ROWS_OF_A_RUN}```\n",  # a page that quotes a run among its words
        "".join(f"- `width_{at}`: {at}\n" for at in range(30)),  # settings, each of which stands there once
        "".join(f"* epoch {at}: loss {1 / at:.3f}\n" for at in range(1, 30)),  # a list of results
        "Run `train.py`; each epoch prints loss and accuracy.\n" * 40,
    ],
)
def test_a_page_about_a_run_is_no_log(tmp_path, page):
    assert not _markdown(tmp_path, page)


@pytest.mark.parametrize(
    "page",
    [
        f"## First try\n```\n{ROWS_OF_A_RUN}```\n",
        "".join(f"| rollout/ | |\n| ep_rew_mean | {at / 3:.2f} |\n| total_timesteps | {at}00 |\n---\n" for at in range(9)),
        "".join(f"INFO :  [ROUND {at}]\nINFO :  sampled 9\nRound {at}: loss = {1 / at:.3f}\n" for at in range(1, 9)),
    ],
)  # fmt: skip
def test_a_page_that_is_little_else_than_a_log_is_read_where_nothing_else_tells_of_a_run(tmp_path, page):
    (tmp_path / "README.md").write_text(page)
    (tmp_path / "train.py").write_text("import torch\n")

    assert [found.candidate.name for found in discover(tmp_path).found] == ["README.md"]
    assert len(analyzer.load(tmp_path).metrics) >= 8

    (tmp_path / "train.log").write_text(rows(9))
    assert [found.candidate.name for found in discover(tmp_path).found] == ["train.log"]


def test_a_folder_of_pictures_or_archives_is_not_told_to_be_empty(tmp_path):
    pictures, packed, empty = (tmp_path / name for name in ("pictures", "packed", "empty"))
    for folder in (pictures, packed, empty):
        folder.mkdir()
    (pictures / "curve.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (packed / "logs.zip").write_bytes(b"PK\x03\x04broken")

    for folder, told in [
        (pictures, r"no file that could tell of a run \(found curve\.png\)"),
        (packed, r"logs\.zip is read if it is given itself"),
        (packed / "logs.zip", "the archive is damaged"),
        (empty, "no files"),
    ]:
        with pytest.raises(InputError, match=told):
            load_run(folder)


def test_files_of_one_curve_on_training_and_held_out_data_are_one_run(tmp_path):
    for phase, least in (("train", 0.1), ("val", 0.9)):
        rows = (
            f"epoch: {at} loss: {least + 2.2 / at:.4f} accuracy: {1 - least / at:.4f}\n"
            for at in range(1, 21)
        )
        (tmp_path / f"{phase}_loss_deep.txt").write_text("".join(rows))
    both = analyzer.diagnose(tmp_path)
    alone = analyzer.diagnose(tmp_path / "train_loss_deep.txt")

    assert both.coverage.metrics == {"loss": 20, "accuracy": 20, "eval_loss": 20, "eval_accuracy": 20}
    assert alone.coverage.metrics == {"loss": 20, "accuracy": 20}


def test_a_log_named_for_a_test_that_stands_alone_is_of_a_training(tmp_path):
    (tmp_path / "test_loss.txt").write_text(
        "".join(f"epoch: {at} loss: {2.2 / at:.4f}\n" for at in range(1, 21))
    )

    assert analyzer.diagnose(tmp_path).coverage.metrics == {"loss": 20}
