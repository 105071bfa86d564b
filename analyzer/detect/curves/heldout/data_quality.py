"""What a run shows of its data and of the weights it began with: classes, parts of the loss, splits, the start."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, ends_of, refs_at
from analyzer.detect.curve import has_steps
from analyzer.detect.curves.guess.chance import shares_of
from analyzer.detect.curves.heldout.gap import since_the_last
from analyzer.detect.curves.numerics.bad_points import loss_points
from analyzer.detect.curves.plateau import is_even_guess
from analyzer.lazy_regex import LazyRegex
from analyzer.model.arrays import Values
from analyzer.model.name_words import read_name, word_set, words_of
from analyzer.model.ranked import distinct_of, median_of
from analyzer.model.refs import SourceRef
from analyzer.model.tables import Event, Series

WIDE = 100.0
"""Networks are made for inputs around one; pictures that nobody scaled span 255."""

SAME_ACCURACY = 3
"""Evaluations with exactly the same accuracy: twice may be chance, three times in a moving model hardly."""

LOW_F1, LEARNED_F1, NEAR_BEST = 0.6, 0.2, 0.9
"""Macro F1 over accuracy (a classifier that ignores one of two classes at 9:1 has 0.53), what it gained, and its end over its best."""

BEGINNING = 0.05
"""Share of the rows before which a part of the loss had a value and lost it for good."""

BELOW = 0.9
"""Evaluation loss below nine tenths of the training loss, the line of the runmedic check on leakage."""

ZERO_ROWS = 20
"""Rows in which a part of the loss is exactly 0 before it counts: a warm-up of a term is shorter."""

HALF = 0.5
"""Of a class of which half is found the model knows what it is."""

ZERO_EPOCHS = 5
"""The same where a row is the mean of an epoch: one sample with a target would make it positive."""

_PARTS_ZERO_BY_DESIGN = LazyRegex(
    r"cls|class|dfl|aux|kl|z_loss|distill|reg|penalty|value|policy|eval|val|mean|estimate|mtp|balanc"
)
# Scores of detection: a model whose outputs are NaN finds nothing at all.
_SCORE = LazyRegex(r"(?i)(?:^|[/_])(?:mAP(?:50)?(?:-95)?|recall)$")
NOTHING_FOUND, EARLY_EPOCHS, EARLY_RESULTS = 1e-3, 10, 10
"""A mean precision of detection that is nothing, and epochs or evaluations in which that is ordinary from scratch."""

NO_TRUTH = -1.0
"""What the COCO tools and those that follow them give for a mean over nothing."""

EMPTY_BATCHES = 4
"""Batches of a detector in a row without an object that are no chance, as heads for large objects often have none."""

_DETECTION = LazyRegex(r"(?:^|[/_])(?:bbox_|segm_|mask_)?map(?:_?50)?(?:-95)?$")
_ON_HELD_OUT = LazyRegex(r"(?:eval|val|valid|validation|test|dev)[_/.]")
_INNER_WEIGHT = LazyRegex(
    r"(?:\blayers?|\bh|\bblocks?|\bencoder\.block|\bdecoder\.block)[._](?:\{?\d[\d, .]{0,80}\}?|\*|\[)"
    r"|(?:word_embeddings|embed_tokens|wte|patch_embed\w{0,10})\.(?:weight|projection|proj)"
)
_CLASS_LOSS = LazyRegex(
    r"loss_(?:\w{0,20}_)?(?:cls|ce)$|(?:^|[._/])(?:cls|ce|class|classification)_loss$|cross_entropy"
)
_HEADS = LazyRegex(
    r"classifier|score|lm_head|cls\.|qa_outputs|pooler|value_head|v_head|lora_|adapter|rotary|inv_freq|position_ids"
)


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.data.*``, ``signal.split.*`` and ``signal.start.*``."""
    for prefix, measure in (("data", _composition), ("split", _split), ("start", _start)):
        measure(view, out.below(f"{prefix}."))


def _composition(view: RunView, out: FactWriter) -> None:
    _largest(out, "unknown_percent", view.events("unknown_tokens"), "percent")
    shares = view.events("padding_share")
    if shares:
        event = shares[-1]
        share = event.fields.get("share")
        if isinstance(share, float):
            # a bare number above 1 can only be meant as percent
            out.put(
                "padding_share",
                share / 100.0 if event.fields.get("unit") or share > 1.0 else share,
                [event.ref],
            )
    ranges = view.events("input_range")
    wide = [event for event in ranges if _width(event) >= WIDE]
    if ranges:
        out.put("inputs_unscaled", bool(wide), [(wide or ranges)[0].ref])
    _classes(view, out)
    _class_scores(view, out)
    _zero_part(view, out)
    _part_without_value(view, out)
    _part_stands(view, out)
    _nothing_found(view, out)
    _nothing_labelled(view, out)
    _nothing_to_find(view, out)
    _nonfinite_part(view, out)
    _lone_bad_part(view, out)


