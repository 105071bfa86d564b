"""Lines about why a run ended or began anew: configured stops, restarts, and what a tracker left out."""

from __future__ import annotations

from analyzer.ingest.text.events.patterns import Pattern

_STOPS: tuple[Pattern, ...] = (
    # Megatron: "[exiting program after 1190.1 minutes] datetime: …"; a signal it was told to obey counts too
    Pattern(
        "configured_stop",
        "info",
        ("exiting program a",),
        r"\[exiting program (?P<rule>after [\d.]{1,12} minutes|at iteration (?P<step>\d{1,12})|after receiving SIGTERM)",
        {"step": "int"},
    ),
    Pattern("configured_stop", "info", ("kill switch", "kill-switch"), r"(?P<rule>[Dd]etected kill[- ]switch|[Kk]ill[- ]switch detected)"),
    # Lightning
    Pattern(
        "configured_stop",
        "info",
        ("Signaling Trainer to stop",),
        r"(?P<rule>did not improve in the last \d{1,9} records|Time limit reached|(?:Stopping|Divergence) threshold reached|is not finite).{0,200}Signaling Trainer to stop",
    ),
    # fairseq
    Pattern(
        "configured_stop",
        "info",
        ("early stop since valid performance", "topping training due to cumulative_training_time", "topping training because the learning rate"),
        r"(?P<rule>early stop since valid performance|[Ss]topping training (?:due to cumulative_training_time|because the learning rate))",
    ),
    # mmengine and YOLO
    Pattern(
        "configured_stop",
        "info",
        ("the monitored metric did not improve in the last", "no improvement observed in last "),
        r"(?P<rule>the monitored metric did not improve in the last \d{1,9}|no improvement observed in last \d{1,9} epochs)",
    ),
    # Keras, and the usual words of home-made loops
    Pattern(
        "configured_stop",
        "info",
        (": early stopping", "arly stopping triggered", "arly stopping at ", "Early Stopping triggered"),
        r"^Epoch \d{1,9}: (?P<rule>early stopping)\s*$|\b[Ee]arly [Ss]topping (?:triggered\b|at (?:epoch|step|iteration) \d)",
        unless=r"[=\"']",
    ),
)  # fmt: skip

_RESTARTS: tuple[Pattern, ...] = (
    # torchelastic, as in "[default] Worker group FAILED. 3/3 attempts left; will restart worker group"
    Pattern(
        "elastic_restart",
        "info",
        (" attempts left; ",),
        r"Worker group (?P<state>\w{1,20}).{0,60}?(?P<left>\d{1,6})/(?P<budget>\d{1,6}) attempts left;\s{1,4}will restart worker group",
        {"left": "int", "budget": "int"},
    ),
    # The budget of restarts, or the chain of jobs, is used up
    Pattern(
        "restarts_exhausted",
        "info",
        ("BackoffLimitExceeded", "reached the specified backoff limit", "DependencyNeverSatisfied", "No attempts left"),
        r"(?P<what>BackoffLimitExceeded|reached the specified backoff limit|DependencyNeverSatisfied|No attempts left)",
    ),
    # A start that found nothing to continue from
    Pattern(
        "fresh_start",
        "info",
        ("will not load any checkpoints and will start from random", "No existing checkpoint found", "Unable to find latest file at ",
         "Did not find last_checkpoint to be resumed", "No checkpoint found", "no checkpoint found"),
        r"will not load any checkpoints and will start from random|No existing checkpoint found|Unable to find latest file at |Did not find last_checkpoint"
        r"|\b[Nn]o checkpoint found\b",
    ),
)  # fmt: skip

_TRACKERS: tuple[Pattern, ...] = (
    # W&B: "Tried to log to step 7 that is less than the current step 8. Steps must be monotonically increasing, …"
    Pattern(
        "tracker_step_ignored",
        "info",
        ("teps must be monotonically increasing", "Step must only increase in log calls"),
        r"(?:Tried to log to step (?P<logged>\d{1,12}) that is less than the current step (?P<current>\d{1,12})|Step (?P<old>\d{1,12}) < (?P<newest>\d{1,12})).{0,400}(?:[Ss]teps must be monotonically|Step must only increase)"
        r"|Step must only increase in log calls",
        {"logged": "int", "current": "int", "old": "int", "newest": "int"},
    ),
)  # fmt: skip

LIFECYCLE_PATTERNS = _STOPS + _RESTARTS + _TRACKERS
