"""What a training script plainly says: its layers, losses, optimizers and loop, found in its syntax trees.

Only literals and the names of what is called count; nothing is run, imported or looked up. What a variable holds
is known where it was assigned a literal or a call above.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from analyzer.ingest.formats.config.script_statements import in_order
from analyzer.model.config import ConfigScalar
from analyzer.record import dataclass, field

# What a PyTorch script plainly says of its loss, of what the model ends in, and of the loop that trains.
LOSSES = {
    "CrossEntropyLoss": "cross_entropy", "cross_entropy": "cross_entropy", "NLLLoss": "nll", "nll_loss": "nll",
    "BCELoss": "bce", "binary_cross_entropy": "bce", "BCEWithLogitsLoss": "bce_with_logits",
    "binary_cross_entropy_with_logits": "bce_with_logits", "MSELoss": "mse", "mse_loss": "mse",
}  # fmt: skip
_ENDS = {
    "softmax": "softmax", "Softmax": "softmax", "log_softmax": "log_softmax", "LogSoftmax": "log_softmax",
    "sigmoid": "sigmoid", "Sigmoid": "sigmoid",
}  # fmt: skip
_CLEARS = frozenset({"zero_grad", "zero_", "clear_grad", "clear_gradients"})
_KEEPS_ORDER = ("sampler", "batch_sampler")
_MODELS = frozenset({"model", "net", "network", "classifier", "cnn", "mlp"})


def read_loop(order: list[ast.AST], parts: ScriptParts) -> None:
    """Note loss, end and loop of a script that uses PyTorch; of any other nothing."""
    if not any(_names_torch(node) for node in order):
        return
    clears = any(called(node) in _CLEARS or getattr(node, "attr", "") == "grad" for node in order)
    for node in order:
        kind = LOSSES.get(called(node))
        if kind is not None:
            parts.add("loss", kind, node)
        if isinstance(node, ast.Assign) and called(node.value) == "DataLoader":
            _loader(node, parts)
        if isinstance(node, ast.For):
            _loop(node, clears, parts)
    _end(order, parts)


def _names_torch(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name.split(".")[0] == "torch" for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").split(".")[0] == "torch"
    return isinstance(node, ast.Name) and node.id == "torch"


def _loader(node: ast.Assign, parts: ScriptParts) -> None:
    """A loader whose name says that it is for training: PyTorch keeps the order unless told otherwise."""
    call = node.value
    if not isinstance(call, ast.Call) or "train" not in last_name(node.targets[0]).lower():
        return
    if keyword(call, *_KEEPS_ORDER) is not None or len(call.args) > 2:
        return
    shuffle = keyword(call, "shuffle")
    parts.add("shuffles_training", False if shuffle is None else literal(shuffle), node)


def _end(order: list[ast.AST], parts: ScriptParts) -> None:
    """What the output of the model has passed through last, where one class is plainly the model."""
    classes = {node.name: node for node in order if isinstance(node, ast.ClassDef) and _forward(node)}
    chosen = [
        classes[called(node.value)]
        for node in order
        if isinstance(node, ast.Assign)
        and last_name(node.targets[0]).lower() in _MODELS
        and called(node.value) in classes
    ]
    for model in dict.fromkeys(chosen) or (list(classes.values()) if len(classes) == 1 else []):
        end = _end_of_class(model)
        if end is not None:
            parts.add("last_activation", end[0], end[1])


def _forward(node: ast.ClassDef) -> ast.FunctionDef | None:
    return next((f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "forward"), None)


def _end_of_class(model: ast.ClassDef) -> tuple[str, ast.AST] | None:
    forward = _forward(model)
    inside = [] if forward is None else list(in_order(list(forward.body)))
    returns = [node for node in inside if isinstance(node, ast.Return) and node.value is not None]
    if len(returns) != 1 or returns[0].value is None:
        return None
    value: ast.expr = returns[0].value
    if isinstance(value, ast.Name):
        given = [n.value for n in inside if isinstance(n, ast.Assign) and last_name(n.targets[0]) == value.id]
        if not given:
            return None
        value = given[-1]
    held = {
        node.targets[0].attr: node.value
        for node in in_order(list(model.body))
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute)
    }
    return _end_of(value, held)


def _end_of(value: ast.expr, held: dict[str, ast.expr]) -> tuple[str, ast.AST] | None:
    """The known function that a value comes from: itself, a module of the class, or the last one of a sequence."""
    name = called(value)
    if name in _ENDS:
        return _ENDS[name], value
    made = held.get(name)
    if called(made) == "Sequential" and isinstance(made, ast.Call) and made.args:
        made = made.args[-1]
    if made is None:
        return None
    kind = called(made)
    return (_ENDS[kind], made) if kind in _ENDS else ("linear", made) if kind == "Linear" else None


def _loop(loop: ast.For, clears: bool, parts: ScriptParts) -> None:
    """A loop in which the backward pass and the step of the optimizer both stand."""
    inside = list(in_order(list(loop.body)))
    if any(isinstance(node, ast.For) and _calls(node, "backward") for node in inside):
        return  # the loop within it is the one over batches
    if not _calls(loop, "backward") or not _calls(loop, "step"):
        return
    parts.add("clears_gradients", clears, loop)
    stepped = {name for name, _ in _receivers(inside, "backward")}
    for node in inside:
        kept = _kept(node)
        if kept is not None and kept[1] in stepped and kept[0] not in stepped:
            parts.add("keeps_graph", True, node)


def _calls(node: ast.For, name: str) -> bool:
    return any(called(inner) == name for inner in in_order(list(node.body)))


def _receivers(nodes: list[ast.AST], method: str) -> Iterator[tuple[str, ast.AST]]:
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method:
            yield last_name(node.func.value), node


def _kept(node: ast.AST) -> tuple[str, str] | None:
    """Target and name of ``total += loss`` and ``losses.append(loss)``, which hold the graph of every batch."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.value, ast.Name):
        return last_name(node.target), node.value.id
    if called(node) == "append" and isinstance(node, ast.Call) and len(node.args) == 1:
        given = node.args[0]
        if isinstance(given, ast.Name) and isinstance(node.func, ast.Attribute):
            return last_name(node.func.value), given.id
    return None


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


