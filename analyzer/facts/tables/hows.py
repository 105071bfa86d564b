"""How to obtain a fact, in words that several rows share."""

from __future__ import annotations

RERUN_HOOK = "run one step with forward hooks that print min/max per module"
LOG_NORM = "log grad_norm every step (HF: logging_steps=1; DeepSpeed: engine.get_global_grad_norm())"
LOG_SCALE = "log the loss scale every step (scaler.get_scale(); DeepSpeed: set its logger to INFO)"
CHECKPOINT = "give the checkpoint with --checkpoint, or put its safetensors file beside the logs"
MODEL_CONFIG = "put the model's config.json beside the logs, or give it with --checkpoint"
USER_CONFIG = "put the training configuration beside the logs"
BASELINE = "rerun with only this changed and give that run with --baseline"
TOKENIZER = "put tokenizer_config.json beside the logs"
