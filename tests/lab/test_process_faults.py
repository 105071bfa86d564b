"""The process faults of the lab: the table, the outcome tests, and one run made for real where torch is there."""

import importlib.util
import json
import random
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from samples.lab.process import data, make, processes, score  # noqa: E402
from samples.lab.process.plan import Hit, Plan, Result  # noqa: E402
from samples.lab.process.table import PROCESS_FAULTS  # noqa: E402

FAULTS = list(PROCESS_FAULTS.values())
CAUSES = {entry["id"] for entry in json.loads((ROOT / "rules" / "causes.json").read_text(encoding="utf-8"))}
GOOD_ROWS = tuple({"step": step, "loss": "2.1", "grad_norm": "1.5"} for step in range(1, 161))
GOOD = Result(0, "epoch 3 step 90 loss 0.2\ntraining finished after 160 steps\n", frozenset(), GOOD_ROWS)

ENDS = {
    "trainer_killed": (137, "run.sh: line 1: 77 Killed                  python train.py\n"),
    "keyboard_interrupt": (130, "Traceback (most recent call last):\nKeyboardInterrupt\n"),
    "terminated": (143, "epoch 4 step 160 loss 0.05\nTerminated\n"),
    "worker_killed": (1, "RuntimeError: DataLoader worker (pid 886) is killed by signal: Killed. \n"),
    "address_space_exhausted": (
        1,
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate 100 bytes.\n",
    ),
    "corrupt_record": (
        1,
        "json.decoder.JSONDecodeError: Caught JSONDecodeError in DataLoader worker process 0.\n",
    ),
    "data_missing": (1, "FileNotFoundError: [Errno 2] No such file or directory: 'data/a.jsonl'\n"),
    "label_out_of_range": (1, "IndexError: Target 255 is out of bounds.\n"),
    "disk_full": (1, "OSError: [Errno 28] No space left on device\n"),
    "file_too_large": (
        1,
        "RuntimeError: [enforce fail at inline_container.cc:672] . unexpected pos 83136 vs 83024\n",
    ),
    "output_unwritable": (1, "PermissionError: [Errno 13] Permission denied: 'results/checkpoints'\n"),
    "checkpoint_truncated": (
        1,
        "PytorchStreamReader failed reading zip archive: failed finding central directory\n",
    ),
    "inplace_change": (1, "has been modified by an inplace operation: [torch.FloatTensor [64, 96]]\n"),
    "half_weights_unscaled": (1, "ValueError: Attempting to unscale FP16 gradients.\n"),
    "token_beyond_embedding": (1, "IndexError: index out of range in self\n"),
    "rank_killed": (1, "  exitcode  : -9 (pid: 11373)\n"),
    "uneven_steps": (1, "unbound_buffer.cc:78] Timed out waiting 7000ms for recv operation to complete\n"),
    "port_taken": (
        1,
        "port: 29511, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use\n",
    ),
}


def test_the_table_has_enough_faults_with_labels_of_the_catalogue() -> None:
    assert len(FAULTS) >= 30
    assert [fault.name for fault in FAULTS] == list(PROCESS_FAULTS)  # a name used twice would be lost
    for fault in FAULTS:
        assert {fault.label, *fault.alternatives} <= CAUSES, fault.name
        assert fault.label not in fault.alternatives
        assert (make.SCRIPTS / f"{fault.script}.py").exists()


def test_no_script_names_a_fault() -> None:
    for script in make.SCRIPTS.glob("*.py"):
        text = script.read_text(encoding="utf-8")
        assert not [name for name in PROCESS_FAULTS if name in text]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_run_that_ended_well_was_not_bitten(fault) -> None:
    assert fault.outcome(GOOD)[0] is False
    assert make.judge(fault, GOOD, healthy=False)[0] is False


@pytest.mark.parametrize("name", ENDS)
def test_a_bitten_run_is_told_by_the_text_of_the_library(name: str) -> None:
    code, text = ENDS[name]
    bit, seen = PROCESS_FAULTS[name].outcome(Result(code, f"epoch 0 step 5 loss 2.1\n{text}"))
    assert bit
    assert f"exit code {code}" in seen


@pytest.mark.parametrize("name", ENDS)
def test_another_end_gives_no_label(name: str) -> None:
    other = Result(1, "Traceback (most recent call last):\nImportError: no module named torch\n")
    with pytest.raises(RuntimeError, match="a way of its own"):
        make.judge(PROCESS_FAULTS[name], other, healthy=False)


def test_a_twin_that_fails_is_refused() -> None:
    with pytest.raises(RuntimeError, match="did not end well"):
        make.judge(PROCESS_FAULTS["trainer_killed"], Result(137, "Killed"), healthy=True)


