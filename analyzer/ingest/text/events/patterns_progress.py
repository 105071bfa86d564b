"""Lines about the course of a run: checkpoints, resumption, the end, and advice that programs give."""

from __future__ import annotations

from analyzer.ingest.text.events.patterns import Pattern

PROGRESS_PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "training_completed",
        "info",
        ("raining completed", "raining complete", "raining finished", "raining done", "raining is done", "Finished training", "inished Training", "one training in ",
         "raining Completed", "raining was finished", "raining successfully completed", "raining of experiment is done"),
        r"\bTraining of experiment is done\b|\b[Tt]raining (?:is |has |was |successfully )?(?:[Cc]ompleted?|finished|done)\b|\bfinished [Tt]raining\b|\bFinished [Tt]raining\b|\b[Dd]one training in \d",
        unless=r"(?i)\b(?:once|when|until|if|before|not|will be|whether|while)\b.{0,24}\btraining|[\"'(]\s{0,2}[Tt]raining|_training|training_|[Ww]arm",
    ),
    Pattern(
        "training_completed",
        "info",
        ("`Trainer.fit` stopped: ",),  # Lightning
        r"`Trainer\.fit` stopped: `?(?P<reason>max_\w{1,20}=(?!0`)[^`]{1,40})`? reached",
    ),
    Pattern(
        "training_completed",
        "info",
        ('"key": "run_stop"',),  # MLPerf
        r'"key": "run_stop".{0,400}"status": "success"',
    ),
    Pattern(
        "training_completed",
        "info",
        (" epochs completed in ",),  # YOLO
        r"^\s{0,20}(?P<epochs>\d{1,7}) epochs completed in [\d.]{1,12} hours",
        {"epochs": "int"},
    ),
    Pattern(
        "training_completed",
        "info",
        ("Training time ",),  # references of torchvision, and what was made of them: DETR, MAE, ConvNeXt
        r"^Training time (?:\d{1,4} days?, )?\d{1,3}:\d\d:\d\d",
    ),
    Pattern(
        "training_completed",
        "info",
        ("Final validation metrics: ",),  # verl
        r"Final validation metrics: ",
    ),
    Pattern(
        "training_completed",
        "info",
        ("] Done!", ") Done!"),  # icefall
        r"INFO \[\w{1,60}\.py:\d{1,6}\](?: \(\d{1,5}/\d{1,5}\))? Done!",
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
        ("successfully saved checkpoint from iteration ",),  # Megatron since 2024
        r"successfully saved checkpoint from iteration\s{1,12}(?P<step>\d{1,12}) to (?P<path>\S{1,400})",
        {"step": "int"},
    ),
    Pattern(
        "checkpoint_saved",
        "info",
        ("Finished saving the checkpoint", "aved the checkpoint"),  # torchtitan
        r"(?:Finished saving|[Ss]aved) the checkpoint.{0,80}? in (?P<seconds>[\d.]{1,12}) ?s",
        {"seconds": "float"},
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
        ("Starting training from iteration ",),  # detectron2
        r"Starting training from iteration (?P<step>[1-9]\d{0,11})",
        {"step": "int"},
    ),
    Pattern(
        "resume_from_checkpoint",
        "info",
        ("Loading the checkpoint ",),  # torchtitan
        r"Loading the checkpoint (?:at step (?P<step>\d{1,12})|from (?P<path>\S{1,400}?)\.?(?=\s|$))",
        {"step": "int"},
        more=(r"step-(?P<step>\d{1,12})",),
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
