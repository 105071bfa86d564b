"""Settings of the model that decide whether a network can train at all: initial spread, norms, depth, width, activation."""

from __future__ import annotations

import math

from analyzer.detect.base import FactWriter, RunView, number, truth
from analyzer.model.config import ConfigValue

_INIT = ("init_method_std", "initializer_range", "init_std")
_HIDDEN = ("hidden_size", "d_model", "n_embd", "encoder_embed_dim")
_LAYERS = ("num_layers", "num_hidden_layers", "n_layer", "encoder_layers", "decoder_layers")
_DEPTH = (*_LAYERS, "n_layers", "layers")
_WIDTH = (*_HIDDEN, "hidden_dim", "hidden_units", "num_units", "hidden")  # `n_hidden` counts layers as often
_ACTIVATION = ("activation", "activation_function", "hidden_act", "act_fn", "nonlinearity")
_BATCH_NORM = ("batch_norm", "batchnorm", "use_batch_norm", "use_batchnorm", "use_bn")
_PRE_NORM = (
    "normalize_before", "encoder_normalize_before", "decoder_normalize_before", "pre_norm", "norm_first",
    "do_layer_norm_before", "pre_layer_norm",
)  # fmt: skip
_POST_NORM = ("apply_residual_connection_post_layernorm", "post_norm", "post_layer_norm")
_LISTED = "["  # in the key of a setting that one of several layers has


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``config.design.*``."""
    std, hidden = view.setting(*_INIT), view.setting(*_HIDDEN)
    spread = None if std is None else number(std.value)
    size = None if hidden is None else number(hidden.value)
    if std is not None and hidden is not None and spread and size and size > 0:
        # Large pre-trainings diverge above sqrt(2 / (5 * hidden)).
        out.put("init_std_over_limit", spread / math.sqrt(2.0 / (5.0 * size)), [std.ref, hidden.ref])
    _put_whole(out, "layers", view.setting(*_LAYERS))
    _norms(out, view)
    _units(out, view)


def _units(out: FactWriter, view: RunView) -> None:
    """What the hidden units are and how many a layer has; in lists of layers each has its own, of which one says nothing."""
    _put_whole(out, "width", _of_all(view, _WIDTH))
    _put_whole(out, "depth", _of_all(view, _DEPTH))
    activation, norm = _of_all(view, _ACTIVATION), _of_all(view, _BATCH_NORM)
    if activation is not None and isinstance(activation.value, str):
        out.put("activation", activation.value.strip().rpartition(".")[2].lower(), [activation.ref])
    if norm is not None and (is_used := truth(norm.value)) is not None:
        out.put("batch_norm", is_used, [norm.ref])


def _of_all(view: RunView, names: tuple[str, ...]) -> ConfigValue | None:
    """A setting that is that of all layers."""
    found = view.setting(*names)
    return None if found is None or _LISTED in found.key_in_source else found


def _put_whole(out: FactWriter, name: str, setting: ConfigValue | None) -> None:
    """A fact for a whole number of at least one."""
    value = None if setting is None else number(setting.value)
    if setting is not None and value is not None and value.is_integer() and value >= 1:
        out.put(name, int(value), [setting.ref])


def _norms(out: FactWriter, view: RunView) -> None:
    before, after = view.setting(*_PRE_NORM), view.setting(*_POST_NORM)
    if before is not None and (is_before := truth(before.value)) is not None:
        out.put("post_norm", not is_before, [before.ref])
    elif after is not None and (is_after := truth(after.value)) is not None:
        out.put("post_norm", is_after, [after.ref])
