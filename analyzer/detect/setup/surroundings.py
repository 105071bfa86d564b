"""What a run runs on and with: library, accelerator, communication, kind of data, and whether it ever saved.

Advice is given in these words (``rules/fixing/words.py``): a variable of NCCL does not help on gloo. Each fact is put only where
something names it; two signs that contradict each other leave it unknown.
"""

from __future__ import annotations

from itertools import islice

from analyzer.detect.base import FactWriter, RunView, number
from analyzer.detect.curves.drift import checkpoints
from analyzer.lazy_regex import LazyRegex
from analyzer.model.refs import SourceRef
from analyzer.vocabulary.known_names import known_names

LINES_PER_KIND = 3
"""Lines of one kind look alike; the first few name the library and the device as well as all of them."""

_VISION = LazyRegex(r"(?i)\b(?:mAP|mIoU|PSNR|SSIM|FID|box_loss|loss_bbox|top[15]_acc|acc@?[15])\b|IoU|mAP50")
_SPEECH = LazyRegex(r"(?i)(?:^|[/_. ])(?:wer|cer)(?:$|[/_. ])|\bctc")
_LANGUAGE = LazyRegex(
    r"(?i)perplexity|(?:^|[/_. ])(?:ppl|num_tokens|tokens_per_second|mean_token_accuracy)(?:$|[/_. ])"
)

_INTERVALS = frozenset(
    {"save_steps", "save_interval", "save_every_n_steps", "checkpoint_interval", "save_interval_updates"}
)
_SAVE_SWITCHES = frozenset({"save_strategy", "save_checkpoints"})


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``run.library``, ``run.platform``, ``run.backend``, ``run.subject``, ``run.saved`` and ``run.never_saved``."""
    lines = _lines(view)
    out.put("library", *_first_named(lines, "libraries", view.framework_words("library")))
    platform, refs = _platform(view, lines)
    out.put("platform", platform, refs)
    out.put("backend", *_first_named(lines, "backends", set()))
    out.put("subject", _subject(view, lines))
    _saving(view, out)


def _lines(view: RunView) -> list[tuple[str, SourceRef]]:
    """The first lines of each kind, with the files that their frames name; of a log of which none is known its last words."""
    found: list[tuple[str, SourceRef]] = []
    for kind in view.run.events.kinds():
        for event in islice(view.run.events.of(kind), LINES_PER_KIND):
            words = [value for value in event.fields.values() if isinstance(value, str)]
            found.append((" ".join((event.text, *words)), event.ref))
    if not found:
        ends = view.run.log_ends
        found = [
            (text, SourceRef(end.source, at)) for end in ends for at, text in (*end.errors, *end.last_lines)
        ]
    return found


def _first_named(
    lines: list[tuple[str, SourceRef]], names: str, known: set[str]
) -> tuple[str | None, list[SourceRef]]:
    """What the frameworks imply if they agree, else the first of the known names in any line."""
    if len(known) == 1:
        return known.pop(), []
    for name, pattern in known_names(names):
        for text, ref in lines:
            if pattern.search(text):
                return name, [ref]
    return None, []


def _platform(view: RunView, lines: list[tuple[str, SourceRef]]) -> tuple[str | None, list[SourceRef]]:
    name = view.run.layout.gpu_name
    if name:
        found, _ = _first_named([(name, SourceRef(0))], "platforms", set())
        return found or "cuda", [ref for ref in [view.run.layout.ref] if ref is not None]
    return _first_named(lines, "platforms", set())


def _subject(view: RunView, lines: list[tuple[str, SourceRef]]) -> str | None:
    """language, vision, speech or control; None if nothing or more than one of them shows."""
    found = view.framework_words("subject")
    names = " ".join(view.run.metrics.names)
    for subject, pattern in (("vision", _VISION), ("speech", _SPEECH), ("language", _LANGUAGE)):
        if any(pattern.search(name) for name in names.split(" ")):
            found.add(subject)
    if any(entry.framework == "tokenizer" for entry in view.run.config.entries):
        found.add("language")
    if not found and view.has_habit("mostly-vision"):
        found.add("vision")
    if not found and any("ctc" in text.lower() for text, _ in lines):
        found.add("speech")
    return found.pop() if len(found) == 1 else None


def _saving(view: RunView, out: FactWriter) -> None:
    saved = checkpoints(view)
    if saved:
        out.put("saved", True, [saved[0][2]])
        return
    events = view.events("checkpoint_saved")
    if events:
        out.put("saved", True, [events[0].ref])
        return
    end = view.span[1] if view.span is not None else None
    for entry in view.run.config.entries:
        word = entry.word
        steps = number(entry.value)
        off = word in _SAVE_SWITCHES and str(entry.value).lower() in {"no", "false", "none"}
        # a share of the run below one is HF Trainer's other spelling of the interval
        late = word in _INTERVALS and steps is not None and steps >= 1 and end is not None and end < steps
        if off or late:
            out.put("never_saved", True, [entry.ref])
            return