def _width(event: Event) -> float:
    low, high = event.fields.get("low"), event.fields.get("high")
    return high - low if isinstance(low, float) and isinstance(high, float) else 0.0


def _largest(out: FactWriter, name: str, events: tuple[Event, ...], field: str) -> None:
    known = [
        (float(value), event) for event in events if isinstance(value := event.fields.get(field), int | float)
    ]
    if known:
        value, event = max(known, key=lambda pair: pair[0])
        out.put(name, value, [event.ref])


def _classes(view: RunView, out: FactWriter) -> None:
    accuracy = view.finite("eval_accuracy")
    if accuracy is None:
        return
    last = len(accuracy) - 1
    loss = view.once(loss_points)
    if last + 1 >= SAME_ACCURACY and loss is not None and len(loss.series) >= SAME_ACCURACY:
        same = bool(np.all(accuracy.value == accuracy.value[0]))
        moves = bool(np.ptp(loss.good().value) > 0) if len(loss.good()) else False
        share = float(accuracy.value[0]) / (1.0 if accuracy.value[0] <= 1.0 else 100.0)
        majority = 0.0 < share < 1.0 and not is_even_guess(share)
        out.put("majority_only", same and moves and majority, refs_at(accuracy, [last, 0]))
    for name in (
        "eval_f1",
        "eval_f1_macro",
        "eval_macro_f1",
        "val_f1",
        "f1_macro",
        "eval/f1",
        "eval_macro_avg_f1",
    ):
        f1, shares = shares_of(view, name), shares_of(view, "eval_accuracy")  # one may be in percent
        if f1 is None or shares is None:
            continue
        last_f1, best_f1 = float(f1.value[-1]), float(f1.value.max())
        # what was found never and is found more and more is learned late, as entities among many other tokens are
        found_late = last_f1 - float(f1.value[0]) >= LEARNED_F1 and last_f1 >= NEAR_BEST * best_f1
        low = last_f1 < LOW_F1 * float(shares.value[-1]) and not found_late
        out.put("f1_far_below_accuracy", low, [*end_of(f1), *refs_at(accuracy, [last])])
        return


def _class_scores(view: RunView, out: FactWriter) -> None:
    """Which classes the last evaluation never finds, by its table of classes, and whether they were more in the first."""
    events = view.events("class_scores")
    begins = _training_begins(view, {event.ref.source for event in events}) if events else {}
    # what stands above the rows of training is what the weights could before it
    tables = [e for e in events if e.ref.line is None or e.ref.line >= begins.get(e.ref.source, 0)]
    if not tables:
        return
    last = tables[-1]
    best, classes, none = (last.fields.get(name) for name in ("best", "classes", "at_zero"))
    if not (isinstance(best, float) and isinstance(classes, int) and isinstance(none, int)):
        return
    out.put("classes", classes, [last.ref])
    out.put("classes_never_found", none, [last.ref])
    out.put("most_classes_never_found", 2 * none >= classes and best < HALF, [last.ref])
    out.put("class_best", best, [last.ref])
    out.put("class_never_found_names", str(last.fields.get("names", "")), [last.ref])
    before = tables[0].fields.get("at_zero")
    out.put("class_found_since", isinstance(before, int) and none < before, [tables[0].ref, last.ref])
    right, absent = last.fields.get("without_error"), last.fields.get("without_samples")
    out.put("class_right_beside_absent", bool(absent) and right == 1, [last.ref])


_LOSSES = frozenset({"loss", "loss_like"})
TRAINING_ROWS = 2
"""Rows of a loss that make a training: a single one may be the loss of the evaluation itself."""


def _training_begins(view: RunView, sources: Iterable[int]) -> dict[int, int]:
    """The line of the first loss in each file that holds the rows of a training."""
    table = view.run.metrics
    read = [read_name(name) for name in table.raw_names]
    losses = [
        code for code, name in enumerate(read) if name.quantity in _LOSSES and name.phase in {"", "train"}
    ]
    of_loss = np.isin(table.raw, losses) & (table.line > 0)
    lines = {source: distinct_of(table.line[of_loss & (table.source == source)]) for source in sources}
    return {source: int(found[0]) for source, found in lines.items() if len(found) >= TRAINING_ROWS}


