"""Runs that emit the facts of what a run runs on and with."""

from __future__ import annotations

from make_run import RunMaker, falling


def on_gloo() -> RunMaker:
    """Collectives of gloo on an accelerator of AMD; saving is switched off."""
    maker = RunMaker("ultralytics").log({"loss": falling(30)})
    maker.event("gloo_timeout", text="[gloo] ProcessGroupGloo: timed out; HIP device gfx942")
    return maker.config(save_strategy="no")


def cut_off() -> RunMaker:
    """An option that the shell took for a command, below the rows of a run on one host that NCCL had an error in."""
    maker = RunMaker().log({"loss": falling(30)}).event("hosts_stated", path="job.out", line=1, nodes=1)
    maker = maker.event("nccl_error", path="job.out", line=39)
    return maker.event("option_cut_off", path="job.out", line=40, option="--lr")


RUNS = (on_gloo, cut_off)
