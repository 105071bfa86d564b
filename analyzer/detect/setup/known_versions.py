"""Versions of libraries of which a defect is known, as a table with its sources.

A row helps a cause that its signs already name; alone it accuses nobody, for most runs of such a version are sound.
"""

from __future__ import annotations

from analyzer.detect.base import FactWriter, RunView, number
from analyzer.detect.setup.configuration import version
from analyzer.record import NamedTuple


class KnownDefect(NamedTuple):
    """One defect of some versions."""

    topic: str  # last word of the fact, ``config.known_bad.<topic>``
    package: str  # whose versions
    first: str  # the first version that has it
    last: str  # the last version that has it
    what: str  # what goes wrong, in a few words
    source: str  # where it was reported or confirmed
    needs: str = ""  # canonical setting that must be at least ``least`` for it to matter; empty for none
    least: float = 0.0  # see ``needs``


_GITHUB = "https://github.com/"
TABLE: tuple[KnownDefect, ...] = (
    KnownDefect(
        "accumulation", "transformers", "4.46.0", "4.47.1", "the printed loss is the sum over the accumulation steps",
        f"{_GITHUB}huggingface/transformers/issues/34263", "train.gradient_accumulation_steps", 2,
    ),
    KnownDefect(
        "attention", "torch", "2.5.0", "2.5.0", "cuDNN's attention is preferred and gives NaN gradients",
        f"{_GITHUB}huggingface/diffusers/issues/9768",
    ),
    KnownDefect(
        "attention", "torch", "2.13.0", "2.13.0", "cuDNN's attention gives NaN gradients with padded batches",
        f"{_GITHUB}huggingface/trl/issues/7181",
    ),
    KnownDefect(
        "zero", "deepspeed", "0.12.4", "0.16.4", "gradients of ZeRO 1 and 2 are spoilt while their reduction overlaps",
        f"{_GITHUB}deepspeedai/DeepSpeed/issues/5242",
    ),
    KnownDefect(
        "zero", "deepspeed", "0.17.6", "0.18.999", "gradient norms of ZeRO 2 are too small",
        f"{_GITHUB}deepspeedai/DeepSpeed/issues/7718",
    ),
)  # fmt: skip
"""The last version of a row is the last of which it was reported; a fix in between would be another row."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``config.known_bad.*``: the defect in words, empty where the version is known to lie outside."""
    for topic in dict.fromkeys(row.topic for row in TABLE):
        rows = [row for row in TABLE if row.topic == topic]
        stated = view.config(f"versions.{rows[0].package}")
        found = version(stated.value) if stated is not None else None
        if stated is None or found is None:
            continue
        hit = next((row for row in rows if _has(row, found, view)), None)
        words = f"{hit.package} {stated.value}: {hit.what} ({hit.source})" if hit else ""
        out.put(topic, words, [stated.ref])


def _has(row: KnownDefect, found: float, view: RunView) -> bool:
    first, last = version(row.first), version(row.last)
    if first is None or last is None or not first <= found <= last:
        return False
    stated = view.config(row.needs) if row.needs else None
    return not row.needs or (stated is not None and (number(stated.value) or 0.0) >= row.least)
