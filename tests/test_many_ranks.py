"""A job of 64 ranks: one dies, 63 wait for it until their watchdogs speak. One answer, which names the rank."""

import json
import random

import pytest

import analyzer
from analyzer.render.json import render_json
from analyzer.render.terminal import Style, render_terminal

WORLD = 64
STEPS = 30
DEATHS = {
    "user-code-exception": (
        "Traceback (most recent call last):",
        '  File "/data/run/train.py", line 88, in <module>',
        "    main()",
        '  File "/data/run/dataset.py", line 42, in __getitem__',
        "    return self.index[key]",
        "KeyError: 'caption'",
    ),
    "oom": (
        "Traceback (most recent call last):",
        '  File "/data/run/train.py", line 61, in training_step',
        "    loss.backward()",
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 5 has a total capacity of 79.10 GiB of "
            "which 1.20 GiB is free. Process 4242 has 77.80 GiB memory in use. Of the allocated memory 75.10 GiB is allocated by "
            "PyTorch, and 1.10 GiB is reserved by PyTorch but unallocated."
        ),
    ),
    "disk-full": (
        "Traceback (most recent call last):",
        '  File "/data/run/train.py", line 70, in save',
        "    handle.write(data)",
        "OSError: [Errno 28] No space left on device",
    ),
}  # fmt: skip


def watchdog(rank):
    stamp = f"E1003 18:47:01.{rank:06d}"
    work = "WorkNCCL(SeqNum=842, OpType=ALLREDUCE, NumelIn=5242880, NumelOut=5242880, Timeout(ms)=600000)"
    caught = f"[Rank {rank}] Watchdog caught collective operation timeout: {work} ran for 600017 milliseconds before timing out."
    return [
        f"[{stamp} ProcessGroupNCCL.cpp:607] {caught}",
        f"[{stamp} ProcessGroupNCCL.cpp:1537] [PG 0 Rank {rank}] To avoid data inconsistency, we are taking the entire process down.",
        f"[{stamp} ProcessGroupNCCL.cpp:1537] [PG 0 Rank {rank}] Process group watchdog thread terminated with exception: {caught}",
    ]


def lines_of(rank, dead, death):
    rows = (
        [f"step {step} loss: {4 - 0.02 * step:.4f} grad_norm: 1.2" for step in range(1, STEPS)]
        if rank == 0
        else []
    )
    return rows + (list(DEATHS[death]) if rank == dead else watchdog(rank))


def write_files(folder, dead, death):
    for rank in range(WORLD):
        (folder / f"rank_{rank}.log").write_text("\n".join(lines_of(rank, dead, death)) + "\n")
    (folder / "launcher.log").write_text(
        "E1003 18:47:06.000 api.py:883] failed (exitcode: -6) local_rank: 0 (pid: 226) of binary: /usr/bin/python\n"
    )


def write_one_log(folder, dead, death):
    """All ranks in one console, as torchrun --tee or srun write it: lines of the ranks interleaved."""
    queues = {
        rank: [f"[rank{rank}]: {line}" for line in lines_of(rank, dead, death)] for rank in range(WORLD)
    }
    order = random.Random(dead)
    text = []
    for rank in (0, dead):
        text += queues.pop(rank, [])
    while queues:
        rank = order.choice(sorted(queues))
        text.append(queues[rank].pop(0))
        if not queues[rank]:
            del queues[rank]
    (folder / "job.log").write_text("\n".join(text) + "\n")


@pytest.mark.parametrize("death", DEATHS)
@pytest.mark.parametrize("dead", [5, 63])
@pytest.mark.parametrize("write", [write_files, write_one_log])
def test_one_finding_names_the_rank_and_the_rest_is_folded(tmp_path, write, dead, death):
    write(tmp_path, dead, death)

    dx = analyzer.diagnose(tmp_path)
    faults = [f for f in dx.findings if f.severity in {"fatal", "degrading"} and f.probability >= 0.3]
    top = dx.findings[0]

    assert dx.status == "failed"
    assert top.cause.id == death or (death == "oom" and top.cause.id.startswith("oom-"))
    assert dx.first_failure.rank == dead
    assert {f.symptom_kind for f in faults} == {top.symptom_kind}, [f.cause.id for f in faults]
    assert any("nccl-timeout" in text for text in top.explains)
    screen = render_terminal(dx, Style(colour=False))
    assert f"first to fail: rank {dead}" in screen
    assert f"{WORLD - 1} only followed" in screen


def test_the_first_failure_stands_in_the_json(tmp_path):
    write_files(tmp_path, 7, "disk-full")

    first = json.loads(render_json(analyzer.diagnose(tmp_path)))["first_failure"]

    assert first["kind"] == "disk_full"
    assert first["rank"] == 7
    assert first["ranks"] == WORLD
    assert first["place"]["path"] == "rank_7.log"


def test_a_failure_of_which_neither_rank_nor_host_is_known_names_nobody(tmp_path):
    lines = [*DEATHS["disk-full"], *(line for rank in (1, 2) for line in watchdog(rank))]
    (tmp_path / "job.log").write_text("\n".join(lines) + "\n")

    dx = analyzer.diagnose(tmp_path)

    assert dx.first_failure.rank is None
    assert dx.first_failure.ranks == 2
    assert "first to fail" not in render_terminal(dx, Style(colour=False))
