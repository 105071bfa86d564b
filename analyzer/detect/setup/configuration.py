"""What was asked for: configuration facts, each with the line that states it.

Not for the course of the run (``run_course``) nor for choosing between conflicting values (ingest does that).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from analyzer.detect.base import FactWriter, RunView, number, refs_of, truth
from analyzer.detect.curves.numerics.bad_points import loss_points
from analyzer.detect.curves.numerics.scale_course import scale_course
from analyzer.detect.setup.model_families import bf16_born, is_base
from analyzer.detect.setup.precision import dtype_name, precision, scaler_in_use, weights_dtype
from analyzer.lazy_regex import LazyRegex
from analyzer.model.config import ConfigScalar
from analyzer.model.refs import SourceRef
from analyzer.model.tables import Scalar

Reader = Callable[[ConfigScalar], Scalar | None]

_VERSION = LazyRegex(r"(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?")


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``config.*``."""
    for read, keys in _DIRECT:
        for key in keys.split():
            entry = view.config(key)
            if entry is not None:
                out.put(key, read(entry.value), [entry.ref])
    _precision(view, out)
    _model(view, out)
    _data(view, out)
    _tokenizer(view, out)
    _training(view, out)
    _adapters(view, out)
    _micro_batches(view, out)
    _scaler(view, out)


def _whole(value: ConfigScalar) -> int | None:
    found = number(value)
    return None if found is None or not found.is_integer() else int(found)


def _positive(value: ConfigScalar) -> int | None:
    """A count; -1 and 0 are how trainers write "not set"."""
    found = _whole(value)
    return found if found is not None and found > 0 else None


def _word(value: ConfigScalar) -> str | None:
    return value.strip().lower() if isinstance(value, str) and value.strip() else None


def _text(value: ConfigScalar) -> str | None:
    return value.strip() if isinstance(value, str) and value.strip() else None


def _threshold(value: ConfigScalar) -> float | None:
    """A clipping threshold; null and false are how it is switched off."""
    return 0.0 if value is None or value is False else number(value)


def attention(value: ConfigScalar) -> str | None:
    """Attention implementation as eager, sdpa, flash or flex; None for ``auto`` and the like.

    >>> attention("flash_attention_2"), attention("fa2"), attention(True), attention("auto")
    ('flash', 'flash', None, None)
    """
    word = _word(value)
    if word is None:
        return None
    for name, signs in (("flash", ("flash", "fa2", "fa3")), ("flex", ("flex",)), ("sdpa", ("sdpa",))):
        if any(sign in word for sign in signs):
            return name
    return "eager" if word in {"eager", "disabled", "vanilla", "torch"} else None


def version(value: ConfigScalar) -> float | None:
    """Version as major * 1000 + minor + patch / 1000, so that versions compare as numbers.

    >>> version("0.17.6"), version("5.23.0"), version("2.13.0+cpu")
    (17.006, 5023.0, 2013.0)
    """
    match = _VERSION.match(str(value).strip()) if value is not None else None
    if match is None:
        return None
    major, minor, patch = (int(part or 0) for part in match.groups())
    return round(major * 1000 + minor + patch / 1000, 3)


_DIRECT: tuple[tuple[Reader, str], ...] = (
    (dtype_name, "model.native_dtype zero.reduce_dtype"),
    (_word, "model.type fp8.recipe data.padding_side train.optimizer"),
    (_positive, ("model.vocab_size model.layers model.max_positions data.max_length "
        "train.micro_batch_size train.gradient_accumulation_steps train.max_steps "
        "train.logging_steps fp16.hysteresis fp16.loss_scale_window parallel.context "
        "parallel.tensor parallel.pipeline parallel.virtual_pipeline train.eval_batch_size")),
    (truth, ("vae.no_half data.packing train.gradient_checkpointing train.group_by_length "
        "zero.overlap_comm compile.enabled train.manual_gc train.ignore_data_skip "
        "checkpoint.weights_only checkpoint.optimizer")),
    (attention, "model.attention"),
    (_whole, "tokenizer.added_tokens zero.stage"),
    (number, ("train.learning_rate train.adam_epsilon train.adam_beta2 train.weight_decay train.dropout "
        "train.epochs fp16.min_loss_scale")),
    (_threshold, "train.max_grad_norm"),
    (version, ("versions.deepspeed versions.transformers versions.torch versions.trl "
        "versions.transformer_engine")),
)  # fmt: skip
"""How the values of settings are read that are facts under their own names."""


