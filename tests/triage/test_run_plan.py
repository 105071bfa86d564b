"""What is taken for a run: directories, job logs side by side, parts of runs; what is skipped, and why."""

import json
import os
import sys

import pytest
from fleets import OOM, ROWS, write_run

from analyzer.errors import InputError
from analyzer.triage.plan import make_plan, sources_in


def found(plan, root):
    """Locations below the root, and how many files belong to each."""
    return {os.path.relpath(run.location, root): 1 + len(run.extra) for run in plan.runs}


def lay(root, *names, text=ROWS):
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def test_every_directory_with_a_log_is_a_run(tmp_path):
    for name in ("a/run1", "a/run2", "b/sweep/trial-7"):
        write_run(tmp_path / name, ROWS)
    plan = make_plan([str(tmp_path)])

    assert found(plan, tmp_path) == {"a/run1": 1, "a/run2": 1, "b/sweep/trial-7": 1}
    assert all("train.log" in run.why for run in plan.runs)
    assert plan.skipped == []


@pytest.mark.parametrize(
    ("directories", "name", "count"),
    [
        (("01", "02", "10"), "train.log", 3),
        (("1", "2", "17"), "workerlog.0", 3),
        (("4711", "4712"), "events.out.tfevents.1700000000.node", 2),
        (("0", "1"), "train.log", 1),
        (("1", "3"), "stdout.log", 1),
    ],
    ids=["padded", "from one", "TensorBoard", "from zero as ranks are", "streams of some ranks"],
)
def test_numbered_directories_are_runs_unless_they_may_be_ranks(tmp_path, directories, name, count):
    lay(tmp_path, *(f"{directory}/{name}" for directory in directories))

    assert len(make_plan([str(tmp_path)]).runs) == count


def test_a_source_that_is_a_run_is_one_run(tmp_path):
    write_run(tmp_path / "run", ROWS)
    lay(
        tmp_path / "run",
        "nccl.log",
        "logs/rank_0.log",
        "logs/rank_1.log",
        "checkpoint-500/trainer_state.json",
    )

    assert found(make_plan([str(tmp_path / "run")]), tmp_path) == {"run": 1}


@pytest.mark.parametrize("name", ["_dump_{}", "nccl_trace_rank_{}", "fr_{}.json"])
def test_the_dumps_of_all_ranks_are_one_run(tmp_path, name):
    for rank in range(3):
        dump = {"version": "2.9", "pg_config": {}, "pg_status": {}, "entries": [], "rank": rank}
        lay(tmp_path, "job/" + name.format(rank), text=json.dumps(dump))

    assert found(make_plan([str(tmp_path)]), tmp_path) == {"job": 1}


def test_the_files_of_torchrun_below_a_run_are_parts_of_it(tmp_path):
    for rank in range(3):
        lay(
            tmp_path,
            *(
                f"job/logs/none_x/attempt_0/{rank}/{name}"
                for name in ("stdout.log", "stderr.log", "error.json")
            ),
        )
    lay(tmp_path, "job/train.log")

    assert found(make_plan([str(tmp_path)]), tmp_path) == {"job": 1}


def test_job_logs_in_one_folder_are_a_run_each_and_both_streams_belong_together(tmp_path):
    lay(
        tmp_path,
        "slurm-101.out",
        "slurm-102.out",
        "train-10003.out",
        "train-10003.err",
        "sft.o4711",
        "sft.e4711",
    )
    plan = make_plan([str(tmp_path)])

    assert found(plan, tmp_path) == {
        "slurm-101.out": 1,
        "slurm-102.out": 1,
        "train-10003.err": 2,
        "sft.e4711": 2,
    }
    assert {run.job for run in plan.runs} == {"101", "102", "10003", "4711"}


def test_logs_of_different_names_are_runs_but_logs_of_different_parts_are_one(tmp_path):
    lay(tmp_path, "many/baseline.log", "many/lr3e-4.log", "one/train.log", "one/eval.log", "one/rank_3.log")
    lay(tmp_path, "dated/2026.01.02-03:04:05.log", "dated/2026.01.03-03:04:05.log")
    plan = make_plan([str(tmp_path)])

    assert found(plan, tmp_path) == {
        "many/baseline.log": 1, "many/lr3e-4.log": 1, "one": 1,
        "dated/2026.01.02-03:04:05.log": 1, "dated/2026.01.03-03:04:05.log": 1,
    }  # fmt: skip


def test_several_runs_of_one_library_below_a_directory_are_runs(tmp_path):
    for name in ("offline-run-20260102_030405-ab12cd34", "run-20260102_030505-ab12cd35"):
        lay(tmp_path, f"p/wandb/{name}/files/output.log", f"p/wandb/{name}/files/config.yaml")
    for number in (0, 1):
        lay(tmp_path, f"l/lightning_logs/version_{number}/metrics.csv")

    assert found(make_plan([str(tmp_path)]), tmp_path) == {
        "p/wandb/offline-run-20260102_030405-ab12cd34": 1, "p/wandb/run-20260102_030505-ab12cd35": 1,
        "l/lightning_logs/version_0": 1, "l/lightning_logs/version_1": 1,
    }  # fmt: skip