_DETECTOR_PART = LazyRegex(
    r"(?i)(?:^|[/_.-])(?:b?box|k?obj|no_?obj|cls|class|conf|seg|mask|pose|kpt|g?iou|l1|landm\w{0,8})_?loss$"
)


_MAY_BE_OFF = LazyRegex(
    r"cls|class|dfl|aux|kl|z_loss|distill|regular|penalty|value|policy|eval|val|mean|estimate|mtp|balanc|l1|l2"
)
"""Parts that many programs switch on later or never; a box regression is none of them."""

STANDING_ROWS, STANDING, LEFT_OVER, NEARLY_GONE = 10, 0.02, 0.7, 0.6
"""Ten rows within two percent of one level, which is seven tenths of the loss that is left when two fifths of it are gone."""

FEW_ROWS = 3
"""Rows after which a part that is exactly 0 in all of them keeps a run from being called sound, without blaming it."""


def _is_off(part: Values) -> bool:
    """Whether a part is 0 in every row, or in all that follow the first few."""
    first = 1 + int(np.flatnonzero(part)[-1]) if part.any() else 0
    return first <= BEGINNING * part.size and (not first or part.size - first >= ZERO_ROWS)


def _part_without_value(view: RunView, out: FactWriter) -> None:
    """A part of a positive loss that was 0 in every row so far, or from the first few on, by the word "loss" in its name."""
    total = view.once(loss_points)
    if total is None or not bool((total.good().value > 0).any()):
        return
    for name in sorted(view.run.metrics.names):
        words = words_of(name)
        if name == "loss" or not words or "loss" not in words or _MAY_BE_OFF.search(name):
            continue
        part = view.finite(name)
        if part is not None and len(part) >= FEW_ROWS and _is_off(part.value):
            refs = refs_at(part, [0, len(part) - 1])
            out.put("part_without_value", value=True, refs=refs)
            out.put("part_without_value_name", part.logged_as, refs)
            return


_STANDS_BY_DESIGN = word_set(
    "reg regularization regularisation l1 l2 wd decay kl kld penalty aux balance entropy z commit commitment vq g d gen disc adv gan"
)
"""Parts that hold the model where it is, and need not fall, and those of players, of which one gains what the other loses."""

TRADED, A_QUARTER, LESS, AGAIN = 2.0, 0.25, 0.9, 10.0
"""A part that ends at twice its first value, or at ten times its best, while it makes a quarter of the loss that is left, which is a
tenth less than at first: it paid for the fall of others."""

_OF_TEACHERS = word_set("distill distillation distil kd kld teacher student imitation")
"""Beside what is learned from a teacher the loss of the labels may rise: the student follows him and not them."""


def _part_stands(view: RunView, out: FactWriter) -> None:
    """A part that makes up nearly all that is left of a loss that fell, and has stood at its first level throughout.

    Or one that rose in exchange: the sum is smaller, and one of its conditions is met less than by an untrained model.
    """
    total = view.once(loss_points)
    whole = None if total is None else total.good()
    if whole is None or len(whole) < STANDING_ROWS or float(whole.value.min()) <= 0:
        return
    first, last = float(whole.value[0]), float(median_of(whole.value[-FEW_ROWS:]))
    taught = any(not _OF_TEACHERS.isdisjoint(words_of(name)) for name in view.run.metrics.names)
    for name in sorted(view.run.metrics.names):
        words = set(words_of(name))
        if name in {"loss", "eval_loss"} or "loss" not in words or read_name(name).phase == "eval":
            continue
        if not words.isdisjoint(_STANDS_BY_DESIGN):
            continue
        part = view.finite(name)
        if part is None or len(part) != len(whole) or last > LESS * first:
            continue
        level = float(median_of(part.value))
        still = level > 0 and float(np.abs(part.value - level).max()) <= STANDING * level
        if still and LEFT_OVER * last <= level <= 1.1 * last and last <= NEARLY_GONE * first:
            refs = refs_at(part, [0, len(part) - 1])
            out.put("part_stands", value=True, refs=refs)
            out.put("part_stands_name", part.logged_as, refs)
            return
        begins, ends = float(median_of(part.value[:FEW_ROWS])), float(median_of(part.value[-FEW_ROWS:]))
        least = min(float(median_of(piece)) for piece in np.array_split(part.value, STANDING_ROWS))
        worse = ends >= TRADED * begins > 0 or ends >= AGAIN * least > 0
        if worse and not taught and A_QUARTER * last <= ends <= last:
            refs = refs_at(part, [0, len(part) - 1])
            out.put("part_traded", value=True, refs=refs)
            out.put("part_traded_name", part.logged_as, refs)


