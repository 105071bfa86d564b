"""Facts about where the run ran and how it ended."""

from __future__ import annotations

TABLE = """
run.deepspeed | bool | | DeepSpeed runs the steps |
run.hf_trainer | bool | | HF Trainer or a trainer built on it runs the loop |
run.unsloth | bool | | Unsloth patches the model |
run.rl | bool | | the metrics are those of reinforcement learning (rewards, KL) |
run.gpu.name | str | | GPU as named in a log or metadata file | note the output of nvidia-smi beside the logs
run.gpu.gtx16 | bool | | the GPU is one of the GTX 16 series | note the output of nvidia-smi beside the logs
run.gpu.compute_capability | float | | CUDA compute capability of that GPU | note the output of nvidia-smi beside the logs
run.gpu.supports_bf16 | bool | | the GPU has bf16 arithmetic (compute capability 8.0 or newer) | note the output of nvidia-smi beside the logs
run.world_size | int | ranks | number of ranks |
run.attempts | int | | launches found in the directory |
run.last_step | int | step | last optimizer step that any metric reports |
run.completed | bool | | the run says that it ended as planned |
run.exit_code | int | | exit code, negative for a signal | keep the launcher's last lines or the scheduler's record
run.exit_code_by_tracker | bool | | that code is what a tracker was told, not what the process ended with |
run.evidence_unread | str | | what was there, may have told how the run went, and was not read |
run.log_truncated | bool | | the log ends without an end marker |
run.library | str | | library that computes: torch, jax, tensorflow, paddle, mindspore, mxnet |
run.platform | str | | accelerator: cuda, rocm, ascend, tpu, gaudi, mps |
run.backend | str | | library of the collectives: nccl, rccl, hccl, gloo |
run.subject | str | | kind of data: language, vision, speech |
run.saved | bool | | a checkpoint of this run was seen or reported |
run.never_saved | bool | | saving is switched off, or the run ended before its first save |
"""
