"""What settings contradict: a file and what the program echoes, nodes and their packages, rank and scale of an adapter."""

from __future__ import annotations

import math
import re

from analyzer.detect.base import FactWriter, RunView, number, truth
from analyzer.model.refs import SourceRef
from analyzer.vocabulary.frameworks import number_of

ASKED = frozenset({"file", "cli"})
"""Layers that say what somebody wanted."""

_COMPARED = (
    "train.learning_rate", "train.micro_batch_size", "train.gradient_accumulation_steps", "data.max_length", "train.epochs",
    "train.max_steps", "train.max_grad_norm", "train.weight_decay", "lora.r", "lora.alpha",
)  # fmt: skip
"""Numbers that mean the same wherever they stand; words (optimizers, schedules) have too many spellings."""

PEAK_MARGIN = 1.05
"""A schedule never exceeds its peak; five percent allow for rounding in a log."""

_PRINTED = {"nccl_version": "NCCL", "gpu_driver": "GPU driver"}
"""Lines that hold a version: each log holds each distinct one once."""

_TELLING = ("torch", "nvidia-nccl-cu12", "deepspeed", "transformers", "flash-attn", "numpy")
"""Packages named first where several differ: those whose mixture breaks a job."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``config.conflict.*``, ``config.lora.*``, ``config.versions_differ*`` and single settings."""
    _conflict(view, out)
    _peak(view, out)
    _rate_per_image(view, out)
    _adapter(view, out)
    _packages(view, out)


def _conflict(view: RunView, out: FactWriter) -> None:
    """The first number that a file asks for and the program echoes differently, in one framework's spelling."""
    for key in _COMPARED:
        used = view.config(key)
        if used is None or used.layer != "runtime_echo":
            continue
        for asked in used.conflicts:
            wanted, got = number(asked.value), number(used.value)
            same_speaker = asked.framework == used.framework and asked.key_in_source == used.key_in_source
            if asked.layer not in ASKED or not same_speaker or wanted is None or got is None or wanted < 0:
                continue
            if key == "train.epochs" and (_planned_by_steps(view) or got == math.ceil(wanted)):
                continue  # a plan in steps decides, and HF Trainer counts a begun epoch as one
            if abs(wanted - got) > 1e-6 * max(abs(wanted), abs(got)):
                refs = [asked.ref, used.ref]
                out.put("conflict.key", used.key_in_source, refs)
                out.put("conflict.asked", wanted, refs)
                out.put("conflict.used", got, refs)
                return


def _planned_by_steps(view: RunView) -> bool:
    """Whether somebody asked for a number of steps: the program then echoes the epochs that follow from it."""
    steps = view.config("train.max_steps")
    return steps is not None and any(
        entry.key_in_source == steps.key_in_source and entry.layer in ASKED and (number(entry.value) or 0) > 0
        for entry in view.run.config.entries
    )


def _rate_per_image(view: RunView, out: FactWriter) -> None:
    """The rate for one image over that of the framework's own schedules, where those are for one optimizer."""
    rate, batch = view.config("train.learning_rate"), view.config("train.global_batch_size")
    usual = None if rate is None else number_of(rate.framework, "rate_per_image")
    if rate is None or batch is None or usual is None or batch.framework != rate.framework:
        return
    told, images = number(rate.value), number(batch.value)
    if told is not None and images is not None and images > 0:
        ratio = told / images / usual
        out.put("train.rate_over_schedule", ratio, [rate.ref, batch.ref])


def _peak(view: RunView, out: FactWriter) -> None:
    """How far the logged learning rate exceeds what was asked for."""
    asked, curve = view.config("train.learning_rate"), view.curve("learning_rate")
    wanted = number(asked.value) if asked is not None else None
    if asked is None or wanted is None or wanted <= 0 or curve is None or not len(curve):
        return
    row = int(curve.value.argmax())
    peak = float(curve.value[row])
    if peak > 0:
        out.put("learning_rate_exceeded", peak > PEAK_MARGIN * wanted, [asked.ref, curve.ref(row)])


def _adapter(view: RunView, out: FactWriter) -> None:
    rank, alpha = view.config("lora.r"), view.config("lora.alpha")
    size = number(rank.value) if rank is not None else None
    scale = number(alpha.value) if alpha is not None else None
    if rank is not None and alpha is not None and size and scale is not None and size > 0:
        out.put("lora.alpha_over_rank", scale / size, [rank.ref, alpha.ref])
    tied = view.setting("tie_word_embeddings", "share_decoder_input_output_embed")
    if tied is not None:
        out.put("model.ties_embeddings", truth(tied.value), [tied.ref])
    tf32 = view.setting("tf32", "allow_tf32")
    if tf32 is not None:
        out.put("tf32", truth(tf32.value), [tf32.ref])


def _packages(view: RunView, out: FactWriter) -> None:
    """Packages that stand in several versions in files of one kind: a list for each node, a log for each rank."""
    stated: dict[tuple[str, str], dict[str, SourceRef]] = {}
    files: dict[str, set[int]] = {}
    for entry in view.run.config.entries:
        if entry.framework != "versions" or entry.ref is None or not isinstance(entry.value, str):
            continue
        kind = re.sub(r"\d{1,9}", "#", view.run.sources[entry.ref.source].path.rpartition("/")[2])
        files.setdefault(kind, set()).add(entry.ref.source)
        package = entry.key_in_source.lower().replace("_", "-")
        stated.setdefault((kind, package), {}).setdefault(entry.value, entry.ref)
    printed = _printed(view)
    if not printed and not any(len(sources) > 1 for sources in files.values()):
        return
    differing = {package: found for (_, package), found in stated.items() if len(found) > 1}
    differing |= {package: found for package, found in printed.items() if len(found) > 1}
    out.put("versions_differ", bool(differing))
    for package in (*_TELLING, *sorted(differing)):
        if package in differing:
            versions = sorted(differing[package])
            out.put(
                "versions_differ_in", f"{package} ({' and '.join(versions[:3])})", differing[package].values()
            )
            return


def _printed(view: RunView) -> dict[str, dict[str, SourceRef]]:
    """Versions of NCCL and of the driver, where several logs or lines print them."""
    found: dict[str, dict[str, SourceRef]] = {}
    for kind, name in _PRINTED.items():
        rows = view.events(kind)
        if len(rows) > 1:
            found[name] = {
                str(row.fields.get("version")): row.ref for row in rows if row.fields.get("version")
            }
    return found
