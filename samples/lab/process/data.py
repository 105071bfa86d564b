"""Data, settings and files of the healthy runs: small, learnable, drawn from a seed."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

RESUME_AT = 100
WORDS = 300
SPECIAL = {"<unk>": 0, "<s>": 1, "</s>": 2, "<pad>": 3}


def _loop(rng: random.Random) -> dict[str, Any]:
    """Settings of scripts/loop.py."""
    optimizer = rng.choice(("AdamW", "Adam", "SGD"))
    return {
        "model": "mlp",
        "data": "data/train.jsonl",
        "classes": 10,
        "layers": rng.randint(2, 4),
        "width": rng.choice((64, 96, 128)),
        "inplace_residual": False,
        "optimizer": optimizer,
        "learning_rate": rng.choice((0.02, 0.05)) if optimizer == "SGD" else rng.choice((5e-4, 1e-3, 2e-3)),
        "max_grad_norm": 1.0,
        "weights_dtype": "float32",
        "amp": False,
        "batch_size": rng.choice((32, 48, 64)),
        "epochs": rng.randint(6, 9),
        "num_workers": 2,
        "keep_outputs": False,
        "log_every": rng.choice((5, 10, 20)),
        "save_every": rng.choice((40, 60)),
        "init_from": None,
        "output_dir": "results",
        "metrics_file": "metrics.csv",
        "seed": rng.randint(1, 10_000),
    }


def _training(rng: random.Random, steps: int, rates: tuple[float, ...]) -> dict[str, Any]:
    """TrainingArguments of the Trainer scripts."""
    return {
        "output_dir": "output",
        "max_steps": steps,
        "per_device_train_batch_size": rng.choice((8, 16)),
        "learning_rate": rng.choice(rates),
        "lr_scheduler_type": rng.choice(("linear", "cosine", "constant")),
        "logging_steps": rng.choice((1, 2, 5)),
        "save_strategy": "no",
        "report_to": rng.choice(("none", "tensorboard")),
        "disable_tqdm": rng.choice((False, True)),
        "seed": rng.randint(1, 10_000),
    }


def _finetune(rng: random.Random) -> dict[str, Any]:
    """Settings of scripts/finetune.py."""
    hidden = rng.choice((32, 48, 64))
    model = {
        "vocab_size": WORDS + len(SPECIAL),
        "hidden_size": hidden,
        "intermediate_size": 2 * hidden,
        "num_hidden_layers": rng.randint(2, 3),
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 64,
    }
    return {
        "data": "data/train.jsonl",
        "tokenizer": "tokenizer",
        "max_length": 48,
        "torch_dtype": "float32",
        "resume_from_checkpoint": None,
        "model": model,
        "training": _training(rng, rng.choice((60, 80, 100)), (1e-3, 2e-3)),
    }


def _tabular(rng: random.Random) -> dict[str, Any]:
    """Settings of scripts/tabular.py."""
    return {
        "data": "data/table.npz",
        "width": rng.choice((32, 64)),
        "layers": rng.randint(2, 3),
        "training": _training(rng, rng.choice((120, 160, 200)), (1e-3, 2e-3)),
    }


def _ranks(rng: random.Random) -> dict[str, Any]:
    """Settings of scripts/ranks.py."""
    return {
        "data": "data",
        "classes": 10,
        "width": rng.choice((32, 64)),
        "auxiliary_head": False,
        "learning_rate": rng.choice((1e-3, 3e-3)),
        "batch_size_per_rank": rng.choice((16, 32)),
        "epochs": 2,
        "log_every": rng.choice((5, 10)),
        "timeout_s": rng.choice((5, 6, 7)),
        "seed": rng.randint(1, 10_000),
    }


SETTINGS = {"loop": _loop, "finetune": _finetune, "tabular": _tabular, "ranks": _ranks}
RANKS = (2, 2, 3)


def labelled(draw: np.random.Generator, count: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Points around one centre a class: values of shape (count, 24), labels of shape (count,)."""
    centres = np.random.default_rng(7).normal(size=(10, 24))
    labels = draw.integers(0, 10, count)
    return (centres[labels] + draw.normal(size=(count, 24))).astype(np.float32), labels


