"""What a PyTorch script plainly says of its loss, of what the model ends in, and of the loop that trains."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from analyzer.ingest.formats.config.script_nodes import ScriptParts, called, keyword, last_name, literal
from analyzer.ingest.formats.config.script_statements import in_order

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
    clears = any(called(node) in _CLEARS or _names_gradient(node) for node in order)
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


def _names_gradient(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "grad"


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
