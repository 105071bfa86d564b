"""Whether a console log of a training just stops: its last lines tell of a set-up, of a bar, of a few rows, and of no end.

A run that hangs, one that was killed without a word and a copy that ends early look the same; who asks about such a log is
told these causes as candidates, with the line where it stands.
"""

from __future__ import annotations

from analyzer.detect.base import FactWriter, RunView
from analyzer.lazy_regex import LazyRegex
from analyzer.model.refs import SourceRef
from analyzer.model.run import LogEnd

FEW_ROWS = 5
"""Points of a loss from which its course can be judged, which then tells more than where the log stops."""

BEGINS = LazyRegex(
    r"(?i)\b(?:start(?:ing|ed|s)?|begin(?:ning|s)?|running|launching) (?:the )?(?:model )?(?:re)?train(?:ing)?\b"
    r"|\btraining (?:start(?:s|ed|ing)?|begins?|began|is starting)\b"
    r"|^\W{0,12}(?:Total optimization steps|Number of trainable parameters) ?= ?[\d,]{1,20}$"
    r"|\b0%\|\s{0,200}\| ?0/\d{1,12} \[00:00<\?"
    r"|开始训练|開始訓練|训练开始|学習(?:を)?開始|訓練開始|학습(?:을)? 시작|훈련(?:을)? 시작|начало обучения"
)
"""What a program says last before its first step, in its own words and those of HF Trainer and progress bars."""

_EVALUATED = LazyRegex(
    r"^\[>{5,200}\] (\d{1,9})/\1, [\d.]{1,12} task/s, elapsed: \d{1,9}s, ETA: {1,9}0s$"
    r"|(?i:^\W{0,8}(?:eval|valid|val\b|test|inference|inferring|predict)[^|%=]{0,80})100%\|[^|]{0,400}\| {0,3}(\d{1,12})/\2 \[[^=]{0,80}\]$"
)
"""The full bar of an evaluation, of MMCV's trainers and of tqdm, without a score beside it."""

_OF_TRAINING = LazyRegex(
    r"(?i)\b(?:(?:re|pre)?train(?:er|ing|able)?|fine-?tun(?:e|ing)|epochs?|data ?load(?:er|ers|ing)|datasets?|checkpoints?|ckpt|optimi[sz]ers?|tokeni[sz]ers?"
    r"|lora|backbone|batch(?:es| ?size)?|global_step|(?:local_|global_)?rank|world[_ ]size|deepspeed|nccl|omp_num_threads|shuffle buffer)\b"
    r"|\bTime to load \w{1,40} op\b|\d%\|[^|]{0,400}\| {0,3}\d{1,12}/\d{1,12} \["
)
"""Words of programs that train, of their launchers, and the bar that they draw."""

_AMONG_RANKS = LazyRegex(
    r"(?i)\bNCCL INFO\b|\b(?:local_|global_)?rank\W{0,3}[1-9]\d{0,5}\b|\bworld[_ ]size\W{1,3}(?!1\b)\d|\bprocess[_ ]group\b|\bfor each process\b"
)
"""What only the launch of several processes writes."""

_ERRORS = ("root_candidate", "cascade", "teardown", "symptom")


def tell(view: RunView, state: str, out: FactWriter) -> None:
    """Facts ``ended.stops_behind`` and ``ended.among_ranks``.

    Args:
        view: The run.
        state: How it ended, as far as anything says so.
        out: Where facts go.
    """
    ends = view.run.log_ends
    if state != "unknown" or len(ends) != 1:  # of several logs each would have to be heard
        return
    behind = _stops_behind(view, ends[0])
    ref = [SourceRef(ends[0].source, ends[0].line)]
    out.put("ended.stops_behind", behind, ref)
    if behind == SET_UP and _among_ranks(view, ends[0]):
        out.put("ended.among_ranks", value=True, refs=ref)


SET_UP, ROWS = "a set-up", "rows"
"""What stands above the end of a log that just stops."""


def _stops_behind(view: RunView, end: LogEnd) -> str | None:
    """What a log stops behind; None if it tells an end, an error or the course of a loss, or is none of a training."""
    if end.errors or end.last_words or end.afterwards or view.run.events.with_roles(_ERRORS):
        return None
    if len(view.run.metrics):
        losses = [view.curve(name) for name in ("loss", "eval_loss", "reward_mean")]
        return None if any(curve is not None and len(curve) >= FEW_ROWS for curve in losses) else ROWS
    if view.events("warning_line"):
        return None  # whose words may tell what it lacked
    return SET_UP if any(_OF_TRAINING.search(text) for _, text in end.last_lines) else None


def _among_ranks(view: RunView, end: LogEnd) -> bool:
    """Whether the last lines are those of one of several processes."""
    several = (view.run.layout.world_size or 1) > 1
    return several or any(_AMONG_RANKS.search(text) for _, text in end.last_lines)


def lacks_result(view: RunView, end: LogEnd) -> bool:
    """Whether a log ends with the full bar of an evaluation behind rows of training: what it came to was to follow.

    >>> bool(_EVALUATED.search("[>>>>>>>>>>>>>>>] 120/120, 2.5 task/s, elapsed: 48s, ETA:     0s"))
    True
    >>> bool(_EVALUATED.search("Validating: 100%|#####| 20/20 [00:09<00:00,  2.1it/s]"))
    True
    >>> bool(_EVALUATED.search("Validating: 100%|#####| 20/20 [00:09<00:00,  2.1it/s, loss=0.4]"))
    False
    """
    return view.curve("loss") is not None and _EVALUATED.search(end.text) is not None