def write_records(path: Path, draw: np.random.Generator, count: int = 1536) -> None:
    """JSON lines for scripts/loop.py."""
    values, labels = labelled(draw, count)
    rows = zip(values.round(4).tolist(), labels.tolist(), strict=True)
    lines = [json.dumps({"id": i, "label": label, "values": row}) for i, (row, label) in enumerate(rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_pictures(folder: Path, draw: np.random.Generator, count: int = 768) -> None:
    """PNG files and labels.csv for scripts/loop.py."""
    from PIL import Image  # only where pictures are made

    patterns = np.random.default_rng(7).random((10, 16, 16))
    rows = ["file,label"]
    for index, label in enumerate(draw.integers(0, 10, count).tolist()):
        noisy = patterns[label] * 160 + draw.random((16, 16)) * 90
        Image.fromarray(noisy.astype(np.uint8)).save(folder / f"{index:05d}.png")
        rows.append(f"{index:05d}.png,{label}")
    (folder / "labels.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")


def write_texts(folder: Path, draw: np.random.Generator, count: int = 600) -> None:
    """Sentences of a sparse random chain of words."""
    following = np.random.default_rng(7).integers(0, WORDS, (WORDS, 4))
    lines = []
    for length in draw.integers(16, 48, count).tolist():
        words = [int(draw.integers(0, WORDS))]
        for choice in draw.integers(0, 4, length - 1).tolist():
            words.append(int(following[words[-1], choice]))
        lines.append(json.dumps({"text": " ".join(f"w{word}" for word in words)}))
    (folder / "train.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_tokenizer(folder: Path, *, pad: bool = True, added: int = 0) -> None:
    """A tokenizer of one token a word, as a hub publishes it.

    Args:
        folder: Where tokenizer.json and tokenizer_config.json go.
        pad: Whether a pad token is named.
        added: How many of the words are tokens that were added behind the vocabulary.
    """
    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers  # only where a tokenizer is made

    folder.mkdir(exist_ok=True)
    vocab = SPECIAL | {f"w{i}": i + len(SPECIAL) for i in range(WORDS - added)}
    core = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.add_special_tokens([AddedToken(name, special=True) for name in SPECIAL])
    core.add_tokens([AddedToken(f"w{i}", single_word=True) for i in range(WORDS - added, WORDS)])
    core.save(str(folder / "tokenizer.json"))
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"} | (
        {"pad_token": "<pad>"} if pad else {}
    )
    kind = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 64}
    (folder / "tokenizer_config.json").write_text(json.dumps(names | kind, indent=2) + "\n", encoding="utf-8")


def write_table(path: Path, draw: np.random.Generator, count: int = 4000) -> None:
    """A regression table: `values` (count, 12), `target` (count,)."""
    values = draw.normal(size=(count, 12)).astype(np.float32)
    weights = np.random.default_rng(7).normal(size=12)
    target = np.tanh(values @ weights) + 0.1 * draw.normal(size=count)
    np.savez(path, values=values, target=target.astype(np.float32))


def write_shards(folder: Path, draw: np.random.Generator, sizes: list[int], validation: int = 64) -> None:
    """One file per rank, and the validation records of rank 0."""
    for rank, size in enumerate(sizes):
        values, labels = labelled(draw, size)
        np.savez(folder / f"shard-{rank:02d}.npz", values=values, labels=labels)
    values, labels = labelled(draw, validation)
    np.savez(folder / "validation.npz", values=values, labels=labels)


def prepare(run_dir: Path, script: str, settings: dict[str, Any], ranks: int, seed: int) -> None:
    """Write the healthy data of one run."""
    draw = np.random.default_rng(seed)
    folder = run_dir / "data"
    folder.mkdir()
    if script == "loop" and settings["model"] == "cnn":
        settings["data"] = "data"
        write_pictures(folder, draw)
    elif script == "loop":
        write_records(folder / "train.jsonl", draw)
    elif script == "finetune":
        write_texts(folder, draw)
        write_tokenizer(run_dir / "tokenizer")
    elif script == "tabular":
        write_table(folder / "table.npz", draw)
    else:
        write_shards(folder, draw, [1280] * ranks)


def write_settings(run_dir: Path, settings: dict[str, Any]) -> None:
    """train_config.yaml, keys in the order of the script's settings."""
    (run_dir / "train_config.yaml").write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
