"""Settings of the model that decide whether a network can train at all: initial spread, norms, depth, width, activation."""

from __future__ import annotations

import math

from analyzer.detect.base import FactWriter, RunView, number, truth

_INIT = ("init_method_std", "initializer_range", "init_std")
_HIDDEN = ("hidden_size", "d_model", "n_embd", "encoder_embed_dim")
_LAYERS = ("num_layers", "num_hidden_layers", "n_layer", "encoder_layers", "decoder_layers")
_DEPTH = (*_LAYERS, "n_layers", "layers")
_WIDTH = ("hidden", *_HIDDEN, "hidden_dim", "hidden_units", "n_hidden", "num_hidden", "num_units")
_ACTIVATION = ("activation", "activation_function", "hidden_act", "act_fn", "nonlinearity")
_BATCH_NORM = ("batch_norm", "batchnorm", "use_batch_norm", "use_batchnorm", "use_bn")
_PRE_NORM = (
    "normalize_before", "encoder_normalize_before", "decoder_normalize_before", "pre_norm", "norm_first",
    "do_layer_norm_before", "pre_layer_norm",
)  # fmt: skip
_LISTED = "["
_POST_NORM = ("apply_residual_connection_post_layernorm", "post_norm", "post_layer_norm")


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``config.design.*``."""
    std, hidden = view.setting(*_INIT), view.setting(*_HIDDEN)
    spread = None if std is None else number(std.value)
    size = None if hidden is None else number(hidden.value)
    if std is not None and hidden is not None and spread and size and size > 0:
        # Large pre-trainings diverge above sqrt(2 / (5 * hidden)).
        out.put("init_std_over_limit", spread / math.sqrt(2.0 / (5.0 * size)), [std.ref, hidden.ref])
    layers = view.setting(*_LAYERS)
    depth = None if layers is None else number(layers.value)
    if layers is not None and depth is not None and depth.is_integer():
        out.put("layers", int(depth), [layers.ref])
    _norms(out, view)
    _units(out, view)


def _units(out: FactWriter, view: RunView) -> None:
    """What the hidden units are and how many a layer has; in lists of layers each has its own, of which one says nothing."""
    width, activation = view.setting(*_WIDTH), view.setting(*_ACTIVATION)
    units = None if width is None else number(width.value)
    if width is not None and units is not None and units.is_integer() and units >= 1:
        out.put("width", int(units), [width.ref])
    if (
        activation is not None
        and isinstance(activation.value, str)
        and _LISTED not in activation.key_in_source
    ):
        out.put("activation", activation.value.strip().rpartition(".")[2].lower(), [activation.ref])
    layers = view.setting(*_DEPTH)
    depth = None if layers is None else number(layers.value)
    if layers is not None and depth is not None and depth.is_integer() and depth >= 1:
        out.put("depth", int(depth), [layers.ref])
    norm = view.setting(*_BATCH_NORM)
    if norm is not None and (is_used := truth(norm.value)) is not None:
        out.put("batch_norm", is_used, [norm.ref])


def _norms(out: FactWriter, view: RunView) -> None:
    before, after = view.setting(*_PRE_NORM), view.setting(*_POST_NORM)
    if before is not None and (is_before := truth(before.value)) is not None:
        out.put("post_norm", not is_before, [before.ref])
    elif after is not None and (is_after := truth(after.value)) is not None:
        out.put("post_norm", is_after, [after.ref])