LARGEST_INTEGER = 1 << 64
"""A literal beyond 64 bits is no setting: it would be refused or overflow wherever it is compared."""


@dataclass
class Part:
    """A plain statement of the script: a value and its line."""

    value: ConfigScalar
    line: int


@dataclass
class ScriptParts:
    """Everything found, under the keys with which it is recorded; a key with two different values says nothing."""

    found: dict[str, list[Part]] = field(default_factory=dict)

    def add(self, key: str, value: ConfigScalar, node: ast.AST) -> None:
        """Note one value where it stands."""
        if value is not None:
            self.found.setdefault(key, []).append(Part(value, getattr(node, "lineno", 1)))

    def agreed(self) -> Iterator[tuple[str, Part]]:
        """Keys all of whose values are alike, with the first place."""
        for key, parts in self.found.items():
            if len({(type(part.value), part.value) for part in parts}) == 1:
                yield key, parts[0]


def called(node: ast.AST | None) -> str:
    """Last name of what is called, "" for anything else.

    >>> called(ast.parse("nn.functional.softmax(x)").body[0].value)
    'softmax'
    """
    return last_name(node.func) if isinstance(node, ast.Call) else ""


def last_name(node: ast.AST) -> str:
    """``d`` of ``a.b.d`` and of ``d``."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def keyword(call: ast.Call, *names: str) -> ast.expr | None:
    """The value of the first keyword of one of the names."""
    return next((word.value for word in call.keywords if word.arg in names), None)


def literal(node: ast.AST | None) -> ConfigScalar:
    """A finite number, a word or a truth value; None for anything else."""
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = -1, node.operand
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, (bool, str)):
        return value if sign > 0 else None
    if isinstance(value, int):
        return sign * value if value <= LARGEST_INTEGER else None
    return sign * value if isinstance(value, float) and math.isfinite(value) else None
