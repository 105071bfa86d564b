"""What the training script says that cannot be right for any data, or that explains a symptom where one is seen.

The reader states the parts (``ingest/formats/config/training_script.py``); here they are held against one another.
"""

from __future__ import annotations

from analyzer.detect.base import FactWriter, RunView, number, truth
from analyzer.model.config import ConfigValue

_SINGLE = {"categorical_crossentropy", "sparse_categorical_crossentropy", "cross_entropy"}
"""Losses over classes that exclude one another: they need one output for each class."""

_PROBABILITIES = {"categorical_crossentropy", "sparse_categorical_crossentropy", "binary_crossentropy"}
"""Keras takes probabilities here unless told ``from_logits=True``."""

_NO_PROBABILITY = {"linear", "relu", "tanh", "elu", "selu", "leaky_relu", "leakyrelu"}


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``config.script.*``."""
    said = _said(view)
    if not said:
        return
    refs = [
        entry.ref for key in ("last_units", "last_activation", "loss") if (entry := said.get(key)) is not None
    ]
    mismatch = _mismatch(said)
    if mismatch is not None:
        out.put("mismatch", mismatch, refs)
    _classes(said, out)
    for fact, key, wanted in (
        ("unscaled_inputs", "scales_inputs", False),
        ("keeps_order", "shuffles_training", False),
        ("keeps_gradients", "clears_gradients", False),
        ("keeps_graph", "keeps_graph", True),
    ):
        entry = said.get(key)
        value = None if entry is None else truth(entry.value)
        if entry is not None and value is not None:
            out.put(fact, value is wanted, [entry.ref])
    split = said.get("validation_split")
    if split is not None:
        out.put("validation_is_the_end", "shuffles" not in said, [split.ref])


def _said(view: RunView) -> dict[str, ConfigValue]:
    """The parts of the script by name; where several scripts contradict one another, a part says nothing."""
    found: dict[str, ConfigValue] = {}
    differ = set()
    for entry in view.run.config.entries:
        key = entry.key_in_source.removeprefix("script.")
        if key != entry.key_in_source:
            first = found.setdefault(key, entry)
            if first.value != entry.value:
                differ.add(key)
    return {key: entry for key, entry in found.items() if key not in differ}


def _word(said: dict[str, ConfigValue], key: str) -> str:
    entry = said.get(key)
    return entry.value if entry is not None and isinstance(entry.value, str) else ""


def _mismatch(said: dict[str, ConfigValue]) -> str | None:
    """Loss and last layer that fit no data together, in words; "" if they fit, None if either is unknown."""
    loss, end = _word(said, "loss"), _word(said, "last_activation")
    units = None if "last_units" not in said else number(said["last_units"].value)
    logits = "from_logits" in said and said["from_logits"].value is True
    if not loss or not end:
        return None
    if end == "softmax" and units == 1:
        return "a softmax over one output, which is always 1"
    if loss in _SINGLE and units == 1:
        return f"{loss} over one output, which is always the only class"
    if loss in {"cross_entropy", "bce_with_logits"} and end in {"softmax", "sigmoid"}:
        return f"{end} before a loss that applies it again"
    if loss in _PROBABILITIES and logits and end in {"softmax", "sigmoid"}:
        return f"{end} before a loss that was told to expect logits"
    if loss in _PROBABILITIES and not logits and end in _NO_PROBABILITY:
        return f"{end} output where {loss} expects probabilities"
    if loss == "nll" and end in {"softmax", "sigmoid"}:
        return f"{end} before a loss that expects logarithms"
    return None if units is None and loss in _PROBABILITIES else ""  # one output would not fit


def _classes(said: dict[str, ConfigValue], out: FactWriter) -> None:
    """Fewer outputs than the data set has classes."""
    classes, units = said.get("classes"), said.get("last_units")
    if classes is None or units is None or _word(said, "loss") not in _SINGLE:
        return
    known, given = number(classes.value), number(units.value)
    if known is not None and given is not None and given > 1:
        out.put("too_few_outputs", given < known, [units.ref, classes.ref])
