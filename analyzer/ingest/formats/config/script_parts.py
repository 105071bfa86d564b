"""What a training script plainly says: its layers, losses, optimizers and loop, found in its syntax trees.

Only literals and the names of what is called count; nothing is run, imported or looked up. What a variable holds
is known where it was assigned a literal or a call above.
"""

from __future__ import annotations

import ast

from analyzer.ingest.formats.config.script_loop import read_loop
from analyzer.ingest.formats.config.script_nodes import ScriptParts, called, keyword, last_name, literal
from analyzer.ingest.formats.config.script_statements import in_order
from analyzer.model.config import ConfigScalar

OPTIMIZERS = frozenset(
    {"adam", "adamw", "sgd", "rmsprop", "adagrad", "adadelta", "adamax", "nadam", "radam", "gradientdescentoptimizer", "adamoptimizer"}
)  # fmt: skip
KERAS_LOSSES = {
    "categoricalcrossentropy": "categorical_crossentropy", "sparsecategoricalcrossentropy": "sparse_categorical_crossentropy",
    "binarycrossentropy": "binary_crossentropy", "mse": "mse", "meansquarederror": "mse",
}  # fmt: skip
_SCALES = frozenset(
    {
        "Normalize", "Rescaling", "StandardScaler", "MinMaxScaler", "RobustScaler", "MaxAbsScaler", "normalize",
        "preprocess_input", "ToTensor", "Normalization", "BatchNormalization", "minmax_scale", "per_image_standardization",
        "to_tensor", "scale", "zscore",
    }
)  # fmt: skip
_LOADS = frozenset(
    {
        "flow_from_directory", "flow_from_dataframe", "image_dataset_from_directory", "imread", "load_img", "read_csv",
        "read_excel", "load_data",
    }
)  # fmt: skip
_SHUFFLES = frozenset(
    {"shuffle", "permutation", "train_test_split", "sample", "StratifiedKFold", "KFold", "random_split"}
)
_CLASSES = {
    "mnist": 10,
    "fashion_mnist": 10,
    "fashionmnist": 10,
    "kmnist": 10,
    "cifar10": 10,
    "cifar100": 100,
}
"""Data sets whose number of classes everybody knows."""


def collect(nodes: list[ast.stmt]) -> ScriptParts:
    """What the statements say."""
    parts, order = ScriptParts(), list(in_order(nodes))
    names = {
        node.targets[0].id: node.value
        for node in order
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
    }
    _keras(order, names, parts)
    _optimizers(order, names, parts)
    _data(order, parts)
    read_loop(order, parts)
    return parts


_HEADS = frozenset({"Dense", "Conv1D", "Conv2D", "Conv3D", "Convolution2D"})
_NO_HEADS = frozenset({"LSTM", "GRU", "SimpleRNN", "Bidirectional", "Embedding"})


def _keras(order: list[ast.AST], names: dict[str, ast.expr], parts: ScriptParts) -> None:
    """Head, loss and fit of a Keras script: the last layer that stands before ``compile``."""
    head: dict[str, tuple[ConfigScalar, ast.AST]] = {}
    for node in order:
        if not isinstance(node, ast.Call):
            continue
        name = "" if _own(node.func) else called(node)
        if name in _HEADS:
            units = literal(keyword(node, "units") or (node.args[0] if node.args else None))
            head = {"last_units": (units, node), "last_activation": (_activation(node), node)}
        elif name in {"Activation", "Softmax"}:
            word = (
                "softmax"
                if name == "Softmax"
                else _word(node.args[0] if node.args else keyword(node, "activation"))
            )
            head["last_activation"] = (word, node)
        elif name in _NO_HEADS:
            head = {}  # what was seen before is not the last layer
        elif name == "compile" and (
            keyword(node, "loss") is not None or keyword(node, "optimizer") is not None
        ):
            for key, (value, place) in head.items():
                parts.add(key, value, place)
            _compiled(node, names, parts)
        elif name in {"fit", "fit_generator"}:
            _fitted(node, parts)


