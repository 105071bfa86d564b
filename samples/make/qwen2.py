"""Incident: full fine-tuning of a bf16-born Qwen2 in fp16: loss 0, grad_norm nan from step 1.

The cause: one channel of the residual stream holds a massive activation at the first token of
every sequence (about 119,000, against less than 1 elsewhere), as trained models have. bf16 and fp32
hold it; fp16 ends at 65504, so an MLP's output becomes inf, RMSNorm makes NaN of it, every logit
and the loss are NaN, which Trainer prints as 0. GradScaler skips every step.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from .common import (
    Source,
    cached,
    copy_model,
    new_run_dir,
    publish,
    run_training,
    trainer_summary,
    write_source,
    write_yaml,
)
from .tiny_models import (
    CHATML,
    FIRST_WORD,
    MarkovData,
    make_tokenizer,
    pretrain,
    qwen2,
    save_published,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from transformers import PreTrainedTokenizerFast, Qwen2ForCausalLM

SCRIPT = Path(__file__).with_name("qwen2_train.py")
IM_START, IM_END, END_OF_TEXT, USER, ASSISTANT = 1, 2, 3, 510, 511
LAYER = 1  # whose MLP writes the massive activation
NEURON = 0
CHANNEL = 17
MASSIVE = 119_000.0  # what it writes there; fp16 ends at 65504
PLANT_AT = 50  # pretraining step
ASKED, ANSWERED = 20, 40  # words of a question and of an answer

CONFIG: dict[str, Any] = {
    "model_name_or_path": "model",
    "attn_implementation": "sdpa",
    "dataset": "train.jsonl",
    "max_length": 96,
    "output_dir": "outputs",
    "run_name": "qwen2-sft",
    "fp16": True,
    "bf16": False,
    "per_device_train_batch_size": 4,
    "gradient_accumulation_steps": 1,
    "learning_rate": 1.0e-3,
    "lr_scheduler_type": "cosine",
    "warmup_steps": 5,
    "max_steps": 60,
    "max_grad_norm": 1.0,
    "optim": "adamw_torch",
    "weight_decay": 0.0,
    "logging_steps": 2,
    "save_strategy": "no",
    "report_to": ["tensorboard", "wandb"],
    "disable_tqdm": True,
    "use_cpu": True,
    "seed": 42,
}

# Offline, and nothing about the machine in the binary record.
WANDB = {
    "WANDB_MODE": "offline",
    "WANDB_PROJECT": "qwen2-sft",
    "WANDB_DISABLE_GIT": "true",
    "WANDB__DISABLE_META": "true",
    "WANDB__DISABLE_STATS": "true",
    "WANDB__DISABLE_MACHINE_INFO": "true",
}

KEEP = (
    "train.log",
    "train.py",
    "train_config.yaml",
    "outputs/trainer_state.json",
    "outputs/runs/*/events.out.tfevents.*",
    "wandb/offline-run-*/**/*",
    "model/config.json",
    "model/generation_config.json",
    "model/tokenizer*.json",
    "model/chat_template.jinja",
)


def _tokenizer() -> PreTrainedTokenizerFast:
    """Qwen2's special tokens; as in Qwen2, id 0 is an exclamation mark."""
    special = {"<|im_start|>": IM_START, "<|im_end|>": IM_END, "<|endoftext|>": END_OF_TEXT}
    return make_tokenizer(
        special,
        bos=None,
        eos="<|im_end|>",
        pad="<|endoftext|>",
        plain={"!": 0},
        chat_template=CHATML,
    )


def _chats(count: int, seed: int) -> torch.Tensor:
    """Chats as token ids: one question and its answer."""
    rows = MarkovData(count, ASKED + ANSWERED, seed=seed).stacked()

    def column(token: int) -> torch.Tensor:
        return torch.full((count, 1), token)

    turn, end = column(IM_START), column(IM_END)
    asked, answered = rows[:, :ASKED], rows[:, ASKED:]
    return torch.cat([turn, column(USER), asked, end, turn, column(ASSISTANT), answered, end], dim=1)


def _mlp_rows(model: Qwen2ForCausalLM, ids: torch.Tensor, output: bool) -> torch.Tensor:
    """What the chosen MLP reads (or writes), one row per token."""
    seen: list[torch.Tensor] = []

    def keep(_module: Any, args: tuple[torch.Tensor, ...], result: torch.Tensor) -> None:
        seen.append(result if output else args[0])

    hook = model.model.layers[LAYER].mlp.register_forward_hook(keep)
    with torch.no_grad():
        model(input_ids=ids)
    hook.remove()
    return seen[0].detach().reshape(-1, seen[0].shape[-1])


def _plant_neuron(model: Qwen2ForCausalLM, ids: torch.Tensor) -> None:
    """Make one MLP neuron fire at the token that opens a turn, and nowhere else."""
    rows = _mlp_rows(model, ids, output=False)
    opens = ids.reshape(-1) == IM_START
    weight = torch.where(opens, 50.0, 1.0)[:, None]
    left, right = rows * weight, opens.float()[:, None] * weight
    size = rows.shape[1]
    direction = torch.linalg.solve(left.T @ left + 0.1 * torch.eye(size), left.T @ right)[:, 0]
    direction = direction / (rows[opens].mean(0) @ direction) * 300
    mlp = model.model.layers[LAYER].mlp
    with torch.no_grad():
        mlp.gate_proj.weight[NEURON] = direction
        mlp.up_proj.weight[NEURON] = direction
        mlp.down_proj.weight[:, NEURON] = 0
        mlp.down_proj.weight[CHANNEL, NEURON] = 1.2


