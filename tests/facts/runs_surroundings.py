"""Runs that emit the facts of what a run runs on and with."""

from __future__ import annotations

from make_run import RunMaker, falling


def on_gloo() -> RunMaker:
    """Collectives of gloo on an accelerator of AMD; saving is switched off."""
    maker = RunMaker("ultralytics").log({"loss": falling(30)})
    maker.event("gloo_timeout", text="[gloo] ProcessGroupGloo: timed out; HIP device gfx942")
    return maker.config(save_strategy="no")


RUNS = (on_gloo,)
