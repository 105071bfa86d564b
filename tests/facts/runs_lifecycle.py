"""Runs that emit every fact of ``lifecycle.*`` and ``hardware.*``."""

from __future__ import annotations

import time
from dataclasses import replace

from make_run import RunMaker, falling

from analyzer.model.run import LogEnd


def restarted() -> RunMaker:
    """Two launches of 200 steps, the second from the first step on and on another host; each host fails."""
    maker = RunMaker()
    for number, host in enumerate(("node-a", "node-b"), start=1):
        path = f"run_{number}/train.log"
        maker.attempt(path, 1000.0 * number)
        seconds = [1.0 + 0.06 * (number - 1)] * 100
        maker.log({"loss": falling(100), "step_time_s": seconds}, path=path)
        maker.event("checkpoint_saved", path=path, line=500, role="info")
        maker.event(
            "xid_off_bus", path=path, line=900, role="root_candidate", host=host, time_s=1900.0 * number
        )
    maker.event(
        "xid_off_bus", path="run_2/train.log", line=990, role="root_candidate", host="node-b", time_s=9e4
    )
    return maker


def elastic() -> RunMaker:
    """A launcher that starts the workers again and again."""
    maker = RunMaker()
    for number in range(4):
        maker.event("elastic_restart", line=10 * number + 1, role="info", time_s=100.0 * number)
    return maker


def living() -> RunMaker:
    """A file that was just written, with a time of now in it."""
    maker = RunMaker().log({"loss": falling(30)}).event("nccl_warn", role="info", time_s=time.time())
    maker.builder.sources[0] = replace(maker.builder.sources[0], age_s=30.0)
    return maker


def two_writers() -> RunMaker:
    """Two files of one reader with other losses for the same steps."""
    maker = RunMaker().log({"loss": falling(60)}, path="a.log")
    return maker.log({"loss": falling(50, start=9.0, seed=3)}, path="b.log")


def gap_in_tracker() -> RunMaker:
    """The tracker lacks steps 31 to 69."""
    steps = [*range(1, 31), *range(70, 101)]
    maker = RunMaker().log({"loss": falling(100)})
    return maker.log({"loss": falling(61)}, path="run.wandb", ingestor="wandb", steps=steps)


def machines() -> RunMaker:
    """Four GPUs with a slow, hot one, and memory of the host that grows."""
    maker = RunMaker()
    columns = {f"system.gpu.{gpu}.smClock": [1900.0 if gpu else 1200.0] * 30 for gpu in range(4)}
    columns["system.gpu.0.temp"] = [88.0] * 30
    columns["system.gpu.0.uncorrectedMemoryErrors"] = [0.0] * 29 + [2.0]
    maker.log(columns, path="run.wandb", ingestor="wandb", steps=None)
    memory = {"host_memory_gib": [100.0 + i for i in range(150)]}
    maker.log({**memory, "system.memory_percent": [50.0 + 0.2 * i for i in range(150)]}, steps=None)
    return maker


def scored() -> RunMaker:
    """A score on held-out data that went on rising."""
    maker = RunMaker().log({"loss": falling(60)})
    return maker.log({"eval_wer": [14.0, 12.0, 11.0, 10.5, 10.4, 10.2]}, first=10, every=10)


def stopped() -> RunMaker:
    """A log that stops at 30 of 300 steps, hours ago."""
    maker = RunMaker().log({"loss": falling(30)})
    then = time.time() - 40_000.0
    maker.file().log_end(
        LogEnd(0, 300, "step 30/300", torn=False, last_time_s=then, interval_s=5.0, step=30, steps=300)
    )
    maker.builder.sources[0] = replace(maker.builder.sources[0], age_s=40_000.0)
    maker.builder.add_gap("rank1.log: cannot be read", evidence=True)
    return maker


def failed_at_exit() -> RunMaker:
    """An exception behind the words that training is complete."""
    maker = RunMaker().log({"loss": falling(30)}).event("training_completed", role="info", line=400)
    return maker.event(
        "python_traceback", role="root_candidate", line=410, exception="OSError", message="no space"
    )


def stopped_at_exit() -> RunMaker:
    """An interrupt behind the words that training is complete."""
    maker = RunMaker().log({"loss": falling(30)}).event("training_completed", role="info", line=400)
    return maker.event("keyboard_interrupt", role="root_candidate", line=410)


def meeting() -> RunMaker:
    """A log whose last line is the one in which four ranks are about to meet."""
    maker = RunMaker().event("ranks_meeting", role="info", line=12, member=1, of=4)
    maker.file().log_end(LogEnd(0, 12, "initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/4", torn=False))
    return maker


def set_up_and_silence() -> RunMaker:
    """A log that stops behind the set-up of several ranks."""
    maker, text = RunMaker(), "INFO | rank 3 is ready"
    maker.file().log_end(LogEnd(0, 12, text, torn=False, last_lines=((12, text),)))
    return maker


RUNS = (
    restarted,
    elastic,
    living,
    two_writers,
    gap_in_tracker,
    machines,
    scored,
    stopped,
    failed_at_exit,
    stopped_at_exit,
    meeting,
    set_up_and_silence,
)