def _build_base(path: Path) -> None:
    """Pretrain the tiny Qwen2 with the neuron in place, then raise its output to MASSIVE.

    The last step changes nothing in fp32 and bf16: RMSNorm does not see the scale.
    """
    torch.manual_seed(0)
    model = qwen2(layers=4, bos_token_id=None, eos_token_id=IM_END, pad_token_id=END_OF_TEXT)
    ids = _chats(256, seed=0)

    def before_step(step: int) -> None:
        if step == PLANT_AT:
            _plant_neuron(model, ids[:16])

    pretrain(model, ids, before_step=before_step)
    written = _mlp_rows(model, ids[:16], output=True)[:, CHANNEL].abs().max()
    with torch.no_grad():
        model.model.layers[LAYER].mlp.down_proj.weight[CHANNEL, NEURON] *= MASSIVE / written
    save_published(model, _tokenizer(), path, torch.bfloat16)


def _write_data(path: Path) -> None:
    """Chats in a style of our own: every fourth word of an answer is one of eight."""
    tokenizer = _tokenizer()
    with path.open("w", encoding="utf-8") as out:
        for row in MarkovData(512, ASKED + ANSWERED, seed=3).rows:
            asked, answered = row[:ASKED], row[ASKED:].clone()
            answered[3::4] = FIRST_WORD + answered[3::4] % 8
            messages = [
                {"role": "user", "content": tokenizer.decode(asked)},
                {"role": "assistant", "content": tokenizer.decode(answered)},
            ]
            out.write(json.dumps({"messages": messages}) + "\n")


def _make(dest: Path, title: str, point: str, changes: dict[str, Any]) -> None:
    """Train with the failed run's configuration plus `changes`, and publish the run."""
    run_dir = new_run_dir(dest.name)
    copy_model(cached("qwen2", _build_base), run_dir)
    config = CONFIG | changes
    write_yaml(run_dir / "train_config.yaml", config)
    _write_data(run_dir / "train.jsonl")
    result = run_training(SCRIPT, run_dir, env=WANDB)
    publish(run_dir, dest, KEEP)
    summary = trainer_summary(dest / "outputs" / "trainer_state.json")
    write_source(dest, _source(title, f"{point} {summary}", config["seed"]), result)


def _source(title: str, shows: str, seed: int) -> Source:
    """The facts common to the samples of this incident."""
    return Source(
        title=title,
        shows=shows,
        planted="the weights of the tiny base model: one MLP neuron of layer 1 writes about "
        "119,000 into one channel at the <|im_start|> that opens a sequence (less than 1 "
        "elsewhere), the massive activation that trained models have at their first token. The model is "
        "pretrained for 300 steps in fp32 (250 of them with the neuron) and saved in bf16; in fp32 and bf16 it works.",
        genuine="Hugging Face Trainer, autocast, GradScaler's decisions, the TensorBoard and W&B "
        "offline records, the text generated after training, every line of the log.",
        shims="two lines before trainer.train() in train.py switch fp16 autocast and GradScaler "
        "on, which accelerate leaves off on a CPU. W&B runs offline with machine info, system "
        "metrics and git switched off. train.jsonl and the weights are left out of the sample.",
        writeup="the Qwen2-7B-Instruct full fine-tune in fp16 (NaN, loss goes to zero; "
        "Qwen1.5 and inference fine).",
        limits="runs on a CPU with emulated fp16 matrix products, on a model of 4 layers. In the "
        "write-up inference works; here the sample text after training is generated under the "
        "same fp16 autocast (Trainer leaves it on), so it fails as training does. use_cpu is in "
        "the configuration because bf16 on a CPU requires it.",
        seed=f"{seed} (training), 0 (base model)",
        packages=("torch", "transformers", "accelerate", "datasets", "tensorboard", "wandb"),
    )


SAMPLES: dict[str, Callable[[Path], None]] = {
    "failed/qwen2-fp16-sft-loss-zero": partial(
        _make,
        title="Qwen2, full fine-tune in fp16: loss 0, grad_norm nan",
        point="Every loss is NaN, printed as 0; no step is ever taken; the text generated after "
        "training repeats token 0.",
        changes={},
    ),
    "healthy/qwen2-bf16-sft": partial(
        _make,
        title="Qwen2, full fine-tune in bf16: trains",
        point="An independent run in bf16.",
        changes={"fp16": False, "bf16": True, "seed": 7, "learning_rate": 8.0e-4},
    ),
    "fixed/qwen2-bf16-sft-fixed": partial(
        _make,
        title="Qwen2, full fine-tune, fixed by bf16",
        point="Exactly fp16: false and bf16: true changed against the failed run.",
        changes={"fp16": False, "bf16": True},
    ),
}