def _own(node: ast.expr) -> bool:
    """``self.Dense``: a layer made elsewhere, whatever the class calls it."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _word(node: ast.AST | None) -> ConfigScalar:
    """A name given as text, as ``tf.nn.relu`` or as a bare name."""
    if node is None:
        return None
    said = literal(node)
    return said.lower() if isinstance(said, str) else (last_name(node).lower() or None)


def _activation(node: ast.Call) -> ConfigScalar:
    given = keyword(node, "activation") or (node.args[1] if len(node.args) > 1 else None)
    if given is None or (isinstance(given, ast.Constant) and given.value is None):
        return "linear"
    return _word(given)


def _compiled(node: ast.Call, names: dict[str, ast.expr], parts: ScriptParts) -> None:
    loss = _resolved(keyword(node, "loss"), names)
    word = called(loss) if isinstance(loss, ast.Call) else _word(loss)
    if isinstance(word, str) and word:
        plain = word.lower().replace("_", "")
        parts.add("loss", KERAS_LOSSES.get(plain, word.lower()), node)
        flag = literal(keyword(loss, "from_logits")) if isinstance(loss, ast.Call) else False
        parts.add("from_logits", bool(flag), node)
    optimizer = _resolved(keyword(node, "optimizer"), names)
    if isinstance(optimizer, ast.Constant) and isinstance(optimizer.value, str):
        parts.add("optimizer", optimizer.value.lower(), node)


def _resolved(node: ast.expr | None, names: dict[str, ast.expr]) -> ast.expr | None:
    return names.get(node.id, node) if isinstance(node, ast.Name) else node


def _fitted(node: ast.Call, parts: ScriptParts) -> None:
    split = literal(keyword(node, "validation_split"))
    if isinstance(split, (int, float)) and split > 0:
        parts.add("validation_split", float(split), node)
    if len(node.args) > 1 and isinstance(node.args[0], ast.Name) and isinstance(node.args[1], ast.Name):
        parts.add("targets_are_inputs", node.args[0].id == node.args[1].id, node)
    if literal(keyword(node, "shuffle")) is False:
        parts.add("shuffles_training", False, node)


def _optimizers(order: list[ast.AST], names: dict[str, ast.expr], parts: ScriptParts) -> None:
    """Name and rate of what is called like an optimizer."""
    for node in order:
        name = called(node).lower()
        if name in OPTIMIZERS and isinstance(node, ast.Call):
            parts.add("optimizer", name.removesuffix("optimizer"), node)
            given = keyword(node, "lr", "learning_rate")
            if given is None and node.args and isinstance(literal(node.args[0]), float):
                given = node.args[0]  # Keras and TensorFlow take it first
            rate = literal(_resolved(given, names))
            if isinstance(rate, (int, float)) and not isinstance(rate, bool) and rate > 0:
                parts.add("learning_rate", float(rate), node)
            else:
                parts.add("learning_rate", "unknown" if given is not None else None, node)


def _data(order: list[ast.AST], parts: ScriptParts) -> None:
    """Whether inputs are scaled and shuffled, and how many classes a well-known data set has."""
    scales = loads = shuffles = None
    for node in order:
        name = called(node) or (last_name(node) if isinstance(node, (ast.Name, ast.Attribute)) else "")
        if name in _SCALES or _divides_pixels(node):
            scales = scales or node
        if name in _LOADS:
            loads = loads or node
        if name in _SHUFFLES:
            shuffles = shuffles or node
        if name.lower() in _CLASSES and isinstance(node, (ast.Name, ast.Attribute, ast.Call)):
            parts.add("classes", _CLASSES[name.lower()], node)
        if isinstance(node, ast.Call) and literal(keyword(node, "rescale")) is not None:
            scales = scales or node
    if scales is not None:
        parts.add("scales_inputs", True, scales)
    elif loads is not None:
        parts.add("scales_inputs", False, loads)
    if shuffles is not None:
        parts.add("shuffles", True, shuffles)


def _divides_pixels(node: ast.AST) -> bool:
    """``x / 255`` and ``x * (1 / 255)``, also in place."""
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.Div):
        by = literal(node.right if isinstance(node, ast.BinOp) else node.value)
        return by in {255, 256, 127.5, 128}
    return False