def _precision(view: RunView, out: FactWriter) -> None:
    known = view.once(precision)
    course = view.once(scale_course)
    if known is not None:
        out.put("precision", known.name, known.refs)
        if known.pure is not None:
            out.put("precision_fp16_pure", known.pure and known.name == "fp16", known.refs)
    scaler = scaler_in_use(view, course, known)
    refs: tuple[SourceRef, ...] = () if known is None else known.refs
    if course is not None and course.overflows:
        refs = (course.overflows[0].ref, *refs)
    out.put("uses_loss_scaler", scaler, refs)
    loaded = weights_dtype(view)
    if loaded is not None:
        out.put("weights_dtype", loaded[0], loaded[1])


def _model(view: RunView, out: FactWriter) -> None:
    native = view.config("model.native_dtype")
    dtype = None if native is None else dtype_name(native.value)
    by_config = None if dtype is None else dtype == "bfloat16"
    out.put("model.bf16_born_by_config", by_config, refs_of(native))
    name = view.config("model.name")
    kind = view.config("model.type")
    names = [
        _text(entry.value)
        for entry in (name, *(name.conflicts if name is not None else ()))
        if entry is not None
    ]
    verdicts = [bf16_born(text, None) for text in names] + [
        bf16_born(None, _text(kind.value) if kind is not None else None)
    ]
    by_family = next((verdict for verdict in verdicts if verdict is not None), None)
    out.put("model.bf16_born", True if by_config else by_family, refs_of(native if by_config else name, kind))
    base = next((verdict for text in names if (verdict := is_base(text)) is not None), None)
    out.put("model.is_base", base, refs_of(name))
    out.put("model.name", names[0] if names else None, refs_of(name))
    flash = view.config("model.flash_attention")
    if view.config("model.attention") is None and flash is not None:
        value = "flash" if truth(flash.value) else attention(flash.value)
        out.put("model.attention", value, refs_of(flash))


# Templates that format data without special tokens of their own.
_PLAIN_TEMPLATES = frozenset({"default", "empty", "alpaca", "vicuna", "none", "plain", "raw", "fewshot"})


def _data(view: RunView, out: FactWriter) -> None:
    masks, refs = _masks_prompt(view)
    out.put("data.masks_prompt", masks, refs)
    template = view.config("data.chat_template")
    own = view.config("tokenizer.chat_template")
    word = None if template is None else _word(template.value)
    if word is not None:
        out.put("data.uses_chat_template", word not in _PLAIN_TEMPLATES, refs_of(template))
    elif own is not None and own.value:
        stated = view.run.config.entries  # under a key that has no canonical name
        tokens = next((entry for entry in stated if entry.key_in_source == "chat_template_tokens"), None)
        out.put("data.uses_chat_template", None if tokens is None else bool(tokens.value), refs_of(own))


def _masks_prompt(view: RunView) -> tuple[bool | None, list[SourceRef]]:
    """Whether the loss leaves the prompt out: any of several switches (answers only, assistant only) does it."""
    answers, prompts = view.config("data.completion_only"), view.config("data.train_on_prompt")
    if answers is not None:
        said = [truth(entry.value) for entry in (answers, *answers.conflicts)]
        if any(said):
            entry = (answers, *answers.conflicts)[said.index(True)]
            return True, refs_of(entry)
        if said[0] is False:
            return False, refs_of(answers)
    on_prompt = None if prompts is None else truth(prompts.value)
    return (None if on_prompt is None else not on_prompt), refs_of(prompts)


def _tokenizer(view: RunView, out: FactWriter) -> None:
    size = view.config("tokenizer.vocab_size")
    out.put("tokenizer.size", None if size is None else _positive(size.value), refs_of(size))
    pad, eos = view.config("tokenizer.pad_token"), view.config("tokenizer.eos_token")
    if pad is None:
        return
    out.put("tokenizer.pad_token_missing", pad.value is None, refs_of(pad))
    if eos is not None and eos.value is not None:
        out.put("tokenizer.pad_is_eos", pad.value == eos.value, refs_of(pad, eos))


def _training(view: RunView, out: FactWriter) -> None:
    steps, ratio = view.config("train.warmup_steps"), view.config("train.warmup_ratio")
    asked = None if steps is None else number(steps.value)
    part = None if ratio is None else number(ratio.value)
    if asked is not None and (asked >= 1 or asked == 0):  # transformers 5 reads a number below 1 as a ratio
        out.put("train.warmup_steps", int(asked), refs_of(steps))
    if asked or part:
        out.put("train.has_warmup", value=True, refs=refs_of(steps if asked else ratio))
    elif asked == 0 or part == 0:  # the other key defaults to 0 in every trainer that has both
        out.put("train.has_warmup", value=False, refs=refs_of(steps, ratio))
    scheduler = view.config("train.scheduler")
    word = None if scheduler is None else _word(scheduler.value)
    out.put(
        "train.scheduler", None if word is None else word.removeprefix("schedulertype."), refs_of(scheduler)
    )
    out.put("train.resumed", *_resumed(view))
    out.put("train.nan_filter", *_nan_filter(view))
    summed, refs = _summed(view)
    out.put("train.summed_loss", summed, refs)