def _zero_part(view: RunView, out: FactWriter) -> None:
    total = view.once(loss_points)
    names = sorted(view.run.metrics.names)
    parts = [name for name in names if name != "loss" and (name.endswith("loss") or name.startswith("loss_"))]
    if (
        total is None
    ):  # detectors print parts without a sum; losses of an adversary or of another model are no parts
        parts = [name for name in parts if _DETECTOR_PART.search(name)]
        trained = any(
            (part := view.finite(name)) is not None and bool((part.value > 0).any()) for name in parts
        )
    else:
        trained = bool((total.good().value > 0).any())
    if not trained:
        return
    rows = ZERO_EPOCHS if view.has_habit("row-per-epoch") else ZERO_ROWS
    for name in parts:
        if _PARTS_ZERO_BY_DESIGN.search(name):
            continue
        part = view.curve(name)
        if part is not None and len(part) >= rows and bool(np.all(part.value == 0.0)):
            out.put("zero_part", part.logged_as, refs_at(part, [0, len(part) - 1]))
            return


def _nonfinite_part(view: RunView, out: FactWriter) -> None:
    """Detectors print box, object and class losses without a sum; a NaN there is the NaN of the loss."""
    if view.run.metrics.has("loss"):
        return
    for name in sorted(view.run.metrics.names):
        if not name.endswith("_loss") or _ON_HELD_OUT.match(name):
            continue
        part = view.curve(name)
        bad = np.array([]) if part is None else ~np.isfinite(part.value)
        # A log of one row or two shows nothing else of this loss.
        if part is not None and (bad.all() or (bad.sum() >= 2 and bad.mean() > 0.5)):
            out.put("nonfinite_part", part.logged_as, refs_at(part, np.flatnonzero(bad)))
            return


def _lone_bad_part(view: RunView, out: FactWriter) -> None:
    """One part of a composite loss that is never finite beside others that always are, and what the model scores."""
    parts = {
        name: part
        for name in view.run.metrics.names
        if name.endswith("_loss") and not _ON_HELD_OUT.match(name) and (part := view.curve(name)) is not None
    }
    if {"policy_loss", "value_loss"} <= parts.keys():
        return  # the critic is a model of its own, so its loss is no part of the policy's
    bad = [name for name in sorted(parts) if not np.isfinite(parts[name].value).any()]
    moving = [name for name in parts if np.isfinite(parts[name].value).all() and parts[name].value[-1] != 0.0]
    if len(bad) != 1 or not moving:
        return
    part = parts[bad[0]]
    out.put("lone_bad_part", part.logged_as, refs_at(part, [0, len(part) - 1]))
    for name in sorted(view.run.metrics.names):
        scores = view.curve(name) if _SCORE.search(name) else None
        if scores is not None and len(scores):
            last = float(scores.value[-1])
            out.put("sound_scores", np.isfinite(last) and last > 0.0, end_of(scores))
            return


def _nothing_found(view: RunView, out: FactWriter) -> None:
    """Whether a detector still finds nothing in held-out data after the first epochs, at a finite loss."""
    epochs = view.finite("epoch")
    for name in sorted(view.run.metrics.names):
        scores = view.curve(name) if _DETECTION.search(name) and _ON_HELD_OUT.search(name) else None
        if scores is None or not len(scores):
            continue
        late = epochs is not None and float(epochs.value.max()) >= EARLY_EPOCHS
        results = (
            distinct_of(scores.step).size if has_steps(scores) else 0
        )  # a launch that begins anew adds none
        nothing = bool(np.all((scores.value >= 0.0) & (scores.value <= NOTHING_FOUND)))
        if late or results >= EARLY_RESULTS:
            out.put("nothing_found", nothing, ends_of(scores))
        elif epochs is None and view.once(loss_points) is None and not results:
            # no row of a training stands beside it: what is tested is no model of the first epochs
            out.put("nothing_found_in_test", nothing, ends_of(scores))
        return


def _nothing_to_find(view: RunView, out: FactWriter) -> None:
    """Whether the precision over all objects is -1 in every evaluation, which stands for a mean over no labelled object.

    Of small objects alone it is -1 wherever the pictures hold none of that size.
    """
    printed = view.events("nothing_to_find")
    names = (name for name in sorted(view.run.metrics.names) if _DETECTION.search(name.lower()))
    scored = [series for name in names if (series := view.curve(name)) is not None and len(series)]
    none = [series for series in scored if bool(np.all(series.value == NO_TRUTH))]
    if printed or scored:
        refs = [printed[0].ref] if printed else refs_at((none or scored)[0], [0])
        out.put("nothing_to_find", len(none) == len(scored), refs)


