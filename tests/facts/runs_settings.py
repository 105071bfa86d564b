"""Runs that emit every fact about contradicting settings and lost work."""

from __future__ import annotations

from make_run import RunMaker, falling


def contradicting() -> RunMaker:
    """Asked for 1e-4, echoed 1e-3 and logged so; two nodes with different torch; an adapter of odd scale."""
    maker = RunMaker("hf-trainer").log({"loss": falling(30), "learning_rate": [1e-3] * 30})
    maker.config(learning_rate=1e-4, lora_r=8, lora_alpha=128, tie_word_embeddings=True, tf32=False)
    maker.config(path="train.log", layer="runtime_echo", learning_rate=1e-3)
    for node, version in (("a", "2.5.1"), ("b", "2.6.0")):
        maker.config("versions", path=f"node-{node}/requirements.txt", torch=version)
    return maker


def failed_late() -> RunMaker:
    maker = RunMaker().log({"loss": falling(30), "step_time_s": [60.0] * 30}, first=100, every=100)
    maker.event("checkpoint_saved", line=55, role="info", step=500).event(
        "checkpoint_saved", line=105, role="info", step=1000
    )
    return maker.event(
        "python_traceback",
        line=900,
        role="root_candidate",
        exception="KeyError",
        message="'x'",
        file="/home/user/train.py",
        function="step",
        phase="saving",
    )


def detector_of_small_batches() -> RunMaker:
    """The rate of the published schedule with a quarter of its images."""
    return RunMaker("detectron2").config("detectron2", SOLVER__BASE_LR=0.02, SOLVER__IMS_PER_BATCH=4)


RUNS = (contradicting, failed_late, detector_of_small_batches)