def _resumed(view: RunView) -> tuple[bool | None, list[SourceRef]]:
    seen = view.events("resume_from_checkpoint")
    entry = view.config("train.resume_from")
    if entry is not None:
        said = truth(entry.value)
        if said is False or entry.value is None:
            return bool(seen), [seen[0].ref] if seen else refs_of(entry)
        return True, refs_of(entry)
    # "Loading model from" also opens a plain fine-tune; only a step says that training went on.
    continued = [event for event in seen if event.fields.get("step")]
    return (True, [continued[0].ref]) if continued else (None, [])


def _nan_filter(view: RunView) -> tuple[bool | None, list[SourceRef]]:
    """A filter that is there is on by default; a masked loss proves it."""
    entry = view.config("train.logging_nan_inf_filter")
    said = None if entry is None else truth(entry.value)
    if said is not None:
        return said, refs_of(entry)
    points = view.once(loss_points)
    if points is not None and points.masked.any():
        return True, [points.series.ref(int(points.masked.argmax()))]
    return (True, []) if view.has_habit("masks-nan") else (None, [])


def _summed(view: RunView) -> tuple[bool | None, list[SourceRef]]:
    """From any key that ends in ``reduction`` or ``loss_reduction``; no trainer has a canonical one."""
    for entry in view.run.config.entries:
        tail = entry.key_in_source.rpartition(".")[2].lower()
        word = _word(entry.value)
        if tail in {"loss_reduction", "reduction"} and word in {"sum", "mean", "token_mean"}:
            return word == "sum", refs_of(entry)
    return None, []


def _adapters(view: RunView, out: FactWriter) -> None:
    enabled, kind, rank = (
        view.config("lora.enabled"),
        view.config("lora.finetuning_type"),
        view.config("lora.r"),
    )
    word = None if kind is None else _word(kind.value)
    by_word = {"lora": True, "qlora": True, "oft": True, "full": False, "freeze": False}.get(word or "")
    said = None if enabled is None else truth(enabled.value)
    if said is None and enabled is not None and isinstance(enabled.value, str):
        said = (
            enabled.value.strip().lower()
            in {"lora", "adalora", "ia3", "loha", "lokr", "vera", "prefix_tuning", "p_tuning"}
            or None
        )
    if said is None and by_word is None and rank is not None and (number(rank.value) or 0) > 0:
        said = True
    out.put("lora.enabled", said if said is not None else by_word, refs_of(enabled, kind, rank))
    liger, unsloth = view.config("kernels.liger"), view.config("kernels.unsloth")
    flags = [truth(entry.value) for entry in (liger, unsloth) if entry is not None]
    patched = view.has_habit("fused-kernels") or any(flags)
    out.put(
        "kernels.fused",
        True if patched else False if flags and not any(flags) else None,
        refs_of(liger, unsloth),
    )
    anomaly = view.config("anomaly.enabled")
    reported = view.events("autograd_anomaly", "autograd_anomaly_warning")
    on_flag = None if anomaly is None else truth(anomaly.value)
    out.put(
        "anomaly.enabled",
        True if reported else on_flag,
        refs_of(anomaly) or [event.ref for event in reported[:1]],
    )


def _micro_batches(view: RunView, out: FactWriter) -> None:
    """Micro-batches that flow through a pipeline in one step: stated, or global batch over ranks and micro-batch."""
    pipeline = view.config("parallel.pipeline")
    if pipeline is None:
        return
    total, micro, ranks = (
        _positive(view.config_value(key))
        for key in ("train.global_batch_size", "train.micro_batch_size", "parallel.data")
    )
    count = _positive(view.config_value("train.gradient_accumulation_steps"))
    if total is not None and micro is not None and ranks is not None:
        count = max(total // (micro * ranks), 1)
    out.put("parallel.micro_batches", count, refs_of(pipeline))


def _scaler(view: RunView, out: FactWriter) -> None:
    for key in ("fp16.loss_scale", "amp.loss_scale"):
        static = view.config(key)
        scale = None if static is None else number(static.value)
        if scale is not None and scale > 0:  # 0 and "dynamic" ask for a dynamic scale
            out.put("fp16.static_loss_scale", scale, refs_of(static))
    power, start = view.config("fp16.initial_scale_power"), view.config("fp16.initial_scale")
    asked = None if power is None else _whole(power.value)
    if asked is not None:
        out.put("fp16.initial_scale_power", asked, refs_of(power))
    elif start is not None and (number(start.value) or 0) > 0:
        out.put("fp16.initial_scale_power", round(math.log2(number(start.value) or 1.0)), refs_of(start))