def test_norms_that_stay_broken_are_told_from_one_that_recovers() -> None:
    outcome = PROCESS_FAULTS["nan_in_data"].outcome
    text = "training finished after 160 steps"
    broken = tuple(row | {"grad_norm": "nan"} if row["step"] > 80 else row for row in GOOD_ROWS)
    spike = tuple(row | {"grad_norm": "nan"} if row["step"] == 80 else row for row in GOOD_ROWS)
    bit, seen = outcome(Result(0, text, frozenset(), broken))
    assert bit
    assert "from step 81 to the last one, 160" in seen
    assert not outcome(Result(0, text, frozenset(), spike))[0]


def test_a_jump_of_the_loss_must_leave_its_noise() -> None:
    outcome = PROCESS_FAULTS["optimizer_state_lost"].outcome
    draw = random.Random(5)
    calm = [{"step": step, "loss": 1.6 + draw.gauss(0, 0.08)} for step in range(1, 161)]
    jumped = [row | {"loss": row["loss"] + (0.4 if row["step"] > data.RESUME_AT else 0)} for row in calm]
    assert not outcome(Result(0, "", frozenset(), tuple(calm)))[0]
    assert outcome(Result(0, "", frozenset(), tuple(jumped)))[0]
    assert not outcome(Result(0, "", frozenset(), tuple(jumped[: data.RESUME_AT])))[0]


def test_twins_share_the_choices_of_their_fault(tmp_path: Path) -> None:
    fault = PROCESS_FAULTS["corrupt_record"]
    plans = {}
    for healthy in (True, False):
        run_dir = tmp_path / str(healthy)
        run_dir.mkdir()
        plans[healthy] = make.plan_run(fault, 3, run_dir, healthy=healthy)
    assert plans[True].settings == plans[False].settings
    lines = [(tmp_path / str(healthy) / "data" / "train.jsonl").read_text().splitlines() for healthy in plans]
    changed = [index for index, (a, b) in enumerate(zip(*lines, strict=True)) if a != b]
    assert len(changed) == 1
    with pytest.raises(json.JSONDecodeError):
        json.loads(lines[1][changed[0]])
    assert str(changed[0]) in plans[False].planted


def test_seeds_give_different_runs(tmp_path: Path) -> None:
    planted = set()
    for seed in range(4):
        run_dir = tmp_path / str(seed)
        run_dir.mkdir()
        planted.add(make.plan_run(PROCESS_FAULTS["corrupt_record"], seed, run_dir, healthy=False).planted)
    assert len(planted) == 4


def test_a_signal_waits_for_its_step(tmp_path: Path) -> None:
    struck = []
    looks = iter(range(100))

    def strike(run_dir: Path) -> None:
        struck.append(run_dir)

    def over() -> bool:
        look = next(looks)
        if look == 3:
            (tmp_path / "train.log").write_text("epoch 0 step 10 loss 2.1\nepoch 0 step 20 loss 2.0\n")
        return look > 20

    processes.watch(Hit(processes.step_reached(15), strike), tmp_path, over)
    assert struck == [tmp_path]
    assert 3 < next(looks) <= 6
    processes.watch(Hit(processes.step_reached(999), strike), tmp_path, over)
    assert len(struck) == 1


def test_the_manifest_describes_every_script() -> None:
    for script, choose in data.SETTINGS.items():
        row = make._described(choose(random.Random(1)), script)
        assert row["steps"] >= 50
        assert row["batch_size"] >= 8
        assert set(row) <= set(make.COLUMNS)


def test_verdicts() -> None:
    def answer(cause: str, status: str = "failed") -> score.Answer:
        return score.Answer(status, cause, 0.9, "-")

    assert score.verdict("process-sigkilled", "trainer_killed", answer("process-sigkilled")) == "exact"
    assert score.verdict("process-sigkilled", "trainer_killed", answer("host-oom-kill")) == "accepted"
    assert score.verdict("process-sigkilled", "trainer_killed", answer("disk-full")) == "MISS"
    assert score.verdict("process-sigkilled", "trainer_killed", answer("-")) == "silent"
    assert score.verdict("healthy", "none", answer("disk-full")) == "MISS"
    assert score.verdict("healthy", "none", answer("-", "healthy")) == "exact"


def test_plans_start_healthy() -> None:
    plan = Plan(Path("run"), {}, random.Random(0), "python train.py")
    assert plan.hit is None
    assert plan.shell == plan.wrapper == []


@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed: no run can be made"
)
def test_a_real_run_is_made_and_neutral(tmp_path: Path) -> None:
    row = make.make_process_run("label_out_of_range", 1, tmp_path / "run")
    assert row["label"] == "label-out-of-range"
    assert row["exit_code"] == 1
    log = (tmp_path / "run" / "train.log").read_text(encoding="utf-8")
    assert "is out of bounds" in log
    assert str(ROOT) not in log
    assert not list((tmp_path / "run").rglob("*.pt"))