def _nothing_labelled(view: RunView, out: FactWriter) -> None:
    """Whether no batch and no evaluation of a detector holds a labelled object; single batches may hold none."""
    none, some = view.events("labelled_objects_none"), view.events("labelled_objects")
    if some or len(none) >= EMPTY_BATCHES or any(event.fields.get("evaluated") for event in none):
        out.put("nothing_labelled", not some, [(some or none)[0].ref])


def _split(view: RunView, out: FactWriter) -> None:
    """Evaluation loss against the training losses of the interval before it, and whether one epoch was seen."""
    early = _within_first_epoch(view)
    if early is not None:
        out.put("within_first_epoch", *early)
    evaluated, points = view.finite("eval_loss"), view.once(loss_points)
    if evaluated is None or points is None or not has_steps(evaluated) or not has_steps(points.series):
        return
    ratios, rows = [], []
    for row, near in since_the_last(evaluated, points.good()):
        level = float(median_of(near))
        if level > 0:
            ratios.append(float(evaluated.value[row]) / level)
            rows.append(row)
    out.put("points", len(ratios), refs_at(evaluated, rows))
    if not ratios:
        return
    below = [row for row, ratio in zip(rows, ratios, strict=True) if ratio < BELOW]
    out.put("eval_below_share", len(below) / len(ratios), refs_at(evaluated, below or rows))
    out.put("ratio", float(median_of(ratios)), refs_at(evaluated, rows))
    out.put("ratio_last", ratios[-1], refs_at(evaluated, rows[-1:]))


def _within_first_epoch(view: RunView) -> tuple[bool, list[SourceRef]] | None:
    """Whether the run ended before any sample was seen twice, with what counts the epochs; None if nothing does."""
    epochs = view.finite("epoch")
    if epochs is not None:
        # a little over one: the last row of an epoch is rounded up
        return float(epochs.value.max()) <= 1.01, end_of(epochs)
    shown = [(end.first_epoch, end.last_epoch, SourceRef(end.source, end.line)) for end in view.run.log_ends]
    if not any(first is not None and last is not None for first, last, _ in shown):
        return None
    # counters begin at 0 or at 1, so that one epoch alone is the first if it is either
    return all(first == last and first in {0, 1, None} for first, last, _ in shown), [
        ref for _, _, ref in shown
    ]


def _start(view: RunView, out: FactWriter) -> None:
    reports = view.events("weights_newly_initialized")
    inner = [(event, name) for event in reports if (name := _inner_weight(event)) is not None]
    if reports:
        out.put("backbone_missing", bool(inner), [event.ref for event, _ in inner] or [reports[0].ref])
    if inner:
        out.put("missing_example", inner[0][1], [inner[0][0].ref])
    _class_loss(view, out)
    points = view.once(loss_points)
    good = None if points is None else points.curve()
    if good is None or not len(good):
        return
    out.put("first_step", good.step_at(0), refs_at(good, [0]))
    vocabulary = view.config("model.vocab_size") or view.config("tokenizer.vocab_size")
    size = None if vocabulary is None else vocabulary.value
    if vocabulary is not None and isinstance(size, int) and size > 1:
        out.put(
            "loss_over_uniform", float(good.value[0]) / math.log(size), [*refs_at(good, [0]), vocabulary.ref]
        )


def _begins(series: Series) -> bool:
    """Whether a series begins with the run; without a counter only one that leaves its first level does."""
    step, first, last = series.step_at(0), abs(float(series.value[0])), abs(float(series.value[-1]))
    return max(first, last) >= 2 * min(first, last) if step is None else step <= 1


def _class_loss(view: RunView, out: FactWriter) -> None:
    """Cross-entropy before any update; a guess among C classes costs ln(C), below 50 for any number of classes."""
    firsts = [
        series
        for name in view.run.metrics.names
        if _CLASS_LOSS.search(name) and not name.startswith(("eval", "val", "test"))
        if (series := view.finite(name)) is not None and _begins(series)
    ]
    if firsts:
        largest = max(firsts, key=lambda series: float(series.value[0]))
        out.put("class_loss_first", float(largest.value[0]), refs_at(largest, [0]))


def _inner_weight(event: Event) -> str | None:
    """Name of an inner layer's weight in a report; heads are new in every fine-tuning."""
    listed = event.fields.get("names") or event.fields.get("row")
    if not isinstance(listed, str):
        return None
    for part in re.split(r"['\"]\s?,\s?['\"]", listed):
        name = part.strip(" '\"[]")[:200]
        if _INNER_WEIGHT.search(name) and not _HEADS.search(name):
            return name
    return None
