"""Lines about the course of a run: checkpoints, resumption, the end, and advice that programs give."""

from __future__ import annotations

from analyzer.ingest.patterns import Pattern

PROGRESS_PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "training_completed",
        "info",
        ("raining completed", "raining complete", "raining finished", "raining done", "raining is done", "Finished training", "inished Training", "one training in "),
        r"\b[Tt]raining (?:is |has )?(?:completed?|finished|done)\b|\bfinished [Tt]raining\b|\bFinished [Tt]raining\b|\b[Dd]one training in \d",
        unless=r"(?i)\b(?:once|when|until|if|before|not|will be|whether|while)\b.{0,24}\btraining|[\"'(]\s{0,2}[Tt]raining|_training|training_|[Ww]arm",
    ),
    Pattern(
        "training_completed",
        "info",
        ("`Trainer.fit` stopped: ",),  # Lightning
        r"`Trainer\.fit` stopped: `?(?P<reason>max_\w{1,20}=[^`]{1,40})`? reached",
    ),
    Pattern(
        "training_completed",
        "info",
        ('"key": "run_stop"',),  # MLPerf
        r'"key": "run_stop".{0,400}"status": "success"',
    ),
    Pattern(
        "target_not_reached",
        "symptom",
        ('"key": "run_stop"',),
        r'"key": "run_stop".{0,400}"status": "aborted"',
    ),
    Pattern(
        "checkpoint_saved",
        "info",
        ("aving model checkpoint to ", "aving checkpoint to ", "Saving model checkpoint: "),  # HF, DeepSpeed, …
        r"[Ss]aving (?:model )?checkpoint(?: to|:) (?P<path>\S{1,400})",
        {"step": "int"},
        more=(r"(?:checkpoint|global_?step|step|iter)[-_]?(?P<step>\d{1,12})",),
    ),
    Pattern(
        "checkpoint_saved",
        "info",
        ("successfully saved checkpoint at iteration ",),  # Megatron
        r"successfully saved checkpoint at iteration\s{1,12}(?P<step>\d{1,12})",
        {"step": "int"},
    ),
    Pattern(
        "checkpoint_saved",
        "info",
        ("Saving checkpoint at ",),  # mmengine
        r"Saving checkpoint at (?P<step>\d{1,12}) iterations",
        {"step": "int"},
    ),
    Pattern(
        "checkpoint_saved",
        "info",
        ("Saved checkpoint ",),  # fairseq
        r"Saved checkpoint (?P<path>\S{1,400})(?: \(epoch \d{1,9} @ (?P<step>\d{1,12}) updates)?",
        {"step": "int"},
    ),
    Pattern(
        "resume_from_checkpoint",
        "info",
        ("Loading model from ", "successfully loaded checkpoint from ", "Restoring states from the checkpoint path at "),
        r"(?:Loading model from|successfully loaded checkpoint from|Restoring states from the checkpoint path at) (?P<path>\S{1,400}?)[ .)]*(?= at iteration|$|\s|\()",
        {"step": "int"},
        more=(r"at iteration (?P<step>\d{1,12})", r"checkpoint-(?P<step>\d{1,12})"),
    ),
    Pattern(
        "resume_from_checkpoint",
        "info",
        ("Continuing training from global step ", "Resuming training from ", "Resuming from checkpoint", "resumed epoch: "),
        r"Continuing training from global step (?P<step>\d{1,12})|Resum(?:ing training from|ing from checkpoint) ?(?P<path>\S{1,400})?|resumed epoch: \d{1,9}, iter: (?P<iteration>\d{1,12})",
        {"step": "int", "iteration": "int"},
    ),
    Pattern(
        "resume_from_checkpoint",
        "info",
        ("Loaded checkpoint ",),  # fairseq
        r"Loaded checkpoint (?P<path>\S{1,400}) \(epoch \d{1,9} @ (?P<step>\d{1,12}) updates\)",
        {"step": "int"},
    ),
    Pattern(
        "advice",
        "advice",
        ("might be caused by", "consider setting", "onsider increasing", "If reserved memory is >>", "Compile with `TORCH_USE_CUDA_DSA`",
         "For debugging consider passing CUDA_LAUNCH_BLOCKING", "To enable traceback see", "find_unused_parameters"),
        r"might be caused by|consider (?:setting|increasing|passing)|If reserved memory is >>|TORCH_USE_CUDA_DSA|To enable traceback see|find_unused_parameters",
    ),
)  # fmt: skip