def test_what_is_skipped_is_said(tmp_path):
    write_run(tmp_path / "runs" / "one", ROWS)
    lay(tmp_path, "runs/sweep.yaml")
    lay(tmp_path, "runs/data/part-0.parquet", text="PAR1\0\x15\0 of a data set")
    lay(tmp_path, "runs/slurm-77.out", text="")
    plan = make_plan([str(tmp_path / "runs")])
    told = {os.path.relpath(item.path, tmp_path): item.reason for item in plan.skipped}

    assert found(plan, tmp_path) == {"runs/one": 1}
    assert "part-0.parquet" in told["runs/data"]
    assert any("slurm-77.out" in item.reason and "empty" in item.reason for item in plan.skipped)


def test_a_link_does_not_lead_out_of_the_source_nor_in_circles(tmp_path):
    outside = write_run(tmp_path / "outside", OOM)
    inside = write_run(tmp_path / "runs" / "one", ROWS)
    (tmp_path / "runs" / "escape").symlink_to(outside)
    (tmp_path / "runs" / "circle").symlink_to(tmp_path / "runs")
    (inside / "stolen.log").symlink_to(outside / "train.log")
    plan = make_plan([str(tmp_path / "runs")])

    assert found(plan, tmp_path) == {"runs/one": 1}
    assert sorted(item.reason for item in plan.skipped) == [
        "link that leads out of the source",
        "link that leads out of the source",
        "link to a directory of the same source",
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may enter every directory")
def test_a_directory_that_cannot_be_entered_is_said(tmp_path):
    write_run(tmp_path / "one", ROWS)
    (tmp_path / "closed").mkdir(mode=0)

    assert "cannot be entered" in make_plan([str(tmp_path)]).skipped[0].reason


def test_ids_are_stable_and_digests_follow_the_files(tmp_path, monkeypatch):
    run = write_run(tmp_path / "runs" / "one", ROWS)
    first = make_plan([str(tmp_path / "runs")]).runs[0]
    monkeypatch.chdir(tmp_path)
    second = make_plan(["runs"]).runs[0]
    (run / "train.log").write_text(ROWS + OOM, encoding="utf-8")
    third = make_plan(["runs"]).runs[0]

    assert first.key == second.key == third.key
    assert first.digest == second.digest != third.digest


def test_a_run_named_twice_is_one_run(tmp_path):
    write_run(tmp_path / "one", ROWS)

    assert len(make_plan([str(tmp_path), str(tmp_path / "one")], [str(tmp_path / "*")]).runs) == 1


def test_a_match_of_a_pattern_is_one_run_as_it_is(tmp_path):
    lay(tmp_path, "jobs/1/baseline.log", "jobs/1/lr3e-4.log", "jobs/2/a.log")

    assert found(make_plan([], [str(tmp_path / "jobs" / "*" / "")]), tmp_path) == {"jobs/1": 1, "jobs/2": 1}


def test_the_owner_is_read_from_the_home_directory(tmp_path):
    write_run(tmp_path / "users" / "alice" / "run", ROWS)

    assert make_plan([str(tmp_path)]).runs[0].user == "alice"


def test_a_list_of_sources_may_hold_comments_and_reasons(tmp_path):
    (tmp_path / "list").write_text("# made by --plan\n/runs/a\trun directory\n\n/runs/b\n", encoding="utf-8")

    assert sources_in(str(tmp_path / "list")) == ["/runs/a", "/runs/b"]


@pytest.mark.parametrize("source", ["nothing/here", "s3x://bucket/runs"])
def test_a_source_that_is_not_there_is_an_error_of_one_line(source):
    with pytest.raises(InputError, match=source):
        make_plan([source])


def test_a_configuration_beside_logs_of_odd_names_makes_them_one_run(tmp_path):
    lay(tmp_path, "job/pretrain-a.log", "job/dataprep.log", "job/ds_config.json", "job/NOTES")

    assert found(make_plan([str(tmp_path)]), tmp_path) == {"job": 1}


@pytest.mark.skipif(sys.platform == "darwin", reason="its file system refuses such names")
def test_a_name_of_another_encoding_is_told_and_disturbs_no_other(tmp_path):
    write_run(tmp_path / "good", ROWS)
    odd = os.fsencode(tmp_path) + b"/b\xe4d"
    os.mkdir(odd)  # noqa: PTH102  (a path object cannot hold it)
    with open(odd + b"/train.log", "w", encoding="utf-8") as stream:  # noqa: PTH123
        stream.write(ROWS)
    plan = make_plan([str(tmp_path)])

    assert found(plan, tmp_path) == {"good": 1}
    assert "not UTF-8" in plan.skipped[0].reason
    json.dumps([item.path for item in plan.skipped], ensure_ascii=False).encode("utf-8")
