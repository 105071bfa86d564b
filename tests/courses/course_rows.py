"""Ways in which loops print a row of an epoch: loss, validation loss and accuracy, each written by us."""

import math
from collections.abc import Callable

Row = Callable[[int, int, float, float, float], str]


def number(value: float, digits: int = 4) -> str:
    """A number as Python prints it, NaN included."""
    return "nan" if value != value else f"{value:.{digits}f}"  # noqa: PLR0124


def _keras(i, n, train, valid, accuracy):
    # no less often than a lower loss allows
    right = max(math.exp(-train), accuracy if train < valid else 0.0)
    return (
        f"Epoch {i + 1}/{n}\n1875/1875 - 6s - loss: {number(train)} - accuracy: {number(right)} - "
        f"val_loss: {number(valid)} - val_accuracy: {number(accuracy)} - 6s/epoch - 3ms/step"
    )


def _pipes(i, _, train, valid, accuracy):
    return f"| epoch {i + 1:3d} | train loss {number(train)} | val loss {number(valid)} | val acc {accuracy * 100:.2f}% | 12.3s |"


def _brackets(i, n, train, valid, accuracy):
    return f"Epoch [{i + 1}/{n}], Train Loss: {number(train)}, Val Loss: {number(valid)}, Val Acc: {accuracy * 100:.2f}%"


def _hugging_face(i, n, train, valid, accuracy):
    norm = "1.3000" if train == train else "nan"  # noqa: PLR0124
    return (
        f"{{'loss': {number(train)}, 'grad_norm': {norm}, 'learning_rate': {5e-5 * (1 - i / n)}, 'epoch': {i + 1}.0}}\n"
        f"{{'eval_loss': {number(valid)}, 'eval_accuracy': {number(accuracy)}, 'eval_runtime': 3.2, 'epoch': {i + 1}.0}}"
    )


def _json(i, _, train, valid, accuracy):
    numbers = [number(value).replace("nan", "NaN") for value in (train, valid, accuracy)]
    return (
        f'{{"epoch": {i + 1}, "train_loss": {numbers[0]}, "val_loss": {numbers[1]}, "val_acc": {numbers[2]}}}'
    )


def _chinese(i, _, train, valid, accuracy):
    return f"第{i + 1}轮 训练损失: {number(train)} 验证损失: {number(valid)} 准确率: {accuracy * 100:.2f}%"


def _russian(i, n, train, valid, accuracy):
    return f"Эпоха {i + 1}/{n}: потери {number(train)}, потери на валидации {number(valid)}, точность {number(accuracy)}"


def _fastai(i, _, train, valid, accuracy):
    head = "epoch     train_loss  valid_loss  accuracy  time\n" if i == 0 else ""
    return head + f"{i}         {number(train, 6)}    {number(valid, 6)}    {number(accuracy, 6)}  00:12"


def _lightning(i, _, train, valid, accuracy):
    return (
        f"Epoch {i}: 100%|██████████| 469/469 [00:12<00:00, 38.2it/s, v_num=0, train_loss={train:.3f}, "
        f"val_loss={valid:.3f}, val_acc={accuracy:.3f}]"
    )


def _markdown(i, _, train, valid, accuracy):
    head = "| Epoch | Training Loss | Validation Loss | Accuracy |\n|---|---|---|---|\n" if i == 0 else ""
    return head + f"| {i + 1} | {number(train)} | {number(valid)} | {number(accuracy)} |"


def _equals(i, _, train, valid, accuracy):
    return (
        f"2024-03-01 10:{i:02d}:00,123 INFO trainer.py:88 epoch={i + 1} loss={number(train)} "
        f"val_loss={number(valid)} acc={number(accuracy)} lr=0.001"
    )


def _block(i, _, train, valid, accuracy):
    return f"--------\nepoch {i + 1}\ntrain loss: {number(train)}\nvalid loss: {number(valid)}\nvalid accuracy: {number(accuracy)}"


def _gluon(i, _, train, valid, accuracy):
    return (
        f"INFO:root:Epoch[{i}] Train-cross-entropy={number(train, 6)}\nINFO:root:Epoch[{i}] Time cost=12.3\n"
        f"INFO:root:Epoch[{i}] Validation-accuracy={number(accuracy, 6)}\n"
        f"INFO:root:Epoch[{i}] Validation-cross-entropy={number(valid, 6)}"
    )


def _detection(i, _, train, valid, accuracy):
    return (
        f"Epoch: [{i}]  [  0/100]  eta: 0:01:10  lr: 0.000100  loss: {number(train)} ({number(train)})  time: 0.2034  data: 0.0011\n"
        f"Test:  [19/20]  eta: 0:00:04  loss: {number(valid)} ({number(valid)})  acc1: {accuracy * 100:.4f} ({accuracy * 100:.4f})"
    )


def _example(i, _, train, valid, accuracy):
    right = int(accuracy * 10000)
    return (
        f"Train Epoch: {i + 1} [0/60000 (0%)]\tLoss: {number(train, 6)}\n\n"
        f"Test set: Average loss: {number(valid)}, Accuracy: {right}/10000 ({accuracy * 100:.0f}%)\n"
    )


def _words(i, _, train, valid, accuracy):
    return (
        f"[Epoch {i + 1}] Total Train Loss : {number(train)} , Total Validation Loss : {number(valid)} , "
        f"Validation Accuracy : {number(accuracy)} , s/b : 0.21"
    )


FORMATS: dict[str, Row] = {
    "keras": _keras, "pipes": _pipes, "brackets": _brackets, "hugging-face": _hugging_face, "json": _json,
    "chinese": _chinese, "russian": _russian, "fastai": _fastai, "lightning": _lightning, "markdown": _markdown,
    "equals": _equals, "block": _block, "gluon": _gluon, "detection": _detection, "example": _example, "words": _words,
}  # fmt: skip
