"""Runs that emit every fact about speed, utilisation and restarts."""

from __future__ import annotations

from make_run import RunMaker, falling


def slow_in_many_ways() -> RunMaker:
    """Slow steps on the save grid, a sudden loss of speed at a restart, waiting for data, a leak on two ranks."""
    count = 400
    times = [0.5 if step < 200 else 1.0 for step in range(count)]
    for step in range(0, count, 20):
        times[step] *= 8
    maker = RunMaker("deepspeed").log(
        {"step_time_s": times, "data_time_s": [t / 2 for t in times], "loss": falling(count)}
    )
    for step in range(20, count, 20):
        maker.event("checkpoint_saved", line=5 * step + 1, role="info", step=step)
    maker.log({"eval_loss": falling(10)}, first=21, every=20)
    timers = {"allreduce_time_s": 0.2, "forward_time_s": 0.2, "backward_time_s": 0.4, "optimizer_time_s": 0.1}
    maker.log({name: [value] * 40 for name, value in timers.items()})
    for rank in (0, 1):
        out = maker.file(f"rank_{rank}.csv", "csv-metrics")
        memory = [10 + 0.1 * i for i in range(60)]
        out.metrics(
            "gpu_memory_peak_gib", steps=range(60), values=[m * (1 + rank) for m in memory], rank=rank
        )
        if not rank:
            out.metrics("gpu_memory_allocated_gib", steps=range(60), values=memory, rank=rank)
    busy = {
        "system.gpu.0.gpu": [40.0] * 30,
        "system.gpu.0.memoryAllocated": [30.0] * 30,
        "system.cpu": [95.0] * 30,
    }
    return maker.log(busy, path="run.wandb", ingestor="wandb")


def stamped() -> RunMaker:
    """Rows with times: a late first step and long evaluations."""
    maker = RunMaker().event("gpu_named", line=1, role="info", time_s=0.0)
    out = maker.file("train.log")
    stamps = [2000.0 + 10.5 * i for i in range(60)]
    out.metrics("loss", steps=range(1, 61), values=falling(60), times_s=stamps, lines=range(10, 70))
    out.metrics(
        "eval_time_s",
        steps=[20, 40, 50],
        values=[50.0] * 3,
        times_s=[2210.0, 2420.0, 2500.0],
        lines=[100, 101, 102],
    )
    return maker


def resumed() -> RunMaker:
    """Two restarts with higher losses, norms and rates."""
    maker = RunMaker()
    losses = [4.0 - 0.02 * i for i in range(100)]
    for number, begin in enumerate((0, 100, 200)):
        path = f"attempt_{number}.log"
        values = [losses[i] + (1.0 if number and i < 30 else 0.0) for i in range(100)]
        rates = [1e-5 * (i + 1) for i in range(100)]
        columns = {"loss": values, "grad_norm": [1.0 + number] * 100, "learning_rate": rates}
        maker.log(columns, path=path, first=begin + 1).attempt(path, float(begin))
    return maker.event("checkpoint_saved", line=990, role="info", step=100, path="attempt_0.log")


def pipelined() -> RunMaker:
    """Four stages fed with four micro-batches."""
    maker = RunMaker("megatron").log({"loss": falling(30)})
    keys = {
        "pipeline_model_parallel_size": 4, "virtual_pipeline_model_parallel_size": 2, "data_parallel_size": 2,
        "global_batch_size": 16, "micro_batch_size": 2, "eval_batch_size": 8, "manual_gc": True, "ignore_data_skip": False,
        "save_only_model": True, "save_optimizer": False,
    }  # fmt: skip
    return maker.config("megatron", **keys)


RUNS = (pipelined, slow_in_many_ways, stamped, resumed)
