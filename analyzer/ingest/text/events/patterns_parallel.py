"""Lines about how work is divided over ranks: replicas, shards, stages, and the phase that all are in."""

from __future__ import annotations

from analyzer.ingest.text.events.patterns import Pattern

_REPLICAS: tuple[Pattern, ...] = (
    Pattern(
        "ddp_ready_twice",
        "root_candidate",
        ("Expected to mark a variable ready only once", "has already been reduced"),
        r"Expected to mark a variable ready only once|parameter \d{1,6} has already been reduced",
    ),
    # The line behind it names the parameter, with TORCH_DISTRIBUTED_DEBUG=INFO by its name
    Pattern(
        "ddp_twice_parameter",
        "info",
        ("has been marked as ready twice",),
        r"Parameter at index (?P<index>\d{1,9})(?: with name (?P<parameter>[\w.]{1,200}))? has been marked as ready twice",
        {"index": "int"},
        once=True,
    ),
    Pattern(
        "ddp_unused_parameters",
        "root_candidate",
        ("Expected to have finished reduction in the prior iteration", "has parameters that were not used in producing the loss"),
        r"Expected to have finished reduction in the prior iteration|has parameters that were not used in producing the loss",
    ),
    # The list behind it, one line a rank: "Parameter indices which did not receive grad for rank 0: 4 5"
    Pattern(
        "ddp_no_gradient",
        "info",
        ("did not receive grad for rank ",),
        r"which did not receive grad for rank (?P<rank>\d{1,6}): (?P<parameters>.{1,300})",
        {"rank": "int"},
    ),
    # FSDP and ZeRO-3 find that ranks run different modules
    Pattern(
        "rank_graph_differs",
        "root_candidate",
        ("Forward order differs across ranks", "disagreement between rank0 and rank"),
        r"Forward order differs across ranks|disagreement between rank0 and rank(?P<rank>\d{1,6})",
        {"rank": "int"},
    ),
    # Megatron compares hashes of replicated weights
    Pattern(
        "replica_weights_differ",
        "root_candidate",
        ("arameter hashes not matching across DP replicas", "hashes not matching across"),
        r"hashes not matching across",
    ),
)  # fmt: skip

_LAYOUT: tuple[Pattern, ...] = (
    Pattern(
        "layout_mismatch",
        "root_candidate",
        ("used a DP world size of ",),  # DeepSpeed
        r"used a (?P<what>DP world size) of (?P<saved>\d{1,7}) but the current world size is (?P<current>\d{1,7})",
        {"saved": "int", "current": "int"},
    ),
    # Megatron and its descendants compare the arguments of the checkpoint with those of the launch
    Pattern(
        "layout_mismatch",
        "root_candidate",
        (" value from checkpoint (",),
        r"(?P<what>\w{0,30}(?:tensor_model_parallel|pipeline_model_parallel|model_parallel|data_parallel|expert_model_parallel|context_parallel|world)_size|pipe_parallel_size)"
        r" value from checkpoint \((?P<saved>\d{1,7})\) is not equal to the (?:input argument|currently set argument) ?value \((?P<current>\d{1,7})\)",
        {"saved": "int", "current": "int"},
    ),
    Pattern(
        "layout_mismatch",
        "root_candidate",
        ("zero checkpoints paths are missing", "_optim_states.pt", "_model_states.pt"),
        r"zero checkpoints paths are missing|No such file or directory: '.{1,400}(?:zero_pp_rank_\d{1,6}_mp_rank_\d{1,6}|/mp_rank_\d{1,6})_(?P<what>optim|model)_states\.pt",
    ),
    Pattern(
        "layout_mismatch",
        "root_candidate",
        ("was saved with world size", "loaded with a different world size", "with a different world size", "mismatched world size"),
        r"was saved with world size (?P<saved>\d{1,7})|with a different world size|mismatched world size",
        {"saved": "int"},
    ),
    # Only said, and no failure: Megatron drops the random states, HF finds none for the new ranks
    Pattern(
        "layout_changed",
        "info",
        (" mismatch after resume (", "Didn't find an RNG file for process"),
        r"mismatch after resume \((?P<current>\([\d, ]{1,60}\)) vs (?P<saved>\([\d, ]{1,60}\)) from checkpoint|Didn't find an RNG file for process (?P<process>\d{1,6})",
        {"process": "int"},
        once=True,
    ),
)  # fmt: skip

_PHASES = {
    "saving checkpoint at": "saving",
    "Saving model checkpoint": "saving",
    "saving model checkpoint": "saving",
    "Running Evaluation": "evaluation",
    "Running Prediction": "evaluation",
    "Running evaluation": "evaluation",
    "Evaluating the": "evaluation",
    "evaluating on": "evaluation",
    "Start evaluation": "evaluation",
    "Start validation": "evaluation",
    "begin validation": "evaluation",
    "Running validation": "evaluation",
    **{
        f"{word} {rest}": "evaluation" for word in ("Validating", "validating") for rest in ("after", "epoch")
    },
    **{
        f"{word} {rest}": "evaluation" for word in ("Evaluating", "evaluating") for rest in ("after", "epoch")
    },
    "Starting validation": "evaluation",
    "Starting evaluation": "evaluation",
    "starting validation": "evaluation",
    "starting evaluation": "evaluation",
    "Sanity Checking DataLoader": "evaluation",
}

_COURSE: tuple[Pattern, ...] = (
    # A phase in which ordinary steps rest begins; what ends it is the next metric row.
    Pattern(
        "phase_started",
        "info",
        ("saving checkpoint at iteration", "Saving model checkpoint", "saving model checkpoint", "***** Running Evaluation", "***** Running Prediction",
         "Running evaluation", "Start evaluation", "Start validation", "Evaluating the ", "begin validation on", "Running validation",
         "alidating after ", "alidating epoch ", "valuating after ", "valuating epoch ", "tarting validation", "tarting evaluation"),
        r"(?P<phase>saving checkpoint at|[Ss]aving model checkpoint|Running Evaluation|Running Prediction|Running evaluation|Evaluating the|Start evaluation|Start validation|begin validation|Running validation|[Vv]alidating (?:after|epoch)|[Ee]valuating (?:after|epoch)|[Ss]tarting (?:validation|evaluation))\b",
        words={"phase": _PHASES},
        unless=r"[Ss]uccessfully saved|saved model checkpoint",
    ),
    # A bar of such work whose clock stands at a default timeout of a process group, 10 or 30 minutes:
    # as in "Running tokenizer on dataset:  88%|####| 383700/433643 [29:55<03:25, 2432.70 examples/s]"
    Pattern(
        "dataset_work_at_timeout",
        "info",
        ("Running tokenizer on dataset", "Tokenizing", "Map: ", "Map (num_proc", "Generating train split"),
        r"(?:Running tokenizer on dataset|Tokenizing|Map|Generating train split)\b[^|\r\n]{0,80}\|[^|\r\n]{0,400}\|[^\[\r\n]{0,60}\[(?:9:5\d|10:[0-2]\d|29:5\d|3[0-2]:\d\d)<",
        once=True,
    ),
    # NVIDIA's resiliency extension scores every rank: "Affected ranks: {3}", "Affected ranks: [76, 13]"
    Pattern(
        "straggler_report",
        "info",
        ("STRAGGLER DETECTION WARNING",),
        r"STRAGGLER DETECTION WARNING: Some GPUs (?P<what>have worse relative performance|performance dropped)\.\s{1,4}Affected ranks: [\[{](?P<ranks>[^\]}]{1,200})",
    ),
)  # fmt: skip

PARALLEL_PATTERNS = _REPLICAS + _LAYOUT + _COURSE
